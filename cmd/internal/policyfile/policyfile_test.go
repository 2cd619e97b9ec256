package policyfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/policyfile"
)

type file struct {
	policyfile.Node
	Containers []struct {
		policyfile.Container
	} `json:"containers"`
}

func read(t *testing.T, text string) (file, policyfile.Settings, *policyfile.Findings) {
	t.Helper()
	whole, err := document.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var f file
	found, err := policyfile.Decode(whole, "containers", &f)
	if err != nil {
		t.Fatal(err)
	}
	return f, f.Node.Read(found), found
}

func TestFieldsLeftOutAreTheNodesDefaults(t *testing.T) {
	f, s, found := read(t, "containers: [{}]")
	policy, curve := f.Containers[0].Container.Read("containers[0]", found)
	if len(found.Mistakes) > 0 || curve != nil || policy.RestartPolicy != "" || s.Rate != 0 || s.Burst != 0 {
		t.Errorf("%+v, %+v, %+v, %v", policy, curve, s, found.Mistakes)
	}
	if r, err := s.Config.Resolve(); err != nil || r.Policy != backoff.CrashLoop() {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCurveKeepsTheKubeletsResetUnlessToldOtherwise(t *testing.T) {
	f, _, found := read(t, "containers: [{curve: {initial: 1s, max: 4s}}, {curve: {initial: 1s, max: 4s, resetAfter: 0s, freeFailures: 1}}, {curve: {initial: 1s, max: 4s, factor: null, resetAfter: null}}]")
	for i, want := range []backoff.Policy{
		{Initial: time.Second, Max: 4 * time.Second, ResetAfter: 10 * time.Minute},
		{Initial: time.Second, Max: 4 * time.Second, FreeFailures: 1},
		{Initial: time.Second, Max: 4 * time.Second, ResetAfter: 10 * time.Minute},
	} {
		if _, curve := f.Containers[i].Container.Read("containers", found); curve == nil || *curve != want {
			t.Errorf("%d: %+v, want %+v", i, curve, want)
		}
	}
}

// A file is refused with all its mistakes, each with its line; a kubelet's own fields
// are warnings.
func TestMistakesComeAllAtOnceWithTheirLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.yaml")
	text := `kind: KubeletConfiguration
maxPods: 110
rate: 0
burst: 0
containers:
- restartPolicy: Sometimes
  image: x
  curve: {initial: 2s, max: 1s}
crashloopbackoff: {maxSeconds: 301}
`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	warnings, err := policyfile.ReadFile(name, "nothing was done", func(whole *document.Node) (*policyfile.Findings, error) {
		var f file
		found, err := policyfile.Decode(whole, "containers", &f)
		f.Node.Read(found)
		for i := range f.Containers {
			f.Containers[i].Container.Read("containers[0]", found)
		}
		return found, err
	})
	want := name + `: nothing was done:
  line 3: rate: is 0, must be above 0
  line 4: burst: is 0, must be at least 1
  line 6: containers[0].restartPolicy: is "Sometimes", must be Always, OnFailure or Never
  line 7: containers[0].image: unknown field
  line 8: containers[0].curve.max: is 1s, must be >= the first delay, 2s
  line 9: crashloopbackoff.maxSeconds: is 5m1s, must be in [1s, 300s]`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "line 2: maxPods: unknown field") {
		t.Errorf("warnings: %q", warnings)
	}
}

// A rule whose only condition is a mistake is not said to have none as well.
func TestMistakenConditionIsReportedOnce(t *testing.T) {
	for rule, want := range map[string]string{
		"ranLessThan: 90":                        "ranLessThan: is 90, must be a duration such as 4s",
		"reasons: [7]":                           "reasons[0]: is 7, must be a string: put it in quotes",
		"minFailures: x":                         "minFailures: is \"x\", must be an integer",
		"exitcodes: {}":                          "exitcodes: unknown field: did you mean exitCodes?",
		"window: 7":                              "exitCodes: must be given, or another condition; window: is 7, must be a duration such as 4s",
		"retries: 3":                             "exitCodes: must be given, or another condition; retries: unknown field",
		"reasons: [a], limt: 5":                  "limt: unknown field: did you mean limit?",
		"exitCodes: {operator: In, valuse: [1]}": "exitCodes.valuse: unknown field: did you mean values?",
		"minFailures: 1, delay: {initial: 1s, max: 2s, Max: 3s, maxx: 5s}": "delay.Max: unknown field: did you mean max?; delay.maxx: unknown field: did you mean max?",
		"name: a, signals: SIG": "signals: is \"SIG\", must be a list",
	} {
		f, _, found := read(t, "containers: [{restartPolicyRules: [{action: Restart, "+rule+"}]}]")
		f.Containers[0].Container.Read("containers[0]", found)
		var got []string
		for _, m := range found.Mistakes {
			got = append(got, strings.TrimPrefix(m.String(), "line 1: containers[0].restartPolicyRules[0]."))
		}
		slices.Sort(got)
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}

// A Job, say, is for another program; its kind says more than its unknown fields.
func TestOtherKindsAreRefused(t *testing.T) {
	for kind, mistakes := range map[string]int{"KubeletConfiguration": 0, `""`: 0, "Job": 1} {
		_, _, found := read(t, "kind: "+kind)
		if len(found.Mistakes) != mistakes {
			t.Errorf("%s: %v", kind, found.Mistakes)
		}
	}
}
