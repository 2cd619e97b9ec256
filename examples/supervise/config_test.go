package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/document"
	"github.com/restartkit/restart/examples/internal/programtest"
)

// What is wrong with a file is told all at once, each with its path, and nothing is
// started.
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

// A wrong flag is told in one line that names it.
func TestWrongFlagOfSuperviseIsNamed(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", "no command: write it after --, or commands into the file of -f"},
		{"-x -- true", "flag provided but not defined: -x"},
		{"-max-period 500s -- true", "-max-period 8m20s: must be in [1s, 300s]"},
		{"-max-period 999ms -- true", "-max-period 999ms: must be in [1s, 300s]"},
		{"-max-period 0s -- true", "-max-period 0s: must be in [1s, 300s]"},
		{"-max-period 4 -- true", `invalid value "4" for flag -max-period: must have a unit, as 10s or 5m`},
		{"-rate 0 -- true", "-rate 0: must be above 0"},
		{"-rate NaN -- true", "-rate NaN: must be above 0"},
		{"-rate Inf -- true", "-rate +Inf: must be above 0"},
		{"-burst 0 -- true", "-burst 0: must be at least 1"},
		{"-grace -1s -- true", "-grace -1s: must not be below 0"},
		{"-for 0s -- true", "-for 0s: must be above 0"},
		{"-restart-policy always -- true", "-restart-policy always: must be Always, OnFailure or Never"},
		{"-name a/b -- true", "-name a/b: must be 1 to 63 letters, digits, hyphens, dots and underscores"},
		{"-name a", "-name and -restart-policy are for the command after --, there is none"},
		{"-f testdata/two.yaml -- two", "two commands are named two: give the one after -- another -name"},
	} {
		want := "supervise: " + tt.want + "\nTry supervise -h.\n"
		if got := refused(t, ".", strings.Fields(tt.args)...); got != want {
			t.Errorf("supervise %s: told\n%swant\n%s", tt.args, got, want)
		}
	}
	for _, args := range [][]string{{"-state", "", "--", "true"}, {"--", ""}} {
		if got := refused(t, ".", args...); !strings.HasSuffix(got, "Try supervise -h.\n") {
			t.Errorf("supervise %q: told\n%s", args, got)
		}
	}
}

// What a file says cannot steer the terminal, or look like a line of supervise.
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
		told := p.Err.String() + p.Out.String()
		forged := regexp.MustCompile(`(?m)^supervise: (line|field|key|program|folder)|[^\n -~]`)
		if forged.MatchString(told) || !strings.Contains(told, "forged") {
			t.Errorf("told\n%q", told)
		}
	}
}

func TestHelpOfSuperviseFitsATerminal(t *testing.T) {
	p := start(t, ".", "-h")
	p.Done(exitOK)
	if out := p.Out.String(); !strings.HasPrefix(out, "Usage: supervise") || !strings.Contains(out, "-max-period delay") || p.Err.String() != "" {
		t.Errorf("printed\n%s%s", out, p.Err.String())
	}
	programtest.FitsTerminal(t, p.Out.String())
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
	told, err := c.read(found)
	if err != nil || len(told.mistakes)+len(told.warnings) > 0 {
		t.Fatalf("%+v", told)
	}
	four := 4 * time.Second
	want := config{
		commands: []command{{
			name: "web",
			args: []string{"sh", "testdata/flaky.sh"},
			env:  []string{"A=b"},
			dir:  "/tmp",
			policy: backoff.ContainerPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: []backoff.Rule{
				{Action: backoff.Restart, ExitCodes: &backoff.ExitCodes{Operator: backoff.In, Values: []int32{42}}},
			}},
			curve: &backoff.Policy{Initial: time.Second, Max: time.Minute, Factor: 2, Jitter: 0.1, ResetAfter: 10 * time.Minute, Free: 1},
		}},
		node:  backoff.CrashLoopConfig{ReduceDefault: true, AllowMax: true, Max: &four},
		rate:  2,
		burst: 1,
		grace: 30 * time.Second,
		called: map[string]string{
			settingReduce: "featureGates.ReduceDefaultCrashLoopBackOffDecay",
			settingGate:   "KubeletCrashLoopBackOffMax",
			settingMax:    "crashLoopBackOff.maxContainerRestartPeriod",
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("read %+v\nwant %+v", c, want)
	}
}

