package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
	"github.com/restartkit/restart/kube/check/document"
)

// Validate returns an error if the version of Kubernetes is not known.
func (o Options) Validate() error {
	if o.Kubernetes == "" {
		return nil
	}
	if _, err := lint.CheckFor(new(batch.JobSpec), o.Kubernetes); err != nil {
		return fmt.Errorf("%q: must be from 1.25 to 1.38, such as 1.30", o.Kubernetes)
	}
	return nil
}

// minor returns the minor version of Kubernetes that the options name.
func (o Options) minor() int {
	if o.Kubernetes == "" {
		return minorOf(Newest)
	}
	return minorOf(o.Kubernetes)
}

// The first minor versions that keep parts of a Job or a pod with the default feature
// gates.
const (
	keepsFailurePolicy  = 26
	keepsPerIndexLimits = 29
	keepsSidecars       = 29
	keepsManagedBy      = 32
	keepsRestartRules   = 35
)

// setsDisruptionTarget is the first minor version whose drained pods get the condition
// DisruptionTarget with the default feature gates (KEP-3329).
const setsDisruptionTarget = 26

// keptInPod returns the specification without what the minor version drops from it.
func keptInPod(pod *corev1.PodSpec, minor int) *corev1.PodSpec {
	if minor >= keepsRestartRules {
		return pod
	}
	kept := *pod
	kept.InitContainers, kept.Containers = slices.Clone(pod.InitContainers), slices.Clone(pod.Containers)
	for i := range kept.InitContainers {
		c := &kept.InitContainers[i]
		c.RestartPolicyRules = nil
		if !isSidecar(c) || minor < keepsSidecars {
			c.RestartPolicy = nil
		}
	}
	for i := range kept.Containers {
		kept.Containers[i].RestartPolicyRules, kept.Containers[i].RestartPolicy = nil, nil
	}
	return &kept
}

// keptInJob returns the specification without what the minor version drops from it. It
// is to have no defaults yet.
func keptInJob(s batch.JobSpec, minor int) *batch.JobSpec {
	if minor < keepsManagedBy {
		s.ManagedBy = ""
	}
	if minor < keepsPerIndexLimits {
		s.BackoffLimitPerIndex, s.MaxFailedIndexes = nil, nil
		if s.PodFailurePolicy != nil {
			s.PodFailurePolicy = &batch.PodFailurePolicy{Rules: slices.DeleteFunc(slices.Clone(s.PodFailurePolicy.Rules), failsIndex)}
		}
	}
	if minor < keepsFailurePolicy {
		s.PodFailurePolicy = nil
	}
	return &s
}

// droppedRules returns the indexes of the rules that the minor version drops from the
// podFailurePolicy and keeps the others.
func droppedRules(s *batch.JobSpec, minor int) (indexes []int) {
	if s.PodFailurePolicy == nil || minor >= keepsPerIndexLimits {
		return nil
	}
	for i, r := range s.PodFailurePolicy.Rules {
		if failsIndex(r) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

func failsIndex(r batch.PodFailurePolicyRule) bool { return r.Action == batch.ActionFailIndex }

// minorOf returns 30 for 1.30 or v1.30.4, and 0 for other texts.
func minorOf(version string) int {
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(numbers) < 2 {
		return 0
	}
	minor, _ := strconv.Atoi(numbers[1])
	return minor
}

// shortVersion returns 1.30 for v1.30.4.
func shortVersion(version string) string { return fmt.Sprintf("1.%d", minorOf(version)) }

// newerField returns the minor version of Kubernetes that brought a field which the types
// of this package, those of Newest, do not have, or 0 if there is none. Fields were read
// at k8s.io/api v0.38.0-beta.0.
func newerField(m document.Mistake) int {
	if m.Fault == document.Unknown && strings.HasSuffix(m.Path, ".seccompProfile.oci") {
		return 38
	}
	return 0
}
