package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// The example of README.md, on real processes: each cause has the delay and the limit
// of its rule, and -explain says what every rule came to. SIGHUP cuts the waits short.
func TestRulesOfTheReadmeDecideOnRealProcesses(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../testdata/supervise/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, text, _ := strings.Cut(string(example), "\ncommands:"); !strings.Contains(string(readme), "```yaml\ncommands:"+text+"```") {
		t.Error("README.md does not have the rules of testdata/supervise/rules.yaml")
	}
	dir := t.TempDir()
	script, err := os.ReadFile("../testdata/supervise/trainer.sh")
	if err != nil {
		t.Fatal(err)
	}
	file(t, dir, "trainer.sh", string(script))
	config := strings.Replace(string(example), "testdata/supervise/trainer.sh]", "trainer.sh]\n  env: [{name: TRAINER_RUNS, value: runs}]", 1)
	p := start(t, dir, "-explain", "-f", file(t, dir, "c.yaml", config))
	for i, step := range []struct{ why, explained string }{
		{"exit code 75 meets rule busy: restarted after 5s (the rule's failure 1 in a row)", "rule 1 busy (Restart): matched: exit code 75 is in [75]"},
		{"exit code 75 meets rule busy: restarted after 5s (the rule's failure 2 in a row)", "rule 0 out-of-memory (Restart): no match: no known signal, so not in [SIGKILL]"},
		{"exit code 1 under restartPolicy Always: restarted after 40s (failure 3 in a row)", "rule 1 busy (Restart): no match: exit code 1 is not in [75]"},
		{"exit code 137 (killed) meets rule out-of-memory: restarted after 1m20s (failure 4 in a row)", "rule 0 out-of-memory (Restart): matched: signal SIGKILL is in [SIGKILL]"},
		{"exit code 137 (killed) meets rule out-of-memory: restarted after 2m40s (failure 5 in a row)", "rule 1 busy (Restart): no match: not reached, rule out-of-memory decided"},
		{"exit code 137 (killed) meets rule out-of-memory: restarted after 5m0s (failure 6 in a row)", "trainer:   rule 0"},
		{"exit code 137 (killed) meets rule out-of-memory: given up, the rule's limit of 3 restarts in 1h0m0s is used up (failure 7 in a row)", "trainer:   rule 1"},
	} {
		p.Eventually(step.why, func() bool {
			if i > 0 { // one that comes while trainer runs ends no wait, so it is sent until the next step
				p.Signal(syscall.SIGHUP)
			}
			return strings.Contains(p.Err.String(), "trainer: "+step.why+"\n")
		})
		p.Eventually(step.explained, func() bool { return strings.Contains(p.Err.String(), step.explained) })
	}
	p.Done(exitFailed)
}

// Rules that cannot do anything are warned of when supervise starts.
func TestUselessRulesAreWarnedOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "-f", file(t, dir, "c.yaml", `
commands:
- name: c
  command: ["true"]
  restartPolicy: Never
  restartPolicyRules:
  - {name: all, action: Restart, exitCodes: {operator: NotIn, values: [0]}, limit: 3, window: 2s}
  - {name: one, action: Restart, exitCodes: {operator: In, values: [1]}}
`))
	p.Done(exitOK)
	for _, want := range []string{
		"supervise: warning: c: restartPolicyRules[0].window: restarts are at least 10s apart, so the limit of 3 is never used up in 2s; make the window longer (delay-too-long)\n",
		"supervise: warning: c: restartPolicyRules[1]: rule all decides on every exit that this rule matches; remove this rule, or move it up (unreachable)\n",
	} {
		if !strings.Contains(p.Err.String(), want) {
			t.Errorf("printed %q, want %q", p.Err.String(), want)
		}
	}
}
