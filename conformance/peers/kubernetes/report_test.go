package main

import (
	"os/exec"
	"testing"
)

// The report of Kubernetes is that of the required version.
func TestReportIsUpToDate(t *testing.T) {
	if out, err := exec.Command("../../../.ci/conformance", "kubernetes").CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
