package main

import (
	"strings"
	"syscall"
	"testing"
)

// A wrong flag is reported in one line that names it.
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
		{"-burst 5 -- true", "-burst 5 has no effect without -rate"},
		{"-f testdata/burst.yaml", "testdata/burst.yaml: burst 3 has no effect without a rate"},
		{"testdata/two.yaml", "testdata/two.yaml is not a program; if it is a file of commands, write -f testdata/two.yaml"},
		{"-grace -1s -- true", "-grace -1s: must not be below 0"},
		{"-for 0s -- true", "-for 0s: must be above 0"},
		{"-restart-policy always -- true", "-restart-policy always: must be Always, OnFailure or Never"},
		{"-name a/b -- true", `-name "a/b": must be 1 to 63 letters, digits, hyphens, dots and underscores`},
		{"-name a", "-name and -restart-policy need a command after --"},
		{"-f testdata/two.yaml -- two", "two commands are named two: give the one after -- another -name"},
	} {
		want := "supervise: " + tt.want + "\nTry supervise -h.\n"
		if got := refused(t, ".", strings.Fields(tt.args)...); got != want {
			t.Errorf("supervise %s: printed\n%swant\n%s", tt.args, got, want)
		}
	}
	for _, args := range [][]string{{"-state", "", "--", "true"}, {"--", ""}} {
		if got := refused(t, ".", args...); !strings.HasSuffix(got, "Try supervise -h.\n") {
			t.Errorf("supervise %q: printed\n%s", args, got)
		}
	}
}

func TestHelpOfSuperviseFitsATerminal(t *testing.T) {
	p := start(t, ".", "-h")
	p.Done(exitOK)
	if out := p.Out.String(); !strings.HasPrefix(out, "Usage: supervise") || !strings.Contains(out, "-max-period delay") || p.Err.String() != "" {
		t.Errorf("printed\n%s%s", out, p.Err.String())
	}
}

// The node's curve, by flags and by files in the kubelet's and the KEP's spelling,
// and the notes about it.
func TestNodeCurveOfFlagsAndFiles(t *testing.T) {
	t.Parallel()
	const kep = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncrashloopbackoff:\n  maxSeconds: 4\n"
	for _, tt := range []struct {
		name, file string
		args       []string
		delay      string
		printed    string
	}{
		{"today", "", nil, "10s", ""},
		{"reduced", "", []string{"-reduced"}, "1s", "note: -reduced=true: the curve starts at 1s and ends at 60s"},
		{"maximum", "", []string{"-max-period", "4s"}, "4s", "note: -max-period=4s: the longest delay is 4s; the default is 5m0s, and the first delay is lowered to it from 10s"},
		{"a file and a flag", "featureGates: {ReduceDefaultCrashLoopBackOffDecay: true}\ncrashLoopBackOff: {maxContainerRestartPeriod: 2m}", []string{"-reduced"}, "1s",
			"note: -reduced=true: the curve starts at 1s; crashLoopBackOff.maxContainerRestartPeriod overrules its end at 60s\nnote: crashLoopBackOff.maxContainerRestartPeriod=2m0s: the longest delay is 2m0s; the default is 1m0s"},
		{"both", "", []string{"-reduced", "-max-period", "4s"}, "1s", "note: -reduced=true: the curve starts at 1s; -max-period overrules its end at 60s\nnote: -max-period=4s: the longest delay is 4s; the default is 1m0s"},
		{"the KEP's file", kep, nil, "4s", "note: crashloopbackoff.maxSeconds=4s: the longest delay is 4s; the default is 5m0s, and the first delay is lowered to it from 10s"},
		{"the kubelet's file", "crashLoopBackOff: {maxContainerRestartPeriod: 1.5s}", nil, "1.5s", "note: crashLoopBackOff.maxContainerRestartPeriod=1.5s: the longest delay is 1.5s; the default is 5m0s, and the first delay is lowered to it from 10s"},
		{"a flag over a file", kep, []string{"-max-period", "2s"}, "2s", "note: -max-period=2s: the longest delay is 2s; the default is 5m0s, and the first delay is lowered to it from 10s"},
		{"the gate is off", kep + "featureGates: {EnableKubeletCrashLoopBackoffMax: false, ReduceDefaultCrashLoopBackoffDecay: true}", nil, "1s",
			"note: featureGates.ReduceDefaultCrashLoopBackoffDecay=true: the curve starts at 1s and ends at 60s\nwarning: crashloopbackoff.maxSeconds=4s: ignored because the feature gate EnableKubeletCrashLoopBackoffMax is off"},
		{"the gate is off, and the maximum out of range", "crashloopbackoff: {maxSeconds: 301}\nfeatureGates: {KubeletCrashLoopBackOffMax: false}", nil, "10s",
			"warning: crashloopbackoff.maxSeconds=5m1s: ignored because the feature gate KubeletCrashLoopBackOffMax is off"},
		{"other fields of a kubelet", "kind: KubeletConfiguration\npodsPerCore: 10\nfeatureGates: {DynamicResourceAllocation: true}\n" + `crashLoopBackOff: {maxContainerRestartPeriod: null, other: 1}`, nil, "10s",
			"warning: FILE: line 2: podsPerCore: unknown field, dropped\nwarning: FILE: line 3: featureGates.DynamicResourceAllocation: unknown field, dropped\nwarning: FILE: line 4: crashLoopBackOff.other: unknown field, dropped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args, dir := tt.args, t.TempDir()
			path := file(t, dir, "c.yaml", tt.file)
			if tt.file != "" {
				args = append([]string{"-f", path}, args...)
			}
			p := start(t, dir, append(append(args, "-explain"), "--", "false")...)
			p.Eventually("a decision", func() bool { return strings.Contains(p.Err.String(), "in a row") })
			want := "supervise: false: exit code 1 under restartPolicy Always: restarted after " + tt.delay + " (failure 1 in a row)\n"
			if tt.printed != "" {
				want = "supervise: " + strings.ReplaceAll(strings.ReplaceAll(tt.printed, "FILE", path), "\n", "\nsupervise: ") + "\n" + want
			}
			if got := p.Err.String(); !strings.HasPrefix(got, want) { // by now it may have been restarted
				t.Errorf("printed\n%swant\n%s", got, want)
			}
			p.Signal(syscall.SIGTERM)
			p.Done(143)
		})
	}
}
