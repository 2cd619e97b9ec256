package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// feature is a part of a Job that some versions of Kubernetes lack, or disable with a
// feature gate.
type feature struct {
	gate    string
	since   int    // first minor version whose API has it
	on      int    // first minor version with the gate on by default; 0 if none up to newest
	refused span   // minor versions that refuse a Job with it while the gate is off or missing
	effect  string // effect of dropping it
	used    finder
	drop    func(*batch.JobSpec) // drops it, if Check reads it
	ignored bool                 // accepted by the API but without effect
	value   bool                 // it is a value of an older field
}

// finder returns the path and the rule, if any, where a Job uses a feature, and "" if it
// does not.
type finder func(*batch.Job) (field string, rule int)

// span holds the minor versions from first to last. The zero value is empty.
type span struct{ first, last int }

func (s span) has(minor int) bool { return s.first <= minor && minor <= s.last }

// The versions supported by CheckFor, as 1.minor.
const oldest, newest = 25, 38

// restartedAsThePod is the effect of dropping a container's own restart rules.
const restartedAsThePod = "the container is restarted as the pod's restartPolicy says"

// features are the parts that a target version may lack. The gates' versions come from
// the KEP and the file named beside each, read at v1.38.0-beta.0. Gates that are gone were
// read at the last version that had them: v1.36.3, and v1.37.2 for JobManagedBy, which is
// always on in 1.38.
var features = []feature{
	{gate: "JobPodFailurePolicy", since: 25, on: 26, // KEP-3329
		effect: "every failed pod counts towards backoffLimit",
		used:   when("spec.podFailurePolicy", func(s *batch.JobSpec) bool { return s.PodFailurePolicy != nil }),
		drop:   func(s *batch.JobSpec) { s.PodFailurePolicy = nil }},
	{gate: "PodDisruptionConditions", since: 25, on: 26, ignored: true, // KEP-3329
		effect: "no pod has the condition DisruptionTarget, and the rule matches none",
		used:   inRules("onPodConditions", hasDisruption)},
	{gate: "JobBackoffLimitPerIndex", since: 28, on: 29, // KEP-3850, pkg/features/kube_features.go
		effect: "the failures of all indexes count together, towards backoffLimit",
		used:   when("spec.backoffLimitPerIndex", func(s *batch.JobSpec) bool { return s.BackoffLimitPerIndex != nil }),
		drop:   func(s *batch.JobSpec) { s.BackoffLimitPerIndex = nil }},
	{gate: "JobBackoffLimitPerIndex", since: 28, on: 29, // KEP-3850, pkg/features/kube_features.go
		effect: "the number of failed indexes is not limited",
		used:   when("spec.maxFailedIndexes", func(s *batch.JobSpec) bool { return s.MaxFailedIndexes != nil }),
		drop:   func(s *batch.JobSpec) { s.MaxFailedIndexes = nil }},
	{gate: "JobBackoffLimitPerIndex", since: 28, on: 29, refused: span{26, 27}, value: true, // KEP-3850, pkg/registry/batch/job/strategy.go
		effect: "the rule is left out of the policy",
		used: inRules("action", func(r *batch.PodFailurePolicyRule) bool {
			return r.Action == batch.ActionFailIndex
		}),
		drop: leaveOutFailIndex},
	{gate: "JobPodReplacementPolicy", since: 28, on: 29, // KEP-3939, pkg/features/kube_features.go
		effect: "a pod is replaced as soon as it is being deleted, unless there is a podFailurePolicy",
		used: when("spec.podReplacementPolicy", func(s *batch.JobSpec) bool {
			return s.PodReplacementPolicy == batch.PodReplacementFailed && s.PodFailurePolicy == nil
		})},
	{gate: "JobSuccessPolicy", since: 30, on: 31, // KEP-3998, pkg/features/kube_features.go
		effect: "the Job succeeds only when all of its indexes have",
		used:   when("spec.successPolicy", func(s *batch.JobSpec) bool { return s.SuccessPolicy != nil }),
		drop:   func(s *batch.JobSpec) { s.SuccessPolicy = nil }},
	{gate: "JobManagedBy", since: 30, on: 32, // KEP-4368, pkg/features/kube_features.go
		effect: "the Job controller runs the Job, too",
		used:   when("spec.managedBy", func(s *batch.JobSpec) bool { return s.ManagedBy != "" })},
	{gate: "SidecarContainers", since: 28, on: 29, // KEP-753, pkg/features/kube_features.go
		effect: "the init container must end before the next one starts, so a sidecar blocks its pod",
		used:   inContainers("restartPolicy", initContainers, func(c *batch.Container) bool { return c.RestartPolicy == batch.RestartPolicyAlways })},
	{gate: "ContainerRestartRules", since: 34, on: 35, refused: span{29, 33}, value: true, // KEP-5307, pkg/apis/core/validation/validation.go
		effect: restartedAsThePod,
		used: inContainers("restartPolicy", initContainers, func(c *batch.Container) bool {
			return c.RestartPolicy != "" && c.RestartPolicy != batch.RestartPolicyAlways
		})},
	{gate: "ContainerRestartRules", since: 34, on: 35, refused: span{28, 33}, // KEP-5307, pkg/apis/core/validation/validation.go
		effect: restartedAsThePod,
		used:   inContainers("restartPolicy", mainContainers, func(c *batch.Container) bool { return c.RestartPolicy != "" })},
	{gate: "ContainerRestartRules", since: 34, on: 35, // KEP-5307, pkg/features/kube_features.go
		effect: restartedAsThePod,
		used:   inContainers("restartPolicyRules", allContainers, func(c *batch.Container) bool { return len(c.RestartPolicyRules) > 0 })},
	{gate: "RestartAllContainersOnContainerExits", since: 35, on: 36, refused: span{35, 35}, value: true, // KEP-5532, pkg/apis/core/validation/validation.go
		effect: "the other containers of the pod go on",
		used: inContainers("restartPolicyRules", allContainers, func(c *batch.Container) bool {
			return slices.ContainsFunc(c.RestartPolicyRules, func(r batch.ContainerRestartRule) bool { return r.Action == backoff.ActionRestartAll })
		})},
	{gate: "WorkloadWithJob", since: 37, // k8s.io/api v0.37.2 batch/v1, pkg/api/job/util.go, pkg/features/kube_features.go
		effect: "the pods are scheduled one by one",
		used:   when("spec.scheduling", hasScheduling)},
	{gate: "GenericWorkload", since: 36, // k8s.io/api v0.36.3 core/v1, pkg/features/kube_features.go
		effect: "the pods are scheduled one by one",
		used:   when("spec.template.spec.schedulingGroup", func(s *batch.JobSpec) bool { return s.Template.Spec.SchedulingGroup != nil })},
	// v1.38.0-beta.0 has neither the field nor the gate.
	{gate: "PodFailurePolicyName", since: newest + 1, // KEP-4443
		effect: "a Job that the rule fails has the reason PodFailurePolicy, without the name",
		used:   inRules("name", func(r *batch.PodFailurePolicyRule) bool { return r.Name != "" })},
}

