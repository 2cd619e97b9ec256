package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// The files that documents show and name can be read.
func TestFilesOfRun(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, documented, found := strings.Cut(string(readme), "All fields:\n\n```yaml\n")
	documented, _, closed := strings.Cut(documented, "```")
	if !found || !closed {
		t.Fatal("the README shows no file")
	}
	for name, text := range map[string]string{
		"-":                             documented,
		"../testdata/run/services.yaml": "",
		"../testdata/run/rules.yaml":    "",
	} {
		var s runSettings
		if err := s.readFile(name, strings.NewReader(text)); err != nil {
			t.Error(err)
			continue
		}
		if len(s.commands) == 0 {
			t.Errorf("%s: no commands", name)
		}
	}
}

// Everything that a file can say arrives in the policy.
func TestFileHasTheWholePolicy(t *testing.T) {
	const file = `
commands:
- name: a
  command: [sh]
  restartPolicy: OnFailure
  restartPolicyRules:
  - name: r
    action: Restart
    exitCodes: {operator: NotIn, values: [1], ranges: [3-5]}
    reasons: [x]
    signals: [SIGKILL]
    ranLessThan: 2s
    ranAtLeast: 1s
    minFailures: 2
    delay: {initial: 1s, max: 2s, resetAfter: 3s}
    limit: 4
    window: 5s
  - {action: Restart, reasons: [z], uncounted: true}
  delay: {initial: 1s, max: 60s, factor: 3, jitter: 0.5, freeFailures: 1}
  limit: 6
  window: 7s
  retries: 8
  giveUpFor: 9s
`
	var s runSettings
	if err := s.readFile("-", strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	got, err := s.commands[0].policy.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"restartPolicy":"OnFailure","restartPolicyRules":[` +
		`{"name":"r","action":"Restart","exitCodes":{"operator":"NotIn","values":[1],"ranges":["3-5"]},"reasons":["x"],"signals":["SIGKILL"],` +
		`"minFailures":2,"delay":{"initial":"1s","max":"2s","resetAfter":"3s"},"limit":4,"ranLessThan":"2s","ranAtLeast":"1s","window":"5s"},` +
		`{"action":"Restart","reasons":["z"],"uncounted":true}],` +
		`"delay":{"initial":"1s","max":"1m0s","factor":3,"jitter":0.5,"resetAfter":"10m0s","freeFailures":1},` +
		`"limit":6,"retries":8,"window":"7s","giveUpFor":"9s"}`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A command that cannot be started is given up, but not against a rule of its own.
func TestLimitOfStartErrors(t *testing.T) {
	own := backoff.ExitPolicy{Rules: []backoff.Rule{{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{127}}}}}
	named := backoff.ExitPolicy{Rules: []backoff.Rule{
		{Name: startErrorRule, Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{9}}},
		{Name: startErrorRule + "-2", Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{8}}},
	}}
	for name, c := range map[string]struct {
		policy backoff.ExitPolicy
		code   int32
		want   backoff.Action // after four failures
	}{
		"missing program":     {backoff.ExitPolicy{}, 127, backoff.ActionGiveUp},
		"no program":          {backoff.ExitPolicy{}, 126, backoff.ActionGiveUp},
		"other failure":       {backoff.ExitPolicy{}, 1, backoff.ActionRestart},
		"a rule for it":       {own, 127, backoff.ActionRestart},
		"a rule of that name": {named, 127, backoff.ActionGiveUp},
		"never again":         {backoff.ExitPolicy{RestartPolicy: "Never"}, 127, backoff.ActionStop},
	} {
		p := limitStartErrors(c.policy)
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var s backoff.State
		var d backoff.Decision
		now := time.Unix(1e9, 0)
		for run := range int64(4) {
			d = s.Exited(&p, backoff.Exit{Run: run + 1, Code: c.code, Finished: now}, now, 0)
			s.Started(now)
		}
		if d.Action != c.want {
			t.Errorf("%s: %s, want %s", name, d.Action, c.want)
		}
	}
}

// The narrower the terminal, the fewer details; the next start always stays.
func TestTableFits(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rows := []row{
		{name: "web", state: "CrashLoopBackOff", restarts: 10, began: now.Add(-time.Hour), next: now.Add(160 * time.Second), exit: "137 (killed)"},
		{name: "a-name-that-is-longer-than-any", state: "Running", exit: "-"},
	}
	for width, want := range map[int]string{
		100: `
NAME                             STATE              RESTARTS       NEXT                EXIT
web                              CrashLoopBackOff   10 (60m ago)   03:06:45 in 2m40s   137 (killed)
a-name-that-is-longer-than-any   Running            0              -                   -`,
		79: `
NAME                   STATE              RESTARTS       NEXT       EXIT
web                    CrashLoopBackOff   10 (60m ago)   in 2m40s   137
a-name-that-is-long…   Running            0              -          -`,
		69: `
NAME                   STATE              RESTARTS   NEXT       EXIT
web                    CrashLoopBackOff   10         in 2m40s   137
a-name-that-is-long…   Running            0          -          -`,
		52: `
NAME           STATE              NEXT       EXIT
web            CrashLoopBackOff   in 2m40s   137
a-name-that…   Running            -          -`,
		45: `
NAME           STATE              NEXT
web            CrashLoopBackOff   in 2m40s
a-name-that…   Running            -`,
	} {
		if got := "\n" + strings.Join(tableOf(rows, width, now), "\n"); got != want {
			t.Errorf("%d columns:%s\nwant%s", width, got, want)
		}
	}
}

func TestParseCodes(t *testing.T) {
	for text, want := range map[string]string{
		"2,64-78": "2,64-78",
		"78, 2":   "2,78",
		"":        "",
	} {
		if got, err := parseCodes("final", text, 255); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"256", "a", "2,", "-1", "5-3"} {
		if _, err := parseCodes("final", text, 255); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
