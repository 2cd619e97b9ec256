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
	source  string
	used    func(*batch.JobSpec) (field string, rule int) // "" if not used
	ignored bool                                          // accepted by the API but without effect
	value   bool                                          // it is a value of an older field
}

// span holds the minor versions from first to last. The zero value is empty.
type span struct{ first, last int }

func (s span) has(minor int) bool { return s.first <= minor && minor <= s.last }

// The versions supported by CheckFor, as 1.minor.
const oldest, newest = 25, 37

// The sources of the gates' versions, and of the rules for containers, in Kubernetes.
const (
	kubeFeatures        = "pkg/features/kube_features.go"
	containerValidation = "pkg/apis/core/validation/validation.go"
)

// restartedAsThePod is the effect of dropping a container's own restart rules.
const restartedAsThePod = "the container is restarted as the pod's restartPolicy says"

// features are the parts that a target version may lack. The gates' versions come from
// the KEPs and from the file in source, at v1.36.3 for gates removed in 1.37.
var features = []feature{
	{gate: "JobPodFailurePolicy", since: 25, on: 26, source: "KEP-3329",
		effect: "every failed pod counts towards backoffLimit",
		used:   when("spec.podFailurePolicy", func(s *batch.JobSpec) bool { return s.PodFailurePolicy != nil })},
	{gate: "PodDisruptionConditions", since: 25, on: 26, source: "KEP-3329", ignored: true,
		effect: "no pod has the condition DisruptionTarget, and the rule matches none",
		used: inRules("onPodConditions", func(r *batch.PodFailurePolicyRule) bool {
			for _, c := range r.OnPodConditions {
				if c.Type == batch.DisruptionTarget {
					return true
				}
			}
			return false
		})},
	{gate: "JobBackoffLimitPerIndex", since: 28, on: 29, source: "KEP-3850, " + kubeFeatures,
		effect: "the failures of all indexes count together, towards backoffLimit",
		used:   when("spec.backoffLimitPerIndex", func(s *batch.JobSpec) bool { return s.BackoffLimitPerIndex != nil })},
	{gate: "JobBackoffLimitPerIndex", since: 28, on: 29, source: "KEP-3850, " + kubeFeatures,
		effect: "the number of failed indexes is not limited",
		used:   when("spec.maxFailedIndexes", func(s *batch.JobSpec) bool { return s.MaxFailedIndexes != nil })},
	{gate: "JobBackoffLimitPerIndex", since: 28, on: 29, refused: span{26, 27}, value: true, source: "KEP-3850, pkg/registry/batch/job/strategy.go",
		effect: "the rule is left out of the policy",
		used: inRules("action", func(r *batch.PodFailurePolicyRule) bool {
			return r.Action == batch.ActionFailIndex
		})},
	{gate: "JobPodReplacementPolicy", since: 28, on: 29, source: "KEP-3939, " + kubeFeatures,
		effect: "a pod is replaced as soon as it is being deleted, unless there is a podFailurePolicy",
		used: when("spec.podReplacementPolicy", func(s *batch.JobSpec) bool {
			return s.PodReplacementPolicy == batch.PodReplacementFailed && s.PodFailurePolicy == nil
		})},
	{gate: "JobSuccessPolicy", since: 30, on: 31, source: "KEP-3998, " + kubeFeatures,
		effect: "the Job succeeds only when all of its indexes have",
		used:   when("spec.successPolicy", func(s *batch.JobSpec) bool { return s.SuccessPolicy != nil })},
	{gate: "JobManagedBy", since: 30, on: 32, source: "KEP-4368, " + kubeFeatures,
		effect: "the Job controller runs the Job, too",
		used:   when("spec.managedBy", func(s *batch.JobSpec) bool { return s.ManagedBy != "" })},
	{gate: "SidecarContainers", since: 28, on: 29, source: "KEP-753, " + kubeFeatures,
		effect: "the init container must end before the next one starts, so a sidecar blocks its pod",
		used:   inContainers("restartPolicy", initContainers, func(c *batch.Container) bool { return c.RestartPolicy == batch.RestartPolicyAlways })},
	{gate: "ContainerRestartRules", since: 34, on: 35, refused: span{29, 33}, value: true, source: "KEP-5307, " + containerValidation,
		effect: restartedAsThePod,
		used: inContainers("restartPolicy", initContainers, func(c *batch.Container) bool {
			return c.RestartPolicy != "" && c.RestartPolicy != batch.RestartPolicyAlways
		})},
	{gate: "ContainerRestartRules", since: 34, on: 35, refused: span{28, 33}, source: "KEP-5307, " + containerValidation,
		effect: restartedAsThePod,
		used:   inContainers("restartPolicy", mainContainers, func(c *batch.Container) bool { return c.RestartPolicy != "" })},
	{gate: "ContainerRestartRules", since: 34, on: 35, source: "KEP-5307, " + kubeFeatures,
		effect: restartedAsThePod,
		used:   inContainers("restartPolicyRules", allContainers, func(c *batch.Container) bool { return len(c.RestartPolicyRules) > 0 })},
	{gate: "RestartAllContainersOnContainerExits", since: 35, on: 36, refused: span{35, 35}, value: true, source: "KEP-5532, " + containerValidation,
		effect: "the other containers of the pod go on",
		used: inContainers("restartPolicyRules", allContainers, func(c *batch.Container) bool {
			return slices.ContainsFunc(c.RestartPolicyRules, func(r batch.ContainerRestartRule) bool { return r.Action == backoff.ActionRestartAll })
		})},
	{gate: "WorkloadWithJob", since: 37, source: "k8s.io/api v0.37.2 batch/v1, pkg/api/job/util.go",
		effect: "the pods are scheduled one by one",
		used: when("spec.scheduling", func(s *batch.JobSpec) bool {
			text, ok := s.Unknown["scheduling"]
			return ok && string(text) != "null"
		})},
	{gate: "PodFailurePolicyName", since: newest + 1, source: "KEP-4443",
		effect: "a Job that the rule fails has the reason PodFailurePolicy, without the name",
		used:   inRules("name", func(r *batch.PodFailurePolicyRule) bool { return r.Name != "" })},
}

