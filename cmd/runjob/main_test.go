package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// start starts runjob.
func start(t *testing.T, stdin string, args ...string) *programtest.Program {
	t.Helper()
	p := programtest.New(t, args...)
	p.Stdin = strings.NewReader(stdin)
	p.Start()
	return p
}

// perIndex is a Job whose program knows how often its index has failed.
func perIndex(completions, parallelism int, script string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata:
  name: test
spec:
  completions: %d
  parallelism: %d
  completionMode: Indexed
  backoffLimitPerIndex: 2
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 600
      containers:
      - name: main
        env:
        - {name: FAILURES, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['batch.kubernetes.io/job-index-failure-count']"}}}
        command: [sh, -c]
        args:
        - |
%s`, completions, parallelism, indent(script))
}

// lines counts the lines of a file.
func lines(file string) int {
	text, _ := os.ReadFile(file)
	return strings.Count(string(text), "\n")
}

// gate holds the processes of a Job up until the test opens it.
type gate struct {
	file string
	wait string // a line for their sh program
}

func newGate(t *testing.T) gate {
	file := filepath.Join(t.TempDir(), "open")
	return gate{file, "until test -e " + file + "; do sleep 0.03; done\n"}
}

func (g gate) open(t *testing.T) { programtest.WriteFile(t, "", g.file, "", 0o600) }

// job is a manifest of n indexes at once that all run the same sh program.
func job(n int, grace int, script string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata:
  name: test
spec:
  parallelism: %d
  completions: %d
  completionMode: Indexed
  template:
    spec:
      terminationGracePeriodSeconds: %d
      restartPolicy: Never
      containers:
      - name: main
        command: [sh, -c]
        args:
        - |
%s`, n, n, grace, indent(script))
}

func indent(script string) string {
	return "          " + strings.ReplaceAll(strings.TrimSpace(script), "\n", "\n          ") + "\n"
}

// inOrder reports whether a text has these parts one behind the other.
func inOrder(text string, parts ...string) bool {
	for _, part := range parts {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// decode reads the Job of a text.
func decode(t *testing.T, text string, how reading) (*manifest, error) {
	t.Helper()
	documents, err := document.ParseAll([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return decodeManifest(documents, how)
}

// strict is how a manifest is read without flags.
var strict = reading{Reading: jobfile.Reading{Validate: jobfile.Strict}}

const pods = "{template: {spec: {restartPolicy: Never, containers: [{name: main, command: [x]}]}}}"

// named is a Job of that name.
func named(name string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {" + name + "}\nspec: " + pods + "\n"
}