// behaviour is something that some versions of Kubernetes do with a Job, other than
// dropping its fields.
type behaviour struct {
	in       span
	kind     Kind
	severity Severity
	text     string // after "Kubernetes 1.38 "
	used     finder
}

// The annotations with which the owner of a Job puts its pods into a group of a Workload
// (pkg/apis/scheduling/annotation_key_constants.go, v1.38.0-beta.0).
const (
	workloadNameAnnotation      = "scheduling.k8s.io/workload-name"
	groupTemplateNameAnnotation = "scheduling.k8s.io/group-template-name"
)

// behaviours are what versions do with a Job, in the order of the versions.
var behaviours = []behaviour{
	// The kubelet of 1.27 and later computes the phase of a pod that it has evicted from
	// the exit codes. From 1.38 on a Failed that it has recorded stays.
	{in: span{27, 37}, kind: KindEvicted, severity: SeverityNotice, // pkg/kubelet/kubelet_pods.go, kubernetes#118310
		text: "counts a pod that a node evicts as succeeded if its program ends with exit code 0, and then no rule for DisruptionTarget applies; " +
			"let the program end with another code on SIGTERM unless its work is done",
		used: inRules("onPodConditions", func(r *batch.PodFailurePolicyRule) bool { return r.Action.Known() && hasDisruption(r) })},
	{in: span{35, 35}, kind: KindVersion, severity: SeverityError, // validateInitContainerRestartPolicy, pkg/apis/core/validation/validation.go
		text: "refuses the Job for restart rules of an init container with restartPolicy Always unless the feature gate RestartAllContainersOnContainerExits, off by default, is on",
		used: inContainers("restartPolicyRules", initContainers, func(c *batch.Container) bool {
			return c.RestartPolicy == batch.RestartPolicyAlways && len(c.RestartPolicyRules) > 0
		})},
	{in: span{38, newest}, kind: KindVersion, severity: SeverityError, // pkg/apis/batch/validation/validation.go
		text: "refuses the Job: of the annotations " + workloadNameAnnotation + " and " + groupTemplateNameAnnotation + " it needs both, with values, or neither",
		used: func(j *batch.Job) (string, int) {
			workload, hasWorkload := j.Annotations[workloadNameAnnotation]
			template, hasTemplate := j.Annotations[groupTemplateNameAnnotation]
			if (hasWorkload || hasTemplate) && (workload == "" || template == "") {
				return "metadata.annotations", -1
			}
			return "", -1
		}},
	{in: span{38, newest}, kind: KindVersion, severity: SeverityWarning, // pkg/apis/batch/validation/validation.go
		text: "refuses the Job, if the feature gate WorkloadWithJob is on, for the annotation " + workloadNameAnnotation + " or " + groupTemplateNameAnnotation +
			" beside this field; use one of the two",
		used: func(j *batch.Job) (string, int) {
			_, hasWorkload := j.Annotations[workloadNameAnnotation]
			_, hasTemplate := j.Annotations[groupTemplateNameAnnotation]
			if hasScheduling(&j.Spec) && (hasWorkload || hasTemplate) {
				return "spec.scheduling", -1
			}
			return "", -1
		}},
	{in: span{38, newest}, kind: KindVersion, severity: SeverityWarning, // pkg/apis/batch/validation/validation.go
		text: "refuses the Job, if the feature gates GenericWorkload and WorkloadWithJob are on, for template.spec.schedulingGroup beside this field; use one of the two",
		used: when("spec.scheduling", func(s *batch.JobSpec) bool { return hasScheduling(s) && s.Template.Spec.SchedulingGroup != nil })},
}

