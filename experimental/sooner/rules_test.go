package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/restartrules"
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
	want := &restartrules.Rules{Rules: []backoff.Rule{{
		Action:    backoff.ActionRestart,
		ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{42}},
		Delay:     &backoff.Policy{Initial: time.Second, Max: time.Second},
	}}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, want %+v", r, want)
	}
	for _, field := range []string{"restartPolicyRules and curve", annotationRules + " ", annotationNow + " "} {
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
