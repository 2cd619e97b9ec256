package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/policyfile"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// All mistakes in a file are printed at once, with their paths, and nothing is started.
func TestBadFileIsNamedWithAllItsMistakes(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.[yj]*")
	if len(files) < 10 {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range append(files, "testdata/bad/missing.yaml") {
		got := refused(t, ".", "-f", f)
		programtest.Golden(t, strings.TrimSuffix(f, filepath.Ext(f))+".txt", got)
	}
}

// A file cannot steer the terminal, or imitate a line of supervise.
func TestFileCannotSteerTheTerminal(t *testing.T) {
	dir := t.TempDir()
	const bad = `"forged\nsupervise: line\e[2J": 1
commands:
- name: "a\nb\e[31m"
  "forged\nsupervise: field\a": 1
  command: {"forged\nsupervise: key\e[0m": 1}
`
	const absent = `commands:
- name: a
  command: ["\e[2Jforged\nsupervise: program"]
  restartPolicy: Never
- name: b
  command: ["true"]
  workingDir: "/forged\nsupervise: folder\r"
  restartPolicy: Never
`
	for text, code := range map[string]int{bad: exitUsage, absent: exitFailed} {
		p := start(t, dir, "-f", file(t, dir, "c\r\x1b[2J.yaml", text))
		p.Done(code)
		printed := p.Err.String() + p.Out.String()
		forged := regexp.MustCompile(`(?m)^supervise: (line|field|key|program|folder)|[^\n -~]`)
		if forged.MatchString(printed) || !strings.Contains(printed, "forged") {
			t.Errorf("printed\n%q", printed)
		}
	}
}

// The file in README.md has every field, and says the same as the configuration
// below.
func TestFileOfTheReadmeIsReadInFull(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	found, err := document.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var c config
	printed, err := c.read(found)
	if err != nil || len(printed.Mistakes)+len(printed.Warnings) > 0 {
		t.Fatalf("%+v", printed)
	}
	four := 4 * time.Second
	want := config{
		commands: []command{{
			name: "web",
			args: []string{"sh", "testdata/flaky.sh"},
			env:  []string{"A=b"},
			dir:  "/tmp",
			policy: backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: []backoff.Rule{
				{Name: "unlucky", Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{42}, Ranges: []backoff.CodeRange{{First: 60, Last: 69}}},
					Reasons: []string{"StartError"}, Signals: []string{"SIGTERM"}, RanLessThan: time.Hour, RanAtLeast: time.Second, MinFailures: 2,
					Delay: &backoff.Policy{Initial: 5 * time.Second, Max: 5 * time.Second}, Limit: 3, Window: time.Hour},
			}},
			curve: &backoff.Policy{Initial: time.Second, Max: time.Minute, Factor: 2, Jitter: 0.1, ResetAfter: 10 * time.Minute, FreeFailures: 1},
		}},
		node:  backoff.CrashLoopConfig{ReduceDefault: true, AllowMax: true, Max: &four},
		rate:  2,
		burst: 1,
		grace: 30 * time.Second,
		called: map[string]string{
			policyfile.Reduce: "featureGates.ReduceDefaultCrashLoopBackOffDecay",
			policyfile.Gate:   "KubeletCrashLoopBackOffMax",
			policyfile.Max:    "crashLoopBackOff.maxContainerRestartPeriod",
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("read %+v\nwant %+v", c, want)
	}
}

// The example of testdata has no mistake.
func TestExampleFileIsValid(t *testing.T) {
	text, err := os.ReadFile("../testdata/supervise/supervise.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found, err := document.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var c config
	printed, err := c.read(found)
	if err != nil || len(printed.Mistakes)+len(printed.Warnings) > 0 || len(c.commands) != 6 {
		t.Errorf("%d commands, %+v, %v", len(c.commands), printed, err)
	}
}

// A file is refused, or its commands can be run.
func FuzzFile(f *testing.F) {
	files, _ := filepath.Glob("testdata/bad/*.[yj]*")
	for _, file := range append(files, "../testdata/supervise/supervise.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := document.Parse(text)
		if err != nil {
			return
		}
		var c config
		printed, err := c.read(found)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range printed.Mistakes {
			if m.Detail == "" || m.Path == "" && !strings.HasPrefix(m.Detail, "must be an object") {
				t.Errorf("mistake %q", m)
			}
		}
		if len(printed.Mistakes) > 0 {
			return
		}
		if _, err := c.node.Resolve(); err != nil || c.rate < 0 || c.burst < 0 || c.grace < 0 {
			t.Errorf("accepted: %+v: %v", c, err)
		}
		names := make(map[string]bool)
		for _, cmd := range c.commands {
			if !validName(cmd.name) || names[cmd.name] || len(cmd.args) == 0 || cmd.args[0] == "" || cmd.policy.Validate() != nil || cmd.curve != nil && cmd.curve.Validate() != nil {
				t.Errorf("accepted: %+v", cmd)
			}
			names[cmd.name] = true
		}
	})
}
