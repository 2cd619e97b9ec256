package lint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/restartkit/restart/jobpolicy"
)

// feature is a part of a Job that some versions of Kubernetes do not know, or know
// behind a feature gate that is off.
type feature struct {
	gate    string
	since   int    // minor version whose API has it
	on      int    // minor version from which the gate is on by default; 0: none up to newest
	effect  string // what follows where it is dropped
	source  string
	used    func(*jobpolicy.JobSpec) (field string, rule int) // "" if it is not used
	ignored bool                                              // the API takes it, but nothing acts on it
}

// The versions that CheckFor knows, as 1.minor.
const oldest, newest = 25, 37

// kubeFeatures is where Kubernetes says since when it has a gate.
const kubeFeatures = "pkg/features/kube_features.go"

// features is what a target version may lack. The gates' versions are those of the file
// in source, at v1.36.3 for gates that 1.37 removed, and of the KEPs.
var features = []feature{
	{gate: "JobPodFailurePolicy", since: 25, on: 26, source: "KEP-3329",
		effect: "every failed pod counts towards backoffLimit",
		used:   when("spec.podFailurePolicy", func(s *jobpolicy.JobSpec) bool { return s.PodFailurePolicy != nil })},
	{gate: "PodDisruptionConditions", since: 25, on: 26, source: "KEP-3329", ignored: true,
		effect: "no pod has the condition DisruptionTarget, and the rule matches none",
		used: inRules("onPodConditions", func(r *jobpolicy.PodFailurePolicyRule) bool {
			for _, c := range r.OnPodConditions {
				if c.Type == jobpolicy.DisruptionTarget {
					return true
				}
			}
			return false
		})},
	{gate: "JobBackoffLimitPerIndex", since: 28, on: 29, source: "KEP-3850, " + kubeFeatures,
		effect: "the failures of all indexes count together, towards backoffLimit",
		used:   when("spec.backoffLimitPerIndex", func(s *jobpolicy.JobSpec) bool { return s.BackoffLimitPerIndex != nil })},
	{gate: "JobBackoffLimitPerIndex", since: 28, on: 29, source: "KEP-3850, " + kubeFeatures,
		effect: "no number of failed indexes ends the Job",
		used:   when("spec.maxFailedIndexes", func(s *jobpolicy.JobSpec) bool { return s.MaxFailedIndexes != nil })},
	{gate: "JobBackoffLimitPerIndex", since: 28, on: 29, source: "KEP-3850, pkg/registry/batch/job/strategy.go",
		effect: "the rule is left out of the policy, or the Job is refused where the action is unknown",
		used: inRules("action", func(r *jobpolicy.PodFailurePolicyRule) bool {
			return r.Action == jobpolicy.PodFailurePolicyActionFailIndex
		})},
	{gate: "JobPodReplacementPolicy", since: 28, on: 29, source: "KEP-3939, " + kubeFeatures,
		effect: "a pod is replaced as soon as it is being deleted, unless there is a podFailurePolicy",
		used: when("spec.podReplacementPolicy", func(s *jobpolicy.JobSpec) bool {
			return s.PodReplacementPolicy == jobpolicy.PodReplacementFailed && s.PodFailurePolicy == nil
		})},
	{gate: "JobSuccessPolicy", since: 30, on: 31, source: "KEP-3998, " + kubeFeatures,
		effect: "the Job succeeds only when all of its indexes have",
		used:   when("spec.successPolicy", func(s *jobpolicy.JobSpec) bool { return s.SuccessPolicy != nil })},
	{gate: "JobManagedBy", since: 30, on: 32, source: "KEP-4368, " + kubeFeatures,
		effect: "the Job controller runs the Job, beside whoever should",
		used:   when("spec.managedBy", func(s *jobpolicy.JobSpec) bool { return s.ManagedBy != "" })},
	{gate: "SidecarContainers", since: 28, on: 29, source: "KEP-753, " + kubeFeatures,
		effect: "the init container has to end before the next one starts, so a sidecar holds its pod up for ever",
		used:   containers("initContainers", func(s *jobpolicy.JobSpec) []jobpolicy.Container { return s.Template.Spec.InitContainers })},
	{gate: "ContainerRestartRules", since: 34, on: 35, source: "KEP-5307, " + kubeFeatures,
		effect: "the container is restarted as the pod's restartPolicy says",
		used:   containers("containers", func(s *jobpolicy.JobSpec) []jobpolicy.Container { return s.Template.Spec.Containers })},
	{gate: "WorkloadWithJob", since: 37, source: "k8s.io/api v0.37.2 batch/v1, pkg/api/job/util.go",
		effect: "the pods are scheduled one by one",
		used: when("spec.scheduling", func(s *jobpolicy.JobSpec) bool {
			text, ok := s.Unknown["scheduling"]
			return ok && string(text) != "null"
		})},
	{gate: "", since: newest + 1, source: "KEP-4443",
		effect: "a Job that the rule fails has the reason PodFailurePolicy, without the name",
		used:   inRules("name", func(r *jobpolicy.PodFailurePolicyRule) bool { return r.Name != "" })},
}

func when(field string, used func(*jobpolicy.JobSpec) bool) func(*jobpolicy.JobSpec) (string, int) {
	return func(s *jobpolicy.JobSpec) (string, int) {
		if used(s) {
			return field, -1
		}
		return "", -1
	}
}

// inRules looks for the first rule of the pod failure policy that uses a feature.
func inRules(field string, used func(*jobpolicy.PodFailurePolicyRule) bool) func(*jobpolicy.JobSpec) (string, int) {
	return func(s *jobpolicy.JobSpec) (string, int) {
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

// containers looks for the first container with a restartPolicy of its own.
func containers(list string, of func(*jobpolicy.JobSpec) []jobpolicy.Container) func(*jobpolicy.JobSpec) (string, int) {
	return func(s *jobpolicy.JobSpec) (string, int) {
		for i, c := range of(s) {
			if c.RestartPolicy != "" {
				return fmt.Sprintf("spec.template.spec.%s[%d].restartPolicy", list, i), -1
			}
		}
		return "", -1
	}
}

// CheckFor returns what Check does and, after it, what a cluster of a version from 1.25
// to 1.37 does not know, or drops because a feature gate is off unless somebody has
// turned it on. A server drops such a field without an error, unless the client asks
// for strict field validation, as kubectl does. version is as in 1.29 or v1.29.4; the
// error says so if it is none of these.
func CheckFor(s *jobpolicy.JobSpec, version string) ([]Finding, error) {
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
		what := "does not have the field and drops it"
		switch gate := "feature gate " + f.gate; {
		case f.ignored && minor >= f.since:
			what = "acts on it only with the " + gate + ", which is off by default"
		case minor >= f.since:
			what = "drops it unless the " + gate + " is on, which it is not by default"
		case f.since > newest:
			what = "does not have the field and drops it, as every version up to 1." + strconv.Itoa(newest) + " does"
		}
		c.add(KindVersion, SeverityWarning, rule, field, fmt.Sprintf("Kubernetes 1.%d %s: %s (%s)", minor, what, f.effect, f.source))
	}
	return c.findings, nil
}

// minorOf reads the minor version of Kubernetes.
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
