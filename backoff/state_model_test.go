package backoff_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// model decides as a State does, from the list of everything that has happened. It keeps
// no counts and works out each of them anew, so it is slow and shares no way of thinking
// with the package.
type model struct {
	policy  backoff.ExitPolicy
	events  []event
	started time.Time // of the run after the last exit; zero while there is none
	end     time.Time // no run began before it
}

// event is one exit, one look at a healthy run, or one Forgive.
type event struct {
	ran       time.Duration  // how long the run had lasted
	exit      *backoff.Exit  // nil if it was no exit
	at        time.Time      // when it was reported
	action    backoff.Action // of an exit
	rule      int            // of an exit
	counted   bool           // the exit is a failure
	byLimit   bool           // the exit was given up by a limit
	forgotten bool           // everything before counts no more
}

func (m *model) rule(e event) *backoff.Rule {
	if e.exit == nil || e.rule < 0 {
		return nil
	}
	return &m.policy.Rules[e.rule]
}

// since returns the events after which counts last started over: the exit after a run
// longer than reset is the first of them.
func (m *model) since(reset time.Duration) []event {
	for i := len(m.events) - 1; i >= 0; i-- {
		e := m.events[i]
		if e.ran > reset || i > 0 && m.events[i-1].action == backoff.ActionStop {
			return m.events[i:]
		}
		if e.forgotten {
			return m.events[i+1:]
		}
	}
	return m.events
}

// latched reports whether a limit was reached since counts last started over.
func (m *model) latched() bool {
	return slices.ContainsFunc(m.since(m.policy.Delay.ResetThreshold()), func(e event) bool { return e.byLimit })
}

// failures counts the failures in a row.
func (m *model) failures() (n int) {
	for _, e := range m.since(m.policy.Delay.ResetThreshold()) {
		if e.counted {
			n++
		}
	}
	return n
}

// ruleFailures counts the failures in a row of a rule with a Delay.
func (m *model) ruleFailures(rule int) (n int) {
	for _, e := range m.since(m.policy.Rules[rule].Delay.ResetThreshold()) {
		if e.counted && e.rule == rule {
			n++
		}
	}
	return n
}

// restarts counts the restarts that a limit has allowed: those of one rule, or of all
// exits that no rule with a limit decided.
func (m *model) restarts(limited func(event) bool, reset, window time.Duration, now time.Time) (n int) {
	from := m.since(reset)
	if window > 0 { // a long run forgets them only if a limit had been reached
		from = m.events
		for i := range m.events {
			before := &model{policy: m.policy, events: m.events[:i]}
			e := m.events[i]
			switch {
			case i > 0 && m.events[i-1].action == backoff.ActionStop, e.ran > reset && before.latched():
				from = m.events[i:]
			case e.forgotten:
				from = m.events[i+1:]
			}
		}
	}
	for _, e := range from {
		if e.counted && !e.byLimit && (e.action == restart || e.action == backoff.ActionRestartAll) && limited(e) && (window == 0 || now.Sub(e.at) < window) {
			n++
		}
	}
	return n
}

// exited decides about a new exit.
func (m *model) exited(e backoff.Exit, now time.Time) backoff.Decision {
	p := m.policy
	if e.Finished.IsZero() {
		e.Finished = now
	}
	this := event{exit: &e, at: now}
	if !e.Started.IsZero() {
		began := e.Started
		if m.end.After(began) {
			began = m.end
		}
		this.ran = e.Finished.Sub(began)
	}
	m.events = append(m.events, this)
	last := &m.events[len(m.events)-1]

	bounded := e
	if !e.Started.IsZero() {
		bounded.Started = e.Finished.Add(-this.ran)
	}
	last.action, last.rule = slowDecideExit(p, bounded, m.failures()+1)
	rule := m.rule(*last)
	uncounted := rule != nil && rule.Uncounted
	counted := !uncounted && (last.action != backoff.ActionStop || e.Code != 0)
	restarts := last.action == restart || last.action == backoff.ActionRestartAll

	d := backoff.Decision{Action: last.action, New: true, Rule: last.rule}
	if rule != nil {
		d.RuleName = rule.Name
	}
	if counted && restarts {
		limitOfRule := func(e event) bool { r := m.rule(e); return r != nil && r.Limit > 0 }
		used, limit := 0, p.Limit
		switch {
		case rule != nil && rule.Limit > 0:
			reset := p.Delay.ResetThreshold()
			if rule.Delay != nil {
				reset = rule.Delay.ResetThreshold()
			}
			limit = rule.Limit
			used = m.restarts(func(e event) bool { return e.rule == last.rule }, reset, rule.Window, now)
		case p.Limit > 0:
			used = m.restarts(func(e event) bool { return !limitOfRule(e) }, p.Delay.ResetThreshold(), p.Window, now)
		}
		last.byLimit = m.latched() || p.Retries > 0 && m.failures()+1 > p.Retries || limit > 0 && used >= limit
	}
	last.counted = counted
	d.Failures = m.failures()
	curve, failures := p.Delay, d.Failures
	if rule != nil && rule.Delay != nil {
		curve = rule.Delay
		if counted {
			d.RuleFailures = m.ruleFailures(last.rule)
			failures = d.RuleFailures
		}
	}
	from := e.Finished
	if from.After(now) {
		from = now
	}
	switch {
	case last.byLimit:
		d.Action = giveUp
		if d.Delay = p.GiveUpFor; d.Delay > 0 {
			d.NotBefore = from.Add(d.Delay)
		}
	case restarts:
		switch {
		case uncounted && rule.Delay == nil: // the caller has the rest of the wait before
		case uncounted:
			d.Delay = curve.Initial
		default:
			d.Delay = curve.Delay(failures)
		}
		d.Delay = max(d.Delay, min(e.RetryAfter, curve.Max))
		d.NotBefore = from.Add(d.Delay)
	}
	m.started = time.Time{}
	return d
}

