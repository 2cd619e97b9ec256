package foreign

import (
	"os/exec"
	"testing"
)

// The reports of the other systems are those of the required versions.
func TestReportsAreUpToDate(t *testing.T) {
	if out, err := exec.Command("../../.ci/conformance", "docker", "nomad").CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