// hasScheduling reports whether spec.scheduling is set.
func hasScheduling(s *batch.JobSpec) bool {
	text, ok := s.Unknown["scheduling"]
	return ok && string(text) != "null"
}

// hasDisruption reports whether the rule has a pattern for DisruptionTarget.
func hasDisruption(r *batch.PodFailurePolicyRule) bool {
	return r.OnExitCodes == nil && slices.ContainsFunc(r.OnPodConditions, func(o batch.OnPodCondition) bool { return o.Type == batch.DisruptionTarget })
}

func when(field string, used func(*batch.JobSpec) bool) finder {
	return func(j *batch.Job) (string, int) {
		if used(&j.Spec) {
			return field, -1
		}
		return "", -1
	}
}

// inRules finds the first rule of the pod failure policy that uses a feature.
func inRules(field string, used func(*batch.PodFailurePolicyRule) bool) finder {
	return func(j *batch.Job) (string, int) {
		rules := rulesOf(&j.Spec)
		for i := range rules {
			if used(&rules[i]) {
				return rulePath(i, field), i
			}
		}
		return "", -1
	}
}

// leftOut is the action of a rule that a version leaves out of the policy. The rule stays
// in its place, so that the others keep their indexes, but it matches no pod.
const leftOut batch.Action = "left out"

// leaveOutFailIndex leaves the FailIndex rules out of the policy.
func leaveOutFailIndex(s *batch.JobSpec) {
	if s.PodFailurePolicy == nil {
		return
	}
	rules := slices.Clone(s.PodFailurePolicy.Rules)
	for i := range rules {
		if rules[i].Action == batch.ActionFailIndex {
			rules[i].Action = leftOut
		}
	}
	s.PodFailurePolicy = &batch.PodFailurePolicy{Rules: rules}
}

// containerList is a list of containers of a pod.
type containerList struct {
	name string
	of   func(*batch.PodSpec) []batch.Container
}

