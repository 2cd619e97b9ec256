//go:build long

package jobcontroller_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restartkit/restart/kube/testenv"
)

var (
	chaosReleased     = flag.String("jobcontroller.released", "v0.2.0", "version of the other replica in TestServerChaosTwoVersionsHandOver")
	chaosReleasedRuns = flag.Int("jobcontroller.releasedseeds", 1, "runs of TestServerChaosTwoVersionsHandOver")
)

// A replica of the last version and one of this version take Jobs over from each other,
// in the trouble of TestServerChaosLosesNoEndAndCountsNoneTwice and with its checks.
func TestServerChaosTwoVersionsHandOver(t *testing.T) {
	env := testenv.StartForTest(t, testenv.Options{Log: os.Stderr})
	program := releasedController(t, *chaosReleased)
	rows := []string{"seed | kills | to this version | to " + *chaosReleased + " | Jobs ended | pods ended | result"}
	var handovers [2]int
	for i := range *chaosReleasedRuns {
		seed := *chaosFirst + uint64(i)
		table := map[string]int{}
		result := "failed"
		if t.Run(fmt.Sprint(seed), func(t *testing.T) { newChaos(t, env, seed, table, [2]string{program, ""}).run() }) {
			result = "passed"
		}
		there, back := table[handover(true)], table[handover(false)]
		rows = append(rows, fmt.Sprintf("%d | %d | %d | %d | %d | %d | %s", seed, table["fault: replica killed"], there, back, table["check: Job ended"], table["check: pod ended"], result))
		handovers[0] += there
		handovers[1] += back
	}
	t.Log("\n" + strings.Join(rows, "\n"))
	if !t.Failed() && *chaosReleasedRuns >= 5 && (handovers[0] == 0 || handovers[1] == 0) { // who gets the Lease is a race
		t.Errorf("handed over %d times to this version and %d times to %s", handovers[0], handovers[1], *chaosReleased)
	}
}

// releasedController builds the restart-job-controller of a version from this
// repository's history. The test is skipped if the repository lacks that commit.
func releasedController(t *testing.T, version string) string {
	t.Helper()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "testdata", "released", version, "commit"))
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(string(text))
	if out, err := exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("this folder has no history with %s, commit %s, so its controller cannot be built: %v %s", version, commit, err, out)
	}
	folder := t.TempDir()
	sources, program := filepath.Join(folder, "sources"), filepath.Join(folder, "restart-job-controller")
	for _, command := range [][]string{
		{"git", "-C", root, "archive", "-o", sources + ".tar", commit},
		{"mkdir", sources},
		{"tar", "-xf", sources + ".tar", "-C", sources},
		{"go", "-C", filepath.Join(sources, "kube"), "build", "-buildvcs=false", "-o", program, "./cmd/restart-job-controller"},
	} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
	}
	return program
}
