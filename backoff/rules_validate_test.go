package backoff_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
)

func fieldErrorsOf(err error) (errs field.Errors) {
	errors.As(err, &errs)
	return errs
}

// Validate lists every mistake in the additional fields with its path.
func TestRuleErrorsNameEachPath(t *testing.T) {
	if err := richPolicy().Validate(); err != nil {
		t.Error(err)
	}
	long := make([]string, 256)
	for i := range long {
		long[i] = strings.Repeat("a", i+1)
	}
	codes := func(ranges ...backoff.CodeRange) *backoff.ExitCodes {
		return &backoff.ExitCodes{Operator: backoff.OperatorIn, Ranges: ranges}
	}
	flat := &backoff.Policy{Initial: second, Max: second, ResetAfter: minute}
	bad := backoff.ExitPolicy{Rules: []backoff.Rule{
		{Name: "a", Action: backoff.ActionRestart, MinFailures: 1},
		{Name: "a", Action: backoff.ActionRestart, MinFailures: 1},
		{Name: "No_Label", Action: backoff.ActionRestart, MinFailures: 1},
		{Name: "empty", Action: backoff.ActionRestart, Delay: flat},
		{Action: backoff.ActionGiveUp, ExitCodes: codes(backoff.CodeRange{9, 3}, backoff.CodeRange{0, 255}, backoff.CodeRange{-1, 5}, backoff.CodeRange{250, 256}), Delay: flat, Limit: 1},
		{Action: "Reboot", Signals: []string{"SIGKILL", "KILL", "", "SIGKILL"}, Reasons: []string{"OOM.*", "", "Error", "Error", "Error?", "Exit:[0-9]", "a|b", "Node.Lost"}},
		{Action: backoff.ActionRestart, RanLessThan: -1, RanAtLeast: -1, MinFailures: -1, Limit: -1, Window: -1},
		{Action: backoff.ActionRestart, RanLessThan: second, RanAtLeast: second, Window: second},
		{Action: backoff.ActionRestart, RanLessThan: second, Delay: &backoff.Policy{Initial: minute, Max: second, Factor: 0.5, Jitter: 2, ResetAfter: -1, FreeFailures: -1}},
		{Action: backoff.ActionRestart, RanLessThan: second, Limit: 3, Delay: flat},
		{Action: backoff.ActionRestart, RanLessThan: second, Limit: 1001, Window: time.Hour},
		{Action: backoff.ActionRestart, Reasons: long, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorNotIn, Values: make([]int32, 250), Ranges: make([]backoff.CodeRange, 6)}},
		{Action: backoff.ActionRestart, RanLessThan: second, Limit: 1001},
	}}
	want := []string{
		`restartPolicyRules[1].name: duplicate value "a": must be unique`,
		`restartPolicyRules[2].name: invalid value "No_Label": must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end`,
		`restartPolicyRules[3].exitCodes: required: must be given, or another condition`,
		`restartPolicyRules[4].exitCodes.ranges[0]: invalid value "9-3": must not end before it begins`,
		`restartPolicyRules[4].exitCodes.ranges[2]: invalid value "-1-5": must be within 0-255`,
		`restartPolicyRules[4].exitCodes.ranges[3]: invalid value "250-256": must be within 0-255`,
		`restartPolicyRules[4].delay: invalid value: must be absent from a rule that gives up`,
		`restartPolicyRules[4].limit: invalid value 1: must be 0 in a rule that gives up`,
		`restartPolicyRules[5].action: unsupported value "Reboot": must be Restart, RestartAllContainers or GiveUp`,
		`restartPolicyRules[5].reasons[0]: invalid value "OOM.*": must be a whole reason, not a pattern`,
		`restartPolicyRules[5].reasons[1]: invalid value "": must not be empty`,
		`restartPolicyRules[5].reasons[3]: duplicate value "Error"`,
		`restartPolicyRules[5].reasons[4]: invalid value "Error?": must be a whole reason, not a pattern`,
		`restartPolicyRules[5].reasons[5]: invalid value "Exit:[0-9]": must be a whole reason, not a pattern`,
		`restartPolicyRules[5].reasons[6]: invalid value "a|b": must be a whole reason, not a pattern`,
		`restartPolicyRules[5].signals[1]: unsupported value "KILL": must be a Linux signal such as SIGKILL or SIGRTMIN+1`,
		`restartPolicyRules[5].signals[2]: unsupported value "": must be a Linux signal such as SIGKILL or SIGRTMIN+1`,
		`restartPolicyRules[5].signals[3]: duplicate value "SIGKILL"`,
		`restartPolicyRules[6].ranLessThan: invalid value -1ns: must be >= 0 (0 means none)`,
		`restartPolicyRules[6].ranAtLeast: invalid value -1ns: must be >= 0 (0 means none)`,
		`restartPolicyRules[6].minFailures: invalid value -1: must be >= 0 (0 means none)`,
		`restartPolicyRules[6].limit: invalid value -1: must be >= 0 (0 means none)`,
		`restartPolicyRules[6].window: invalid value -1ns: must be >= 0 (0 means since the counts started over)`,
		`restartPolicyRules[7].ranAtLeast: invalid value 1s: must be below ranLessThan, 1s`,
		`restartPolicyRules[7].window: invalid value 1s: must be 0 without a limit`,
		`restartPolicyRules[8].delay.max: invalid value 1s: must be >= the first delay, 1m0s`,
		`restartPolicyRules[8].delay.factor: invalid value 0.5: must be 0 (means 2) or >= 1 and finite`,
		`restartPolicyRules[8].delay.jitter: invalid value 2: must be in 0..1`,
		`restartPolicyRules[8].delay.resetAfter: invalid value -1ns: must be >= 0 (0 means twice the longest delay)`,
		`restartPolicyRules[8].delay.freeFailures: invalid value -1: must be >= 0`,
		`restartPolicyRules[10].limit: invalid value 1001: must be at most 1000 within a window`,
		`restartPolicyRules[11].exitCodes.values: too many items 256: must be at most 255, ranges included`,
		`restartPolicyRules[11].reasons: too many items 256: must be at most 255`,
	}
	if got := errorLines(bad.Validate()); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A signal comes from Signal or, if unset, from a code of 128+n.
