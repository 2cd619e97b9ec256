package lint

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/rapidseed"
)

// In random policies, no exit reaches a rule that Check reports as unreachable.
func TestUnreachableRulesAreNeverReached(t *testing.T) {
	code := rapid.OneOf(rapid.Int32Range(-1, 4), rapid.Int32Range(120, 260))
	texts := func(all ...string) *rapid.Generator[[]string] {
		return rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfN(rapid.SampledFrom(all), 0, 2))
	}
	duration := rapid.SampledFrom([]time.Duration{0, 0, 0, -1, 1, time.Second, 8 * time.Second, 8*time.Second + 1, time.Hour})
	rule := rapid.Custom(func(t *rapid.T) backoff.Rule {
		r := backoff.Rule{
			Action:  rapid.SampledFrom([]backoff.Action{backoff.ActionRestart, backoff.ActionRestartAll, backoff.ActionGiveUp, "Reboot"}).Draw(t, "action"),
			Reasons: texts("A", "B").Draw(t, "reasons"), Signals: texts("SIGKILL", "SIGTERM", "NONE").Draw(t, "signals"),
			RanLessThan: duration.Draw(t, "less"), RanAtLeast: duration.Draw(t, "at least"),
			MinFailures: rapid.SampledFrom([]int{0, 0, -1, 1, 2, 3}).Draw(t, "attempts"),
			Limit:       rapid.IntRange(-1, 3).Draw(t, "limit"), Window: duration.Draw(t, "window"),
		}
		if rapid.Bool().Draw(t, "codes?") {
			r.ExitCodes = &backoff.ExitCodes{Operator: rapid.SampledFrom([]backoff.Operator{"In", "NotIn", "Exists"}).Draw(t, "operator"),
				Values: rapid.SliceOfN(code, 0, 4).Draw(t, "values"),
				Ranges: rapid.SliceOfN(rapid.Map(rapid.SliceOfN(code, 2, 2), func(v []int32) backoff.CodeRange { return backoff.CodeRange{First: v[0], Last: v[1]} }), 0, 2).Draw(t, "ranges")}
		}
		return r
	})
	unreachable, reached := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := backoff.ExitPolicy{Rules: rapid.SliceOfN(rule, 0, 6).Draw(t, "rules")}
		said := map[int]bool{}
		for _, f := range Check(c, curve) {
			if f.Kind == KindUnreachable {
				said[f.Rule] = true
				unreachable++
			}
		}
		begin := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
		for range 50 {
			ran := max(duration.Draw(t, "ran"), 0)
			attempt := rapid.IntRange(1, 4).Draw(t, "attempt")
			if ran > curve.ResetThreshold() {
				attempt = 1
			}
			e := backoff.Exit{Code: code.Draw(t, "code"), Signal: rapid.SampledFrom([]int32{0, 0, 9, 15, 33}).Draw(t, "signal"),
				Reason: rapid.SampledFrom([]string{"", "A", "B"}).Draw(t, "reason"), Started: begin, Finished: begin.Add(ran)}
			if _, i := c.DecideExit(e, attempt); i >= 0 {
				if reached++; said[i] {
					t.Fatalf("%+v reaches rule %d as failure %d", e, i, attempt)
				}
			}
		}
	})
	if rapidseed.Fixed() && (unreachable == 0 || reached == 0) {
		t.Errorf("%d rules unreachable, %d exits reached one", unreachable, reached)
	}
}
