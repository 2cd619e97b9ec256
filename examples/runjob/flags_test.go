package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/examples/internal/programtest"
)

// Overrides change the Job before it is validated.
func TestOverridesComeBeforeValidation(t *testing.T) {
	t.Parallel()
	const story = "../testdata/kep3850-story3.yaml"
	for name, test := range map[string]struct {
		args []string
		code int
		want string // in the output
	}{
		"a limit":            {[]string{"-set", "maxFailedIndexes=4"}, exitFailed, "MaxFailedIndexesExceeded"},
		"an index of a list": {[]string{"-set", `template.spec.containers[0].command=["true"]`}, exitComplete, "completedIndexes: 0-9"},
		"an element":         {[]string{"-set", `template.spec.containers[0]={name: job-container, command: ["true"]}`}, exitComplete, "completedIndexes: 0-9"},
		"twice":              {[]string{"-set", `spec.template.spec.containers[0].command=["true"]`, "-set", "completions=5", "-set", "parallelism=2"}, exitComplete, "completedIndexes: 0-4"},
		"objects in between": {[]string{"-set", "successPolicy.rules=[{succeededCount: 11}]"}, exitBad, "spec.successPolicy.rules[0].succeededCount: "},
		"nothing":            {[]string{"-set", "backoffLimitPerIndex="}, exitBad, "  -set spec.backoffLimitPerIndex: required"},
		"a wrong type":       {[]string{"-set", "parallelism=many"}, exitBad, `  -set spec.parallelism: invalid value "many": must be an integer`},
		"an unknown field":   {[]string{"-set", "maxFailedIndex=5"}, exitBad, "  -set spec.maxFailedIndex: unknown field: did you mean maxFailedIndexes?\n"},
		"no such element":    {[]string{"-set", "template.spec.containers[1].image=x"}, exitBad, "there is no element 1"},
		"not a list":         {[]string{"-set", "template[0]=x"}, exitBad, "there is no element 0"},
		"not an object":      {[]string{"-set", "completions.x=1"}, exitBad, "x is not in an object"},
		"not a path":         {[]string{"-set", "template..spec=1"}, exitBad, "not a path"},
		"no path":            {[]string{"-set", "=1"}, exitBad, "must be field=value"},
		"no value":           {[]string{"-set", "completions"}, exitBad, "must be field=value"},
		"not YAML":           {[]string{"-set", "completions=["}, exitBad, "not a YAML or JSON document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "", append(test.args, "-backoff", "1ms", story)...)
			p.Done(test.code)
			if out := p.Out.String() + p.Err.String(); !strings.Contains(out, test.want) {
				t.Errorf("want %q:\n%s", test.want, out)
			}
		})
	}
}

// Unknown fields are mistakes, warnings or nothing, as with kubectl.
func TestUnknownFieldsAreTreatedAsByKubectl(t *testing.T) {
	t.Parallel()
	const typo = "spec.paralelism: unknown field: did you mean parallelism?"
	text := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: typo}\nspec:\n  completions: 1\n  paralelism: 2\n  completions: 2\n  template: {spec: {restartPolicy: Never, containers: [{name: main, command: ['true']}]}}\n"
	for _, test := range []struct {
		level string
		code  int
		want  []string
	}{
		{"", exitBad, []string{"nothing was started", "  line 6: " + typo, "  line 7: spec.completions: already given on line 5"}},
		{"strict", exitBad, []string{typo}},
		{"true", exitBad, []string{typo}},
		{"warn", exitComplete, []string{"warning: line 6: " + typo, "warning: line 7: spec.completions: already given on line 5"}},
		{"Ignore", exitComplete, nil},
		{"false", exitComplete, nil},
		{"no", exitBad, []string{"-validate: must be strict, warn or ignore"}},
	} {
		for _, dry := range []bool{false, true} {
			args := []string{"-"}
			if test.level != "" {
				args = append([]string{"-validate", test.level}, args...)
			}
			if dry {
				args = append([]string{"-dry-run"}, args...)
			}
			p := start(t, text, args...)
			p.Done(test.code)
			told := p.Out.String() + p.Err.String()
			for _, want := range test.want {
				if !strings.Contains(told, want) {
					t.Errorf("%q: want %q:\n%s", args, want, told)
				}
			}
			if test.want == nil && strings.Contains(told, "unknown") {
				t.Errorf("%q: %s", args, told)
			}
			if !dry && test.code == exitComplete && !strings.Contains(p.Out.String(), "succeeded: 2") {
				t.Errorf("%q: the last of two fields does not hold:\n%s", args, p.Out.String())
			}
		}
	}
	p := start(t, text, "-validate=ignore", "-set", "maxFailedIndex=3", "-")
	p.Done(exitBad)
	if !strings.Contains(p.Err.String(), "spec.maxFailedIndex: unsupported value: set by a flag, but not used here") {
		t.Error(p.Err.String())
	}
}

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
		{manifest, "3@0s", "runjob: standard input: -disrupt: there is no index 3, the Job has 3 from 0 on\n"},
		{plainPods("", "restartPolicy: Never", "exit 0"), "1@0s", "runjob: standard input: -disrupt: there is no index 1, the Job is NonIndexed: 0 stands for any of its pods\n"},
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
        command: [sh, -c, "trap '' TERM; test -e $DIR/second && exit; touch $DIR/second; while :; do sleep 0.01; done"]
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
		_, err := os.Stat(dir + "/second")
		deaf = err == nil // else it was disrupted before it had set its trap
	}
	p := run(dir)
	p.Done(exitComplete)
	if text := p.Err.String(); !strings.Contains(text, "killed by signal 9 (exit code 137); rule 0 (Ignore): not counted") {
		t.Error(text)
	}
}

// An empty variable of a shell must not turn -state off.
func TestUnnamedStateFolderIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t, "", "-state", "", "../testdata/quickstart.yaml")
	p.Done(exitBad)
	if text := p.Err.String(); text != "runjob: -state: the folder has no name\nTry runjob -h.\n" {
		t.Error(text)
	}
}

// TestDryRunPrintsLintAndWorstCase tells what is valid, what is surely not meant,
// and the worst case.
func TestDryRunPrintsLintAndWorstCase(t *testing.T) {
	t.Parallel()
	for manifest, want := range map[string][]string{
		"kep3329-story1": {"is valid\n", "spec.podFailurePolicy.rules[0]", "drain", "at most 7 pods", "at most 10m30s"},
		"kep3329-story2": {"is valid\n", "any number of pods", "any time"},
		"kep3850-story1": {"is valid\n", "at most 20 pods", "completedIndexes"},
	} {
		p := start(t, "", "-dry-run", "../testdata/"+manifest+".yaml")
		p.Done(0)
		for _, want := range want {
			if !strings.Contains(p.Out.String(), want) {
				t.Errorf("%s: want %q:\n%s", manifest, want, p.Out.String())
			}
		}
		if p.Err.String() != "" {
			t.Errorf("%s: %s", manifest, p.Err.String())
		}
	}
	one := start(t, plainPods("backoffLimit: 0", "restartPolicy: Never", "exit 0"), "-dry-run", "-")
	one.Done(exitComplete)
	if !strings.Contains(one.Out.String(), "at most 1 pod\n") {
		t.Error(one.Out.String())
	}
	start(t, "", "-dry-run", "../testdata/bad/every-limit.yaml").Done(exitBad)
	p := start(t, "", "-backoff", "1ms", "../testdata/kep3329-story1.yaml")
	p.Done(exitFailed)
	if !strings.Contains(p.Err.String(), "drain") {
		t.Errorf("no finding at the start:\n%s", p.Err.String())
	}
}