var (
	initContainers = []containerList{{"initContainers", func(p *batch.PodSpec) []batch.Container { return p.InitContainers }}}
	mainContainers = []containerList{{"containers", func(p *batch.PodSpec) []batch.Container { return p.Containers }}}
	allContainers  = slices.Concat(initContainers, mainContainers)
)

// inContainers finds the first container that uses a feature.
func inContainers(field string, lists []containerList, used func(*batch.Container) bool) finder {
	return func(j *batch.Job) (string, int) {
		for _, list := range lists {
			containers := list.of(&j.Spec.Template.Spec)
			for i := range containers {
				if used(&containers[i]) {
					return fmt.Sprintf("spec.template.spec.%s[%d].%s", list.name, i, field), -1
				}
			}
		}
		return "", -1
	}
}

// CheckFor returns the findings of Check in what a cluster of the given version, from 1.25
// to 1.38, keeps of the specification. They are followed by the fields and values that it
// drops, refuses or ignores with its default feature gates, and by what else it does with
// such a Job that later versions do not. An API server drops a field without an error,
// unless the client asks for strict field validation, as kubectl does. What it refuses is
// of SeverityError. The version has the form 1.29 or v1.29.4.
//
// Call CheckFor before Default, which sets backoffLimit by fields that the version may drop.
func CheckFor(s *batch.JobSpec, version string) ([]Finding, error) {
	if s == nil {
		return checkFor("CheckFor", nil, version)
	}
	return checkFor("CheckFor", &batch.Job{Spec: *s}, version)
}

// CheckJobFor is CheckFor for a Job with its metadata, whose annotations some versions
// check.
func CheckJobFor(j *batch.Job, version string) ([]Finding, error) {
	return checkFor("CheckJobFor", j, version)
}

func checkFor(call string, j *batch.Job, version string) ([]Finding, error) {
	minor, ok := minorOf(version)
	if !ok {
		return nil, fmt.Errorf("lint: %s(%q): the version must be from 1.%d to 1.%d", call, version, oldest, newest)
	}
	if j == nil {
		return nil, nil
	}
	kept := *j
	c := &checker{}
	for i := range features {
		f := &features[i]
		field, rule := f.used(j)
		if field == "" || f.on != 0 && minor >= f.on {
			continue
		}
		if f.drop != nil {
			f.drop(&kept.Spec)
		}
		severity := SeverityWarning
		if f.refused.has(minor) {
			severity = SeverityError
		}
		c.add(KindVersion, severity, rule, field, fmt.Sprintf("Kubernetes 1.%d %s", minor, f.before(minor)))
	}
	for i := range behaviours {
		b := &behaviours[i]
		if field, rule := b.used(&kept); field != "" && b.in.has(minor) {
			c.add(b.kind, b.severity, rule, field, fmt.Sprintf("Kubernetes 1.%d %s", minor, b.text))
		}
	}
	return append(Check(&kept.Spec), c.findings...), nil
}

// before describes how a version treats the feature before its gate is on by default.
func (f *feature) before(minor int) string {
	gate := "the feature gate " + f.gate
	switch known := minor >= f.since; {
	case f.refused.has(minor) && known:
		return "refuses the Job for it unless " + gate + ", off by default, is on"
	case f.refused.has(minor):
		return "refuses the Job for it"
	case f.ignored && known:
		return "acts on it only with " + gate + ", which is off by default: " + f.effect
	case known:
		return "drops it unless " + gate + ", off by default, is on: " + f.effect
	case f.since > newest:
		return "does not have the field and drops it, as every version up to 1." + strconv.Itoa(newest) + " does; " + gate + " is planned for it: " + f.effect
	}
	if f.value {
		return "does not know the value and drops the field: " + f.effect
	}
	return "does not have the field and drops it: " + f.effect
}

// minorOf returns the minor version of Kubernetes; ok is false for a version outside the
// supported ones.
func minorOf(version string) (minor int, ok bool) {
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(numbers) < 2 || numbers[0] != "1" {
		return 0, false
	}
	minor, err := strconv.Atoi(numbers[1])
	return minor, err == nil && minor >= oldest && minor <= newest
}