func when(field string, used func(*batch.JobSpec) bool) func(*batch.JobSpec) (string, int) {
	return func(s *batch.JobSpec) (string, int) {
		if used(s) {
			return field, -1
		}
		return "", -1
	}
}

// inRules finds the first rule of the pod failure policy that uses a feature.
func inRules(field string, used func(*batch.PodFailurePolicyRule) bool) func(*batch.JobSpec) (string, int) {
	return func(s *batch.JobSpec) (string, int) {
		if s.PodFailurePolicy != nil {
			for i := range s.PodFailurePolicy.Rules {
				if used(&s.PodFailurePolicy.Rules[i]) {
					return fmt.Sprintf("spec.podFailurePolicy.rules[%d].%s", i, field), i
				}
			}
		}
		return "", -1
	}
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
func inContainers(field string, lists []containerList, used func(*batch.Container) bool) func(*batch.JobSpec) (string, int) {
	return func(s *batch.JobSpec) (string, int) {
		for _, list := range lists {
			containers := list.of(&s.Template.Spec)
			for i := range containers {
				if used(&containers[i]) {
					return fmt.Sprintf("spec.template.spec.%s[%d].%s", list.name, i, field), -1
				}
			}
		}
		return "", -1
	}
}

// CheckFor returns the findings of Check, followed by the fields and values that a
// cluster of the given version, from 1.25 to 1.37, does not support with its default
// feature gates. An API server drops such a field without an error, unless the client
// asks for strict field validation, as kubectl does. The version has the form 1.29 or
// v1.29.4.
func CheckFor(s *batch.JobSpec, version string) ([]Finding, error) {
	minor, err := minorOf(version)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, nil
	}
	c := &checker{findings: Check(s)}
	for i := range features {
		f := &features[i]
		field, rule := f.used(s)
		if field == "" || f.on != 0 && minor >= f.on {
			continue
		}
		c.add(KindVersion, SeverityWarning, rule, field, fmt.Sprintf("Kubernetes 1.%d %s (%s)", minor, f.before(minor), f.source))
	}
	return c.findings, nil
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

// minorOf parses the minor version of Kubernetes.
func minorOf(version string) (int, error) {
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(numbers) >= 2 && numbers[0] == "1" {
		minor, err := strconv.Atoi(numbers[1])
		if err == nil && minor >= oldest && minor <= newest {
			return minor, nil
		}
	}
	return 0, fmt.Errorf("lint: CheckFor(%q): the version must be from 1.%d to 1.%d", version, oldest, newest)
}
