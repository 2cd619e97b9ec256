package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/programtest"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Init containers one after the other, sidecars beside the others and ended last,
// several containers, and what a process gets to see.
func TestPodRunsItsContainersInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata:
  name: pod
  namespace: tests
spec:
  completions: 1
  completionMode: Indexed
  template:
    metadata:
      labels: {suite: nightly}
    spec:
      restartPolicy: Never
      initContainers:
      - name: first
        workingDir: %[1]s
        command: [sh, -c, sleep 0.05; echo first >> log]
      - name: one
        restartPolicy: Always
        workingDir: %[1]s
        command: [sh, -c, "trap 'echo end one >> log; exit' TERM; echo one >> log; touch one; while :; do sleep 0.01; done"]
      - name: two
        restartPolicy: Always
        workingDir: %[1]s
        command: [sh, -c, "trap 'echo end two >> log; exit' TERM; while ! test -e one; do sleep 0.01; done; echo two >> log; touch two; while :; do sleep 0.01; done"]
      - name: last
        workingDir: %[1]s
        command: [sh, -c, "while ! test -e two; do sleep 0.01; done; echo last >> log"]
      containers:
      - name: main
        workingDir: %[1]s
        command: [sh, -c, "echo $0 $GREETING $INDEX $SUITE $NAME $HOSTNAME >> log; sleep 0.1; echo end main >> log", "$(WORD)-$(JOB_COMPLETION_INDEX)-$(MISSING)-$$(WORD)"]
        env:
        - {name: WORD, value: hello}
        - {name: GREETING, value: "$(WORD)-world"}
        - {name: INDEX, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}
        - {name: SUITE, valueFrom: {fieldRef: {fieldPath: "metadata.labels['suite']"}}}
        - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
      - name: other
        command: [sleep, "0.05"]
`, dir), "-")
	p.Done(exitComplete)
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	want := `first
one
two
last
hello-0-$(MISSING)-$(WORD) hello-world 0 nightly pod-0-1 pod-0-1
end main
end two
end one
`
	if string(log) != want {
		t.Errorf("got:\n%swant:\n%s", log, want)
	}
}

// Exit codes are those of a shell for the same command.
func TestExitCodesAreThoseOfAShell(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		return programtest.WriteFile(t, dir, name, text, mode)
	}
	plain := file("plain", "#!/bin/sh\n", 0o644)
	for name, test := range map[string]struct{ container, want string }{
		"code":             {`command: [sh, -c, exit 3]`, "container main ended with exit code 3;"},
		"largest code":     {`command: [sh, -c, exit 255]`, "container main ended with exit code 255;"},
		"killed":           {`command: [sh, -c, kill -9 $$$$]`, "killed by signal 9 (exit code 137);"},
		"terminated":       {`command: [sh, -c, kill -TERM $$$$]`, "killed by signal 15 (exit code 143);"},
		"group killed":     {`command: [sh, -c, kill -9 0]`, "killed by signal 9 (exit code 137);"},
		"not in PATH":      {`command: [no-such-program]`, "exit code 127;"},
		"no such path":     {`command: [./no-such-program]`, "exit code 127;"},
		"own PATH":         {"command: [sh, -c, exit 3]\n        env: [{name: PATH, value: /nowhere}]", "exit code 127;"},
		"not executable":   {"command: [" + plain + "]", "exit code 126;"},
		"plain in PATH":    {"command: [plain]\n        env: [{name: PATH, value: " + dir + "}]", "exit code 126;"},
		"a directory":      {"command: [" + dir + "]", "exit code 126;"},
		"no interpreter":   {"command: [" + file("odd", "#!/no/such/interpreter\n", 0o755) + "]", "exit code 127;"},
		"no program":       {"command: [" + file("data", "data", 0o755) + "]", "exit code 126;"},
		"no directory":     {"command: [\"true\"]\n        workingDir: /no/such/directory", "exit code 126;"},
		"file for a dir":   {"command: [\"true\"]\n        workingDir: " + plain, "exit code 126;"},
		"in the directory": {"command: [./exits]\n        workingDir: " + filepath.Dir(file("exits", "#!/bin/sh\nexit 4\n", 0o755)), "exit code 4;"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, `
apiVersion: batch/v1
kind: Job
metadata:
  name: exit
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        `+test.container, "-")
			p.Done(exitFailed)
			if text := p.Err.String(); !strings.Contains(text, test.want) {
				t.Errorf("want %q:\n%s", test.want, text)
			}
		})
	}
}

// With OnFailure a container is restarted inside its pod, and what is left of its
// process group does not see the next one.
func TestOnFailureRestartsInItsPod(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata:
  name: on-failure
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - name: main
        workingDir: %s
        command:
        - sh
        - -c
        - |
          for i in $(seq 1200); do # what is killed ends soon, on a busy machine within a minute
            test -e pid && grep sleep /proc/$(cat pid)/cmdline || break
            test $i -lt 1200 || echo still there >> log
            sleep 0.05
          done
          echo run >> log
          sleep 1000 &
          echo $! > pid
          test $(grep -c run log) -eq 3
`, dir), "-backoff", "1ms", "-")
	p.Done(exitComplete)
	if log, _ := os.ReadFile(filepath.Join(dir, "log")); string(log) != "run\nrun\nrun\n" {
		t.Errorf("log:\n%s", log)
	}
	if out := p.Out.String(); strings.Contains(out, "\n  failed:") {
		t.Errorf("status:\n%s", out)
	}
}

// A pod that is deleted before its first process has started fails for that reason,
// and starts none.
func TestPodDeletedWhilePendingStartsNothing(t *testing.T) {
	var last *batch.PodStatus
	restarts, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{})
	if err != nil {
		t.Fatal(err)
	}
	h := &host{restarts: restarts, publish: func(_ string, s *batch.PodStatus) { last = s }}
	r := newPodRun(h, batch.Pod{Spec: batch.PodSpec{
		InitContainers: []batch.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: batch.RestartPolicyAlways}},
		Containers:     []batch.Container{{Name: "main"}},
	}}, nil)
	r.terminate()
	r.run()
	if last.Phase != batch.PodFailed || last.Reason != "Deleted" {
		t.Errorf("status %+v", last)
	}
}