func TestSignalFromFieldOrCode(t *testing.T) {
	for _, tt := range []struct {
		code, signal int32
		want         string
	}{
		{137, 0, "SIGKILL"}, {143, 0, "SIGTERM"}, {0, 9, "SIGKILL"}, {137, 15, "SIGTERM"}, {162, 0, "SIGRTMIN"}, {163, 0, "SIGRTMIN+1"},
		{1, 50, "SIGRTMAX-14"}, {192, 0, "SIGRTMAX"}, {128, 0, ""}, {193, 0, ""}, {160, 0, ""}, {255, 0, ""}, {1, 65, ""}, {1, -9, ""}, {137, 99, ""}, {-1 << 31, 0, ""},
	} {
		e := backoff.Exit{Code: tt.code, Signal: tt.signal}
		if got := e.SignalName(); got != tt.want {
			t.Errorf("code %d, signal %d: %q, want %q", tt.code, tt.signal, got, tt.want)
		}
	}
}

// If only ranges are given, too many of them are a mistake in the ranges.
func TestTooManyCodesNamesTheField(t *testing.T) {
	values, ranges := make([]int32, 200), make([]backoff.CodeRange, 256)
	for _, tt := range []struct {
		codes backoff.ExitCodes
		want  string
	}{
		{backoff.ExitCodes{Ranges: ranges}, "restartPolicyRules[0].exitCodes.ranges: too many items 256: must be at most 255"},
		{backoff.ExitCodes{Values: values, Ranges: ranges[:56]}, "restartPolicyRules[0].exitCodes.values: too many items 256: must be at most 255, ranges included"},
	} {
		tt.codes.Operator = backoff.OperatorIn
		err := backoff.ExitPolicy{Rules: []backoff.Rule{{Action: backoff.ActionRestart, ExitCodes: &tt.codes}}}.Validate()
		if got := errorLines(err); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A name has at most 63 bytes, with a letter or digit at both ends.
func TestNamesOfRulesAreLabels(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "0": true, "a-0": true, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false,
		"-a": false, "a-": false, "-": false, "A": false, "é": false, "a.b": false, "a_b": false, "{": false, "`": false, "/": false, ":": false,
	} {
		c := backoff.ExitPolicy{Rules: []backoff.Rule{{Name: name, Action: backoff.ActionRestart, MinFailures: 1}}}
		if err := c.Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
