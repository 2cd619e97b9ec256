package check

import (
	"fmt"
	"strconv"
	"strings"

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
