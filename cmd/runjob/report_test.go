package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// plainPods is a NonIndexed Job that runs an sh program, which knows its pod by
// $HOSTNAME.
func plainPods(spec, podSpec, script string) string {
	return `
apiVersion: batch/v1
kind: Job
metadata: {name: plain}
spec:
  ` + spec + `
  template:
    spec:
      ` + podSpec + `
      containers:
      - name: main
        command: [sh, -c]
        args:
        - |
` + indent(script)
}

// With OnFailure every exit, the restart and its delay, and the count that the limit
// is for.
func TestRestartsInAPodAreReported(t *testing.T) {
	t.Parallel()
	p := start(t, plainPods("backoffLimit: 2", "restartPolicy: OnFailure", "kill -9 $$$$"), "-backoff", "20ms", "-")
	p.Done(exitFailed)
	if text := p.Err.String(); !inOrder(text,
		"pod plain-1: created\n",
		"pod plain-1: container main was killed by signal 9 (exit code 137); restarts in 20ms: failure 1, limit 2\n",
		"pod plain-1: container main was killed by signal 9 (exit code 137); restarts in 40ms: failure 2, limit 2\n",
		"pod plain-1: terminating\n",
		"pod plain-1: ended: container main was killed by signal ",
		"job: Failed (BackoffLimitExceeded)") {
		t.Error(text)
	}
}

// TestSidecarRestartsAreReported, which count for no limit of a Job with Never.
func TestSidecarRestartsAreReported(t *testing.T) {
	t.Parallel()
	gate := newGate(t)
	p := start(t, plainPods("backoffLimit: 0", "restartPolicy: Never\n      initContainers: [{name: side, restartPolicy: Always, command: [sh, -c, exit 3]}]", gate.wait), "-backoff", "100ms", "-")
	p.Err.Says("pod plain-1: container side ended with exit code 3; restarts in 100ms\n", 1)
	gate.open(t)
	p.Done(exitComplete)
}

// Every counted failure of a NonIndexed Job with the limit, and only pods that
// replace a failed one are said to.
func TestFailuresAreNumbered(t *testing.T) {
	t.Parallel()
	p := start(t, plainPods("parallelism: 3\n  completions: 3\n  backoffLimit: 2", "restartPolicy: Never\n      terminationGracePeriodSeconds: 0", `
case $HOSTNAME in
plain-1) exec sleep 1000;;
plain-2) exit 0;;
esac
exit 3`), "-backoff", "10ms", "-")
	p.Done(exitFailed)
	text := p.Err.String()
	if !inOrder(text, "pod plain-1: created\n", "pod plain-2: created\n", "pod plain-3: created\n") || strings.Contains(text, "attempt") {
		t.Error(text)
	}
	for _, want := range []string{
		"pod plain-3: failed: container main ended with exit code 3; no failure policy: counted: failure 1, limit 2",
		"pod plain-4: created (in place of one that failed)\n",
		"pod plain-4: failed: container main ended with exit code 3; no failure policy: counted: failure 2, limit 2",
		"pod plain-5: failed: container main ended with exit code 3; no failure policy: counted: failure 3, limit 2\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q:\n%s", want, text)
		}
	}
}

// The first has no number.
func TestAttemptsOfAnIndexAreNumberedFromTheSecond(t *testing.T) {
	t.Parallel()
	p := start(t, perIndex(2, 1, "test $JOB_COMPLETION_INDEX$FAILURES = 10 && exit 1\nexit 0"), "-backoff", "1ms", "-")
	p.Done(exitComplete)
	if text := p.Err.String(); !inOrder(text, "pod test-1-1: created (index 1)\n", "pod test-1-2: created (index 1, attempt 2)\n") || strings.Contains(text, "attempt 1") {
		t.Error(text)
	}
}

// TestDeletedPodHasALastLine that says what ended it.
func TestDeletedPodHasALastLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, grace, trap, want string
	}{
		{"killed", "1", `""`, "pod plain-1: ended: container main was killed by signal 9 (exit code 137), after the grace period of 1s\n"},
		{"in time", "600", `"exit 0"`, "pod plain-1: ended: succeeded\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, plainPods("parallelism: 2\n  completions: 2\n  backoffLimit: 0", "restartPolicy: Never\n      terminationGracePeriodSeconds: "+test.grace, `
case $HOSTNAME in
plain-1) trap `+test.trap+` TERM; touch $DIR/1; while :; do sleep 0.05; done;;
esac
until test -e $DIR/1; do sleep 0.02; done
exit 3`)+"        env: [{name: DIR, value: "+t.TempDir()+"}]\n", "-")
			p.Done(exitFailed)
			if text := p.Err.String(); !strings.Contains(text, test.want) {
				t.Errorf("want %q:\n%s", test.want, text)
			}
		})
	}
}

// TestNothingOfAManifestSteersTheTerminal, nor makes a line of its own.
func TestNothingOfAManifestSteersTheTerminal(t *testing.T) {
	t.Parallel()
	const hostile = `
apiVersion: batch/v1
kind: Job
metadata: {name: x}
spec:
  "evil\e[2J\e]0;pwned\a": 1
  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [3]}}]}
  template:
    spec:
      restartPolicy: Never
      volumes: [{name: "\e[31m"}]
      containers:
      - name: a
        image: "img\e[2J\nforged   1.000s  job: Complete (X): done"
        command: [sh, -c, exit 3]
---
kind: "Ser\e[31mvice"
metadata: {name: "web\r\u202e"}
`
	dir := t.TempDir()
	file := programtest.WriteFile(t, dir, "a\x1b[31m\n.yaml", hostile, 0o600)
	control := regexp.MustCompile("[^\n\t\x20-\x7e]|(?m:^forged)")
	for _, args := range [][]string{{}, {"-dry-run"}, {"-validate=warn"}, {"-validate=warn", "-dry-run"}, {"-job", "\x1b[2J"}, {"-set", "\x1b[2J"}, {"-set", "x\x1b=1"}, {"-explain", "-validate=ignore"}} {
		p := start(t, "", append(args, file)...)
		p.Wait()
		if text := p.Out.String() + p.Err.String(); text == "" || control.MatchString(text) {
			t.Errorf("%q printed %q", args, text)
		}
	}
}

// Every rule is answered for every failed pod.
func TestExplainAnswersEveryRule(t *testing.T) {
	t.Parallel()
	p := start(t, "", "-explain", "../testdata/kep3329-two-containers.yaml")
	p.Done(exitFailed)
	for _, want := range []string{
		"rule 0 (FailJob): matched: container main-job-container ended with exit code 2",
		"rule 1 (Ignore): no match: not reached",
		"not used here: spec.template.spec.containers[0].resources",
	} {
		if !strings.Contains(p.Err.String(), want) {
			t.Errorf("want %q:\n%s", want, p.Err.String())
		}
	}
}
