package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/experimental/sooner/internal/decide"
)

// documentedRules returns the example of -h.
func documentedRules(t testing.TB) string {
	t.Helper()
	_, rest, ok := strings.Cut(usage, "\n      {")
	text, _, ok2 := strings.Cut(rest, "\n      restarts")
	if !ok || !ok2 {
		t.Fatal("-h has no example")
	}
	return "{" + text
}

// The example of -h does what -h says.
func TestDocumentedRules(t *testing.T) {
	r := rulesOf(t, documentedRules(t))
	want := &decide.Rules{Rules: []backoff.Rule{{
		Action:    backoff.ActionRestart,
		ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{42}},
		Delay:     &backoff.Policy{Initial: time.Second, Max: time.Second},
	}}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, want %+v", r, want)
	}
	for _, field := range []string{"restartPolicyRules and curve", annotationRules + ":", annotationNow + ":"} {
		if !strings.Contains(usage, field) {
			t.Errorf("-h does not mention %s", field)
		}
	}
	bubble(t, func(t *testing.T, h *host) {
		h.static("web", documentedRules(t))
		h.static("other", documentedRules(t))
		h.exit("web", "web0", 42, 0)
		h.exit("other", "other0", 1, 0)
		h.start()
		h.after(time.Minute)
		if got := h.runtime.of("RemoveContainer"); len(got) == 0 || got[0] != "RemoveContainer web0" || len(h.runtime.of("RemoveContainer other0")) > 0 {
			t.Errorf("%q", got)
		}
	})
}

// FuzzParseRules checks that rules which parse are valid, and parse again from their own
// text to the same.
func FuzzParseRules(f *testing.F) {
	for _, text := range []string{
		documentedRules(f), secondAfter42, "", "{}", "null", "[]", "curve: {initial: 10s, max: 5m}", "curve:\n  initial: 10s\n  max: 1m\n  freeFailures: 3\n",
		`{"restartPolicyRules": [{"name": "a", "action": "GiveUp", "reasons": ["OOMKilled"], "minFailures": 3}, {"action": "Restart", "signals": ["SIGKILL"], "limit": 3, "window": "1h"}]}`,
		`{"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "NotIn", "ranges": ["128-159"]}, "ranLessThan": "1s"}], "curve": {"initial": "1s", "max": "1m", "factor": 1.5, "jitter": 0.2}}`,
		`{"curve": {"initial": "1s", "max": "1s"}}{"curve": 1}`, "&a [*a, *a]", "\xff", "a: b: c", "{\"curve\": {\"initial\": 1}}", "---\n---\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decide.ParseRules(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		again, err := json.Marshal(map[string]any{"restartPolicyRules": r.Rules, "curve": r.Curve})
		if err != nil {
			t.Fatal(err)
		}
		second, err := decide.ParseRules(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		third, err := json.Marshal(map[string]any{"restartPolicyRules": second.Rules, "curve": second.Curve})
		if err != nil || string(third) != string(again) {
			t.Fatalf("%s, then %s, %v", again, third, err)
		}
	})
}