// history is one random life of a State beside the model, and beside the truth about when
// runs ended and starts happened.
type history struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	clock  *backoff.SystemClock
	state  backoff.State
	model  model
	run    int64

	// Since the last exit.
	ended   time.Duration // when the run ended, in true time
	wait    time.Duration // as decided
	moved   bool          // a clock was set, the program restarted, or the state damaged
	damaged bool          // the state was, since the model last knew it
	loaded  bool          // some times come from a file, so setting the clock changes what they mean
	set     bool          // the clock was, since the process began

	seen map[string]int
}

func (h *history) chance(n int) bool { return h.random.IntN(n) == 0 }

func pick[T any](h *history, from ...T) T { return from[h.random.IntN(len(from))] }

// duration draws seconds to hours, and sometimes a length that a rule asks for.
func (h *history) duration() time.Duration {
	return time.Duration(h.random.Int64N(int64(pick(h, second, minute, time.Hour)))) + pick(h, 0, 0, 161*second)
}

func newHistory(t *testing.T, seed uint64, seen map[string]int) *history {
	h := &history{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), clock: backoff.NewSystemClock(), seen: seen}
	h.model.policy = h.policy()
	if err := h.model.policy.Validate(); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *history) policy() backoff.ExitPolicy {
	p := backoff.ExitPolicy{
		RestartPolicy: pick(h, backoff.RestartPolicyAlways, backoff.RestartPolicyAlways, backoff.RestartPolicyOnFailure),
		Delay:         &backoff.Policy{Initial: 10 * second, Max: 80 * second, FreeFailures: h.random.IntN(2)},
		Retries:       pick(h, 0, 0, 3, 5),
		GiveUpFor:     pick(h, 0, minute, 36*time.Hour),
	}
	if h.chance(2) {
		p.Limit, p.Window = 1+h.random.IntN(4), pick(h, 0, minute, time.Hour)
	}
	for i := range h.random.IntN(4) {
		r := backoff.Rule{Name: fmt.Sprint("rule-", i), Action: restart, Reasons: []string{pick(h, "A", "B", "C")}}
		switch h.random.IntN(5) {
		case 0:
			r.Action = giveUp
		case 1:
			r.Uncounted = true
		case 2:
			r.Limit, r.Window = 1+h.random.IntN(3), pick(h, 0, minute, time.Hour)
		case 3:
			r.MinFailures = 2
		}
		if r.Action == restart && h.chance(2) {
			r.Delay = &backoff.Policy{Initial: 5 * second, Max: 20 * second, ResetAfter: pick(h, 0, 20*second)}
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

// step does one thing that can happen, and checks everything after it.
func (h *history) step() {
	switch h.random.IntN(12) {
	case 0, 1, 2, 3:
		h.exit()
	case 4, 5:
		h.clock.Elapsed += h.duration()
	case 6:
		h.start()
	case 7:
		h.reload()
	case 8:
		h.clock.Set += pick[time.Duration](h, -1, 1) * h.duration().Truncate(second)
		h.moved, h.set, h.damaged = true, true, h.damaged || h.loaded
		h.seen["clock set"]++
	case 9:
		if h.chance(4) {
			h.damage()
		}
	case 10:
		h.healthy()
	case 11:
		if h.chance(4) {
			h.forgive()
		} else if h.chance(2) {
			h.restartNow()
		}
	}
	h.check()
}

func (h *history) exit() {
	now := h.clock.Now()
	h.run++
	e := backoff.Exit{Run: h.run, Code: pick[int32](h, 0, 1, 1, 1), Reason: pick(h, "", "A", "B", "C")}
	if h.chance(2) {
		e.Finished = now.Add(-pick(h, 0, 0, second, minute))
	}
	if h.chance(2) {
		e.Started = now.Add(-h.duration())
		if !e.Finished.IsZero() {
			e.Started = e.Finished.Add(-h.duration())
		}
	}
	if h.chance(4) {
		e.RetryAfter = h.duration()
	}
	if h.state.Action != "" && h.chance(5) { // an exit reported again changes nothing
		before := mustJSON(h.t, h.state)
		if d := h.state.Exited(&h.model.policy, h.state.Exit, now, 0); d.New {
			h.fatalf("%+v is new again", h.state.Exit)
		}
		if after := mustJSON(h.t, h.state); after != before {
			h.fatalf("an old exit changed\n%s to\n%s", before, after)
		}
		h.seen["reported again"]++
	}
	_, rest := h.state.CanStart(&h.model.policy, now)
	uncounted := func(rule int) bool {
		return rule >= 0 && h.model.policy.Rules[rule].Uncounted && h.model.policy.Rules[rule].Delay == nil
	}
	waited := h.state.NotBefore.IsZero() || !h.state.StartedAt.IsZero()
	if h.model.end = h.state.From; h.model.end.IsZero() {
		h.model.end = h.state.Exit.Finished
	}
	got := h.state.Exited(&h.model.policy, e, now, 0)
	want := h.model.exited(e, now)
	h.ended, h.wait = h.clock.Elapsed, got.Delay
	if !e.Finished.IsZero() && e.Finished.Before(now) {
		h.ended -= now.Sub(e.Finished)
	}
	switch {
	case h.damaged: // the counts are whatever the file said
		h.model.adopt(&h.state, e)
		h.loaded = false
	case uncounted(want.Rule) && got.Action == want.Action:
		h.seen["not counted"]++
		if left := got.NotBefore.Sub(now); !waited && e.RetryAfter == 0 && left != rest {
			h.fatalf("%+v: an uncounted exit waits %v, not the %v that were left", e, left, rest)
		}
		if got.Failures != want.Failures {
			h.fatalf("%+v: %+v, want %+v", e, got, want)
		}
	case got.Action != want.Action || got.Failures != want.Failures || got.Rule != want.Rule || got.RuleName != want.RuleName ||
		got.RuleFailures != want.RuleFailures || got.Delay != want.Delay || !got.NotBefore.Equal(want.NotBefore) || got.New != want.New:
		h.fatalf("%+v under %s at %v:\ngot  %+v\nwant %+v", e, mustJSON(h.t, h.model.policy), now, got, want)
	}
	h.moved, h.damaged = false, false
	h.seen[string(got.Action)]++
}

// adopt takes over a state whose counts nothing in the model explains.
func (m *model) adopt(s *backoff.State, last backoff.Exit) {
	*s = backoff.State{Outcome: s.Outcome}
	s.Failures, s.RuleFailures = 0, 0
	last.Finished = s.Exit.Finished
	m.events = []event{{forgotten: true, exit: &last, rule: -1, action: s.Action}}
}

// start asks and starts. A start is late by at most its wait, or twice that if a clock was
// wrong; early only if a clock was wrong; and never given twice.
func (h *history) start() {
	now := h.clock.Now()
	ok, wait := h.state.CanStart(&h.model.policy, now)
	if !ok && wait != forever && h.chance(2) {
		for slept := 0; !ok; slept++ { // as a program that sleeps
			if slept == 1 && !h.moved || slept == 2 { // a clock behind costs one more delay
				h.fatalf("after %v it may still not start: %s", wait, mustJSON(h.t, h.state))
			}
			h.clock.Elapsed += wait
			now = h.clock.Now()
			ok, wait = h.state.CanStart(&h.model.policy, now)
		}
	}
	if !ok {
		return
	}
	since := h.clock.Elapsed - h.ended
	if h.state.Action != "" && since < h.wait {
		if !h.moved {
			h.fatalf("started %v after the end, not %v: %s", since, h.wait, mustJSON(h.t, h.state))
		}
		h.seen["early, by a clock or file that was wrong"]++
	}
	if !h.state.Started(now) {
		h.fatalf("the start was used up before")
	}
	if h.chance(8) { // the run ends with the program, and starts again
		if h.state.Lost(); !allowed(h) {
			h.fatalf("a lost run does not start again: %s", mustJSON(h.t, h.state))
		}
		h.state.Started(now)
		h.seen["lost"]++
	}
	if h.model.started = h.state.StartedAt; h.state.Started(now) {
		h.fatalf("the start was given twice")
	}
	h.seen["started"]++
}

func allowed(h *history) bool {
	ok, _ := h.state.CanStart(&h.model.policy, h.clock.Now())
	return ok
}

const forever = backoff.Forever

// reload stores the state, and loads it into another process.
func (h *history) reload() {
	text := mustJSON(h.t, h.state)
	h.state = backoff.State{}
	if err := json.Unmarshal([]byte(text), &h.state); err != nil {
		h.t.Fatal(err)
	}
	for i := range h.model.events {
		h.model.events[i].at = h.model.events[i].at.Round(0)
	}
	h.model.started = h.model.started.Round(0)
	h.moved, h.loaded = true, true // from now on the wall clock decides
	h.damaged, h.set = h.damaged || h.set, false
	h.seen["program restarted"]++
}

// damage changes values of the stored state.
func (h *history) damage() {
	var fields map[string]any
	if err := json.Unmarshal([]byte(mustJSON(h.t, h.state)), &fields); err != nil {
		h.t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !h.chance(3) {
			continue
		}
		switch fields[name].(type) {
		case float64:
			fields[name] = pick(h, -5.0, 0, 1, math.MaxInt32)
		case string:
			fields[name] = pick(h, "0001-01-01T00:00:00Z", "1969-07-20T20:17:40Z", "2500-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
			if name == "action" || name == "ruleName" {
				fields[name] = pick(h, "Restart", "Stop", "GiveUp", "Reboot")
			}
		case bool:
			delete(fields, name)
		case []any:
			fields[name] = append(fields[name].([]any), fields[name].([]any)...)
		}
	}
	h.state = backoff.State{}
	if err := json.Unmarshal([]byte(mustJSON(h.t, fields)), &h.state); err != nil {
		h.t.Fatal(err)
	}
	h.moved, h.damaged = true, true
	h.seen["damaged"]++
}

func (h *history) healthy() {
	before, now := mustJSON(h.t, h.state), h.clock.Now()
	changed := h.state.Healthy(&h.model.policy, now)
	if after := mustJSON(h.t, h.state); changed != (after != before) {
		h.fatalf("Healthy returns %t, from\n%s to\n%s", changed, before, after)
	}
	if changed {
		h.seen["healthy"]++
	}
	if !h.model.started.IsZero() {
		if h.model.started.After(now) {
			h.model.started = now
		}
		h.model.events = append(h.model.events, event{ran: now.Sub(h.model.started), at: now, rule: -1})
	}
}

func (h *history) forgive() {
	h.state.Forgive(h.clock.Now())
	h.model.events = append(h.model.events, event{forgotten: true, rule: -1})
	h.wait, h.damaged = 0, h.damaged && h.state.Action == ""
	h.seen["forgiven"]++
}

func (h *history) restartNow() {
	if h.state.RestartNow(h.clock.Now()) {
		h.wait = 0
		h.seen["woken"]++
	}
}

// check looks at what must hold at any time: no wait is longer than its bound, and asking
// changes nothing.
func (h *history) check() {
	before := mustJSON(h.t, h.state)
	now := h.clock.Now()
	ok, wait := h.state.CanStart(&h.model.policy, now)
	if ok != (wait == 0) || wait < 0 || wait != forever && wait > h.model.policy.Bound() {
		h.fatalf("may start: %t, in %v: %s", ok, wait, before)
	}
	if !h.moved && h.state.Action != "" && wait != forever && wait > h.wait {
		h.fatalf("waits %v, more than the %v decided: %s", wait, h.wait, before)
	}
	if after := mustJSON(h.t, h.state); after != before {
		h.fatalf("asking changed\n%s to\n%s", before, after)
	}
}

// fatalf ends the test with the number of the history, which repeats it.
func (h *history) fatalf(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("history %d: "+format, append([]any{h.seed}, args...)...)
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A State decides as the model over random histories in which clocks are set, programs
// restart, and files are damaged. -v prints how often each happened.
func TestStateAgreesWithModel(t *testing.T) { histories(t, 0, 2_000) }

func histories(t *testing.T, first, n uint64) {
	seen := map[string]int{}
	for seed := first; seed < first+n; seed++ {
		h := newHistory(t, seed, seen)
		for range 40 {
			h.step()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[name], name)
	}
	for _, name := range []string{
		"Restart", "Stop", "GiveUp", "started", "lost", "healthy", "woken", "not counted", "reported again", "clock set", "program restarted", "damaged", "forgiven", "early, by a clock or file that was wrong",
	} {
		if seen[name] == 0 {
			t.Errorf("%s: never", name)
		}
	}
}
