//go:build long

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// Story 2 ignores disruptions, Story 3 counts them.
func TestDisruptionsAreIgnoredOrCountedByRule(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		manifest string
		waiting  string // pods that can be disrupted; the others fail
		at       []string
		ended    string
		failed   string
	}{
		"ignored": {"../testdata/kep3329-story2.yaml", "*-1|*-2", []string{"0@20ms", "0@300ms"}, "rule 0 (Ignore): not counted", "\n  failed: 4\n"},
		"counted": {"../testdata/kep3329-story3.yaml", "*-1", []string{"0@20ms"}, "rule 0 (Count): counted", "\n  failed: 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"-backoff", "1ms", "-set", `template.spec.containers[0]={
				name: main-job-container,
				env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}],
				command: [sh, -c, "case $POD in ` + test.waiting + `) exec sleep 1000;; esac; exit 7"]}`}
			for _, at := range test.at {
				args = append(args, "-disrupt", at)
			}
			p := start(t, "", append(args, test.manifest)...)
			p.Done(exitFailed)
			if n := strings.Count(p.Err.String(), test.ended); n != len(test.at) {
				t.Errorf("%d times %q:\n%s", n, test.ended, p.Err.String())
			}
			if out := p.Out.String(); !strings.Contains(out, test.failed) {
				t.Errorf("want %q:\n%s", test.failed, out)
			}
		})
	}
}

// Only that index is disrupted, as soon as it runs.
func TestOnlyTheGivenIndexIsDisrupted(t *testing.T) {
	t.Parallel()
	manifest := perIndex(3, 1, "test $JOB_COMPLETION_INDEX$FAILURES = 10 && exec sleep 1000\nexit 0")
	p := start(t, manifest, "-backoff", "1ms", "-disrupt", "1@0s", "-")
	p.Done(exitComplete)
	if text := p.Err.String(); strings.Count(text, "is disrupted") != 1 || !inOrder(text, "pod test-1-1: is disrupted", "pod test-1-1: failed: it is being deleted") {
		t.Error(text)
	}
	for _, test := range []struct{ manifest, wrong, want string }{
		{manifest, "3@0s", "runjob: standard input: -disrupt: no index 3: the Job has 3, from 0 on\n"},
		{plainPods("", "restartPolicy: Never", "exit 0"), "1@0s", "runjob: standard input: -disrupt: no index 1: the Job is NonIndexed, so 0 stands for any of its pods\n"},
		{manifest, "-1@0s", "must be INDEX@DELAY"},
		{manifest, "1", "must be INDEX@DELAY"},
		{manifest, "1@", "must be INDEX@DELAY"},
		{manifest, "@1s", "must be INDEX@DELAY"},
		{manifest, "x@1s", "must be INDEX@DELAY"},
		{manifest, "1@-1s", "must be INDEX@DELAY"},
	} {
		p := start(t, test.manifest, "-disrupt", test.wrong, "-")
		p.Done(exitBad)
		if text := p.Err.String(); !strings.Contains(text, test.want) {
			t.Errorf("%s: %s", test.wrong, text)
		}
	}
}

// A disruption is known to the run that goes on.
func TestDisruptionSurvivesKill(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: batch/v1
kind: Job
metadata: {name: disrupted}
spec:
  backoffLimit: 0
  podFailurePolicy:
    rules:
    - action: Ignore
      onPodConditions: [{type: DisruptionTarget}]
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        command: [sh, -c, "trap '' TERM; touch $DIR/$HOSTNAME; while test $HOSTNAME = disrupted-1; do sleep 0.01; done"]
        env: [{name: DIR, value: %s}]
`
	run := func(dir string, args ...string) *programtest.Program {
		return start(t, fmt.Sprintf(manifest, dir), append(args, "-backoff", "1ms", "-state", dir, "-")...)
	}
	var dir string
	for delay, deaf := 100*time.Millisecond, false; !deaf; delay *= 2 {
		dir = t.TempDir()
		p := run(dir, "-disrupt", fmt.Sprintf("0@%v", delay))
		p.Err.Says("terminating", 1)
		p.Kill()
		_, err := os.Stat(dir + "/disrupted-1")
		deaf = err == nil // else it was disrupted before it had set its trap
	}
	p := run(dir)
	p.Done(exitComplete)
	if text := p.Err.String(); !strings.Contains(text, "killed by signal 9 (exit code 137); rule 0 (Ignore): not counted") {
		t.Error(text)
	}
}