// The node's curve, by flags and by files in the kubelet's and the KEP's spelling,
// and what is told about it.
func TestNodeCurveOfFlagsAndFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const kep = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncrashloopbackoff:\n  maxSeconds: 4\n"
	for _, tt := range []struct {
		name, file string
		args       []string
		delay      string
		told       string
	}{
		{"today", "", nil, "10s", ""},
		{"reduced", "", []string{"-reduced"}, "1s", "note: -reduced=true: the curve starts at 1s and ends at 60s"},
		{"maximum", "", []string{"-max-period", "4s"}, "4s", "note: -max-period=4s: the longest delay is 4s; the default is 5m0s, and the first delay is pulled down to it from 10s"},
		{"a file and a flag", "featureGates: {ReduceDefaultCrashLoopBackOffDecay: true}\ncrashLoopBackOff: {maxContainerRestartPeriod: 2m}", []string{"-reduced"}, "1s",
			"note: -reduced=true: the curve starts at 1s; crashLoopBackOff.maxContainerRestartPeriod overrules its end at 60s\nnote: crashLoopBackOff.maxContainerRestartPeriod=2m0s: the longest delay is 2m0s; the default is 1m0s"},
		{"both", "", []string{"-reduced", "-max-period", "4s"}, "1s", "note: -reduced=true: the curve starts at 1s; -max-period overrules its end at 60s\nnote: -max-period=4s: the longest delay is 4s; the default is 1m0s"},
		{"the KEP's file", kep, nil, "4s", "note: crashloopbackoff.maxSeconds=4s: the longest delay is 4s; the default is 5m0s, and the first delay is pulled down to it from 10s"},
		{"the kubelet's file", "crashLoopBackOff: {maxContainerRestartPeriod: 1.5s}", nil, "1.5s", "note: crashLoopBackOff.maxContainerRestartPeriod=1.5s: the longest delay is 1.5s; the default is 5m0s, and the first delay is pulled down to it from 10s"},
		{"a flag over a file", kep, []string{"-max-period", "2s"}, "2s", "note: -max-period=2s: the longest delay is 2s; the default is 5m0s, and the first delay is pulled down to it from 10s"},
		{"the gate is off", kep + "featureGates: {EnableKubeletCrashLoopBackoffMax: false, ReduceDefaultCrashLoopBackoffDecay: true}", nil, "1s",
			"note: featureGates.ReduceDefaultCrashLoopBackoffDecay=true: the curve starts at 1s and ends at 60s\nwarning: crashloopbackoff.maxSeconds=4s: ignored, the feature gate EnableKubeletCrashLoopBackoffMax is off"},
		{"the gate is off, and the maximum out of range", "crashloopbackoff: {maxSeconds: 301}\nfeatureGates: {KubeletCrashLoopBackOffMax: false}", nil, "10s",
			"warning: crashloopbackoff.maxSeconds=5m1s: ignored, the feature gate KubeletCrashLoopBackOffMax is off"},
		{"other fields of a kubelet", "kind: KubeletConfiguration\npodsPerCore: 10\nfeatureGates: {DynamicResourceAllocation: true}\n" + `crashLoopBackOff: {maxContainerRestartPeriod: null, other: 1}`, nil, "10s",
			"warning: FILE: line 2: podsPerCore: unknown field, dropped\nwarning: FILE: line 3: featureGates.DynamicResourceAllocation: unknown field, dropped\nwarning: FILE: line 4: crashLoopBackOff.other: unknown field, dropped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := tt.args
			path := file(t, dir, "c.yaml", tt.file)
			if tt.file != "" {
				args = append([]string{"-f", path}, args...)
			}
			p := start(t, dir, append(append(args, "-explain"), "--", "false")...)
			p.Eventually("a decision", func() bool { return strings.Contains(p.Err.String(), "in a row") })
			want := "supervise: false: exit code 1 under restartPolicy Always: restarted after " + tt.delay + " (failure 1 in a row)\n"
			if tt.told != "" {
				want = "supervise: " + strings.ReplaceAll(strings.ReplaceAll(tt.told, "FILE", path), "\n", "\nsupervise: ") + "\n" + want
			}
			if got := p.Err.String(); !strings.HasPrefix(got, want) { // by now it may have been restarted
				t.Errorf("told\n%swant\n%s", got, want)
			}
			p.Signal(syscall.SIGTERM)
			p.Done(143)
		})
	}
}

// The example of testdata runs as it says.
func TestExampleFileRunsAsItSays(t *testing.T) {
	t.Parallel()
	p := start(t, "..", "-f", "testdata/supervise/supervise.yaml")
	printed := func(want string) func() bool {
		return func() bool { return strings.Contains(strings.Join(strings.Fields(p.Out.String()), " "), want) }
	}
	for _, want := range []string{"web | working", "proxy | serving", "proxy Running 1 (", "migration Error", "typo CrashLoopBackOff 0"} {
		p.Eventually(want, printed(want))
	}
	p.Signal(syscall.SIGINT)
	p.Done(130)
	if !printed("steady Stopped 0")() {
		t.Error("steady has not been stopped")
	}
}

func TestNamesOfCommandsAreValid(t *testing.T) {
	for program, want := range map[string]string{"sh": "sh", "testdata/flaky.sh": "flaky.sh", "/": "-", "a b%": "a-b-", strings.Repeat("x", 80): strings.Repeat("x", 63), "ä": "-"} {
		if got := nameOf([]string{program}); got != want || !validName(got) {
			t.Errorf("nameOf(%q) = %q, want %q", program, got, want)
		}
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
		told, err := c.read(found)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range told.mistakes {
			if m.Detail == "" || m.Path == "" && !strings.HasPrefix(m.Detail, "must be an object") {
				t.Errorf("mistake %q", m)
			}
		}
		if len(told.mistakes) > 0 {
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
