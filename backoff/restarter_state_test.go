package backoff_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

func TestRestarterRefusesImpossibleStates(t *testing.T) {
	c := fakeClock()
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Limit: 3, RefuseFuture: true})
	good := backoff.RestarterState{
		Last:     backoff.Exit{Run: 2, Code: 1, Started: t0.Add(-second), Finished: t0},
		Decision: backoff.Decision{Action: backoff.ActionRestart, Delay: 20 * second, NotBefore: t0.Add(20 * second), Failures: 2, Rule: -1},
		Recent:   []time.Time{t0.Add(-minute), t0},
	}
	for want, change := range map[string]func(*backoff.RestarterState){
		"last.started: invalid value 2026-03-01 12:00:01":                                                                func(s *backoff.RestarterState) { s.Last.Started = t0.Add(second) },
		"last.finished: invalid value 2026-03-01 12:00:01":                                                               func(s *backoff.RestarterState) { s.Last.Finished = t0.Add(second) },
		`decision.action: unsupported value "": must be Stop`:                                                            func(s *backoff.RestarterState) { s.Decision.Action = "" },
		`decision.action: unsupported value "Reboot": must be`:                                                           func(s *backoff.RestarterState) { s.Decision.Action = "Reboot" },
		"decision.delay: invalid value -1ns: must be >= 0":                                                               func(s *backoff.RestarterState) { s.Decision.Delay = -1 },
		"decision.notBefore: invalid value 2026-03-01 12:00:20.000000001 +0000 UTC: must be at most 2026-03-01 12:00:20": func(s *backoff.RestarterState) { s.Decision.NotBefore = t0.Add(20*second + 1) },
		"decision.failures: invalid value -1: must be >= 0":                                                              func(s *backoff.RestarterState) { s.Decision.Failures = -1 },
		"decision.rule: invalid value -2: must be >= -1":                                                                 func(s *backoff.RestarterState) { s.Decision.Rule = -2 },
		"recent[1]: invalid value 2026-03-01 12:00:00.000000001 +0000 UTC: must be at most":                              func(s *backoff.RestarterState) { s.Recent[1] = t0.Add(1) },

		"decision.failures: invalid value 0: must be >= 1 after an exit that counts": func(s *backoff.RestarterState) { s.Decision.Failures = 0 },
		"decision.failures: invalid value 0: must be >= 1 after": func(s *backoff.RestarterState) {
			*s = backoff.RestarterState{Last: s.Last, Decision: backoff.Decision{Action: backoff.ActionStop, Rule: -1}}
		},
		"decision.delay: invalid value 20s: must be 0 without a restart":                                  func(s *backoff.RestarterState) { s.Decision.Action = backoff.ActionGiveUp },
		"decision.notBefore: invalid value 2026-03-01 12:00:20 +0000 UTC: must be zero without a restart": func(s *backoff.RestarterState) { s.Decision.Action = backoff.ActionStop },
		"decision.notBefore: invalid value 0001-01-01 00:00:00 +0000 UTC: must be given with a delay":     func(s *backoff.RestarterState) { s.Decision.NotBefore = time.Time{} },
		"decision.rule: invalid value 0: must be -1 with action Stop":                                     func(s *backoff.RestarterState) { s.Decision.Action, s.Decision.Rule = backoff.ActionStop, 0 },
		"decision.rule: invalid value -1: must be >= 0 with action RestartAllContainers":                  func(s *backoff.RestarterState) { s.Decision.Action = backoff.ActionRestartAll },
	} {
		s := good
		s.Recent = slices.Clone(good.Recent)
		change(&s)
		err := r.Restore("some/key", s)
		if err == nil || !strings.HasPrefix(err.Error(), `backoff: Restarter.Restore("some/key"): `) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if r.Len() != 0 {
		t.Error("a refused state was kept")
	}
	if err := r.Restore("a", good); err != nil {
		t.Fatal(err)
	}
	if d := r.Exited("a", backoff.ExitPolicy{}, good.Last); !cmp.Equal(d, good.Decision) || r.Remaining("a") != 20*second {
		t.Errorf("restored decision %+v, remaining %v", d, r.Remaining("a"))
	}
}

// Restore accepts the extreme states that a Restarter returns.
func TestRestoreAcceptsEveryReturnedState(t *testing.T) {
	for _, s := range []backoff.RestarterState{
		{Decision: backoff.Decision{Action: backoff.ActionStop, Rule: -1}}, // the first success, under OnFailure
		{Last: backoff.Exit{Code: 1}, Decision: backoff.Decision{Action: backoff.ActionStop, Failures: 1, Rule: -1}},
		{Decision: backoff.Decision{Action: backoff.ActionGiveUp, Failures: 1, Rule: -1}},
		{Decision: backoff.Decision{Action: backoff.ActionGiveUp, Failures: 1}}, // a rule's restart
		{Decision: backoff.Decision{Action: backoff.ActionRestartAll, Failures: 1, NotBefore: t0}},
		{Decision: backoff.Decision{Action: backoff.ActionRestart, Failures: 1, Rule: -1}}, // at once, under a clock at the zero time
		{Decision: backoff.Decision{Action: backoff.ActionRestart, Failures: 1, Rule: 99, Delay: 1, NotBefore: t0.Add(1)}},
	} {
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
		if err := r.Restore("a", s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
		s.Last.Finished = t0 // it did not say: it counts as reported now
		if got, _ := r.State("a"); !cmp.Equal(got, s) {
			t.Errorf("restored as %+v, want %+v", got, s)
		}
	}
}

// Under another policy, a restored wait is cut to its Max. If Recent has more than
// Limit times, the newest are kept.
func TestRestoredWaitIsCutToPresentMax(t *testing.T) {
	c := fakeClock()
	from := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Limit: 10})
	for run := range int64(10) {
		from.Exited("a", backoff.ExitPolicy{}, crash(run+1, c.Now(), 0))
		step(c, second)
	}
	s, _ := from.State("a")
	to := newRestarter(t, backoff.ReducedCrashLoop(), backoff.RestarterOptions[string]{Clock: c, Limit: 3, Window: time.Hour})
	if err := to.Restore("a", s); err != nil {
		t.Fatal(err)
	}
	got, _ := to.State("a")
	if got.Decision.Delay != minute || to.Remaining("a") != 59*second || !got.Decision.NotBefore.Equal(c.Now().Add(59*second)) {
		t.Errorf("%+v, remaining %v", got.Decision, to.Remaining("a"))
	}
	if !slices.Equal(got.Recent, s.Recent[7:]) {
		t.Errorf("recent %v of %v", got.Recent, s.Recent)
	}
	if d := to.Exited("a", backoff.ExitPolicy{}, crash(11, c.Now(), 0)); d.Action != backoff.ActionGiveUp {
		t.Errorf("over the limit: %+v", d)
	}
}

// If Restore would reject the state of a key, no key is restored, and the error lists
// every field of every such key.
func TestUnmarshalRestoresAllKeysOrNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
		for i := range rapid.IntRange(0, 5).Draw(t, "keys") {
			from.Exited(fmt.Sprint("key", i), backoff.ExitPolicy{}, crash(1, t0, 0))
		}
		states := maps.Collect(from.All())
		var want []string
		for _, key := range slices.Sorted(maps.Keys(states)) {
			s := states[key]
			if rapid.Bool().Draw(t, "bad "+key) {
				s.Decision.Delay, s.Decision.Rule = -1, -2
				want = append(want, `["`+key+`"].decision.delay`, `["`+key+`"].decision.rule`)
			}
			states[key] = s
		}
		text, err := json.Marshal(states)
		if err != nil {
			t.Fatal(err)
		}
		to := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
		other := to.Exited("other", backoff.ExitPolicy{}, crash(7, t0, 0))
		err = json.Unmarshal(text, to)
		if got := fieldsOf(err); !slices.Equal(got, want) || (err == nil) != (len(want) == 0) {
			t.Fatalf("refused %v: %v, want %v", got, err, want)
		}
		if err != nil {
			states = map[string]backoff.RestarterState{}
		}
		states["other"], _ = to.State("other")
		if diff := cmp.Diff(states, maps.Collect(to.All())); diff != "" || states["other"].Decision != other {
			t.Fatal(diff)
		}
	})
}

// Pending restarts keep their order when they take new turns.
func TestRestoredRestartsKeepTheirOrder(t *testing.T) {
	options := backoff.RestarterOptions[string]{Clock: fakeClock(), Rate: 1}
	from, to := newRestarter(t, backoff.ReducedCrashLoop(), options), newRestarter(t, backoff.ReducedCrashLoop(), options)
	var want, got []time.Duration
	for i := range 20 {
		from.Exited(fmt.Sprint("key", i), backoff.ExitPolicy{}, crash(1, t0, 0))
		want = append(want, from.Remaining(fmt.Sprint("key", i)))
	}
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		got = append(got, to.Remaining(fmt.Sprint("key", i)))
	}
	if !slices.Equal(got, want) {
		t.Errorf("waits %v, want %v", got, want)
	}
}

// node is a key that is text by its methods.
type node struct{ zone, name string }

func (n node) MarshalText() ([]byte, error) { return []byte(n.zone + "/" + n.name), nil }

func (n *node) UnmarshalText(text []byte) error {
	n.zone, n.name, _ = strings.Cut(string(text), "/")
	return nil
}

// throughJSON writes a Restarter with one key and reads it into another.
func throughJSON[K comparable](key K) (backoff.RestarterState, error) {
	from, _ := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[K]{Clock: fakeClock()})
	to, _ := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[K]{Clock: fakeClock()})
	from.Exited(key, backoff.ExitPolicy{}, crash(1, t0, 0))
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	s, _ := to.State(key)
	return s, err
}

// Text keys round-trip through JSON. Other keys are rejected in both directions.
func TestJSONKeysMustBeText(t *testing.T) {
	type name string
	byString, err1 := throughJSON(name("a\n"))
	byNumber, err2 := throughJSON(uint8(255))
	byMethod, err3 := throughJSON(node{"z", "n"})
	if err := errors.Join(err1, err2, err3); err != nil || byString.Last.Run != 1 || byNumber.Last.Run != 1 || byMethod.Last.Run != 1 {
		t.Errorf("%v, %v, %v: %v", byString, byNumber, byMethod, err)
	}
	_, err1 = throughJSON(struct{ n int }{})
	_, err2 = throughJSON[any]("a")
	_, err3 = throughJSON(1.5)
	_, err4 := throughJSON(written(1))
	_, err5 := throughJSON(read("a"))
	const oneOnly = " have only one of MarshalText and UnmarshalText"
	for want, err := range map[string]error{"struct { n int } are not text": err1, "interface {} are not text": err2, "float64 are not text": err3,
		"backoff_test.written" + oneOnly: err4, "backoff_test.read" + oneOnly: err5} {
		if err == nil || !strings.Contains(err.Error(), "backoff: Restarter.MarshalJSON: keys of type "+want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	of, _ := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[float64]{})
	if err := json.Unmarshal([]byte("{}"), of); err == nil || err.Error() != "backoff: Restarter.UnmarshalJSON: keys of type float64 are not text" {
		t.Error(err)
	}
	halves, _ := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[written]{})
	if err := json.Unmarshal([]byte("{}"), halves); err == nil || err.Error() != "backoff: Restarter.UnmarshalJSON: keys of type backoff_test.written"+oneOnly {
		t.Error(err)
	}
}

// written and read are keys with only one of the two methods.
type (
	written int
	read    string
)

func (k written) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", int(k)), nil }

func (k *read) UnmarshalText(text []byte) error { *k = read(text) + "!"; return nil }

// label is a string, and level an integer, that is another text by its methods.
type (
	label string
	level int
)

func (l label) MarshalText() ([]byte, error) { return []byte("<" + l + ">"), nil }

func (l *label) UnmarshalText(text []byte) error {
	*l = label(strings.TrimSuffix(strings.TrimPrefix(string(text), "<"), ">"))
	return nil
}

func (l level) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "level %d", int(l)), nil }

func (l *level) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "level %d", (*int)(l))
	return err
}

// number prints as something else than the number.
type number int8

func (number) String() string { return "a number" }

// Every key that JSON can represent is read back as the same key, also into a map.
// Others are listed in the error.
func TestJSONKeysRoundTrip(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	keysThroughJSON(t, text)
	keysThroughJSON(t, rapid.Map(text, func(s string) label { return label(s) }))
	keysThroughJSON(t, rapid.Map(text, func(s string) node { return node{"z", s} }))
	keysThroughJSON(t, rapid.Int64())
	keysThroughJSON(t, rapid.Uintptr())
	keysThroughJSON(t, rapid.Map(rapid.Int8(), func(n int8) number { return number(n) }))
	keysThroughJSON(t, rapid.Map(rapid.Int(), func(n int) level { return level(n) }))
}

func keysThroughJSON[K comparable](t *testing.T, key *rapid.Generator[K]) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		from, _ := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[K]{Clock: fakeClock()})
		to, _ := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[K]{Clock: fakeClock()})
		var want []string
		for i, key := range rapid.SliceOfNDistinct(key, 0, 6, rapid.ID).Draw(t, "keys") {
			from.Exited(key, backoff.ExitPolicy{}, crash(int64(i+1), t0, 0))
			if !utf8.ValidString(fmt.Sprintf("%s", any(key))) {
				want = append(want, "["+backoff.KeyText(key)+"]")
			}
		}
		slices.Sort(want)
		text, err := json.Marshal(from)
		if got := fieldsOf(err); !slices.Equal(got, want) || (err == nil) != (len(want) == 0) {
			t.Fatalf("refused %v: %v, want %v", got, err, want)
		}
		if err != nil {
			return
		}
		var states map[K]backoff.RestarterState
		if err := errors.Join(json.Unmarshal(text, to), json.Unmarshal(text, &states)); err != nil {
			t.Fatal(err)
		}
		same := func(a, b backoff.RestarterState) bool { return cmp.Equal(a, b) }
		if all := maps.Collect(from.All()); !maps.EqualFunc(all, maps.Collect(to.All()), same) || !maps.EqualFunc(all, states, same) {
			t.Fatalf("%s: read %v, want %v", text, maps.Collect(to.All()), all)
		}
	})
}

// An exit ahead of the clock is stored with its own time if JSON can represent it.
func TestStateKeepsTimesUpToTheYear9999(t *testing.T) {
	for year, kept := range map[int]bool{9998: true, 9999: true, 10000: false} {
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
		finished := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Code: 1, Finished: finished})
		if s, _ := r.State("a"); s.Finished.Equal(finished) != kept || s.Finished.IsZero() == kept {
			t.Errorf("%v is stored as %v", finished, s.Finished)
		}
	}
}

// The error lists all times outside the years 0 to 9999.
func TestMarshalReportsTimesJSONCannotHold(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Date(9999, 12, 31, 23, 59, 55, 0, time.UTC))
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: c, Limit: 9})
	r.Exited("b", backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1, Started: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)})
	step(c, minute)
	r.Exited("a", backoff.ExitPolicy{}, backoff.Exit{Run: 1, Code: 1})
	r.Exited("c", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever}, backoff.Exit{Run: 1, Finished: t0})
	_, err := r.MarshalJSON()
	want := []string{`["a"].decision.notBefore`, `["a"].last.finished`, `["a"].recent[0]`, `["b"].decision.notBefore`, `["b"].last.started`}
	if got := fieldsOf(err); !slices.Equal(got, want) || !strings.Contains(err.Error(), "year outside of range [0,9999]") {
		t.Errorf("%v, want %v", err, want)
	}
}

// With any zone of an exit's times and any bytes in its reason, the state round-trips
// through JSON and identifies the same exit.
func TestStateRoundTripsThroughJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := func(name string) *time.Location {
			const offset = 100 * 60 * 60
			return time.FixedZone("", rapid.OneOf(rapid.IntRange(-offset, offset), rapid.SampledFrom([]int{0, 60, -86340, 86340, 86399, 86400, -86400, 1172})).Draw(t, name))
		}
		reason := string(rapid.SliceOfN(rapid.SampledFrom([]byte("aé\xff\x80\xc3")), 0, 6).Draw(t, "reason"))
		options := backoff.RestarterOptions[string]{Clock: clocktesting.NewFakePassiveClock(t0.In(zone("clock's zone"))), History: 1, Limit: 9, Window: time.Hour}
		from, _ := backoff.NewRestarter(backoff.CrashLoop(), options)
		var policy backoff.ExitPolicy
		for code := range int32(2) {
			name := string(rapid.SliceOfN(rapid.SampledFrom([]byte("a\xff\xfe")), 0, 2).Draw(t, "name"))
			policy.Rules = append(policy.Rules, backoff.Rule{Name: name, Action: backoff.ActionRestart, Limit: 3, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{1 + code}}})
		}
		for run := range 2 {
			at := t0.Add(time.Duration(run-2) * second)
			from.Exited("a", policy, backoff.Exit{Code: int32(1 + run), Reason: reason, Started: at.In(zone("zone of started")), Finished: at.In(zone("zone of finished"))})
		}
		text, err := json.Marshal(from)
		if err != nil {
			t.Fatal(err)
		}
		to, _ := backoff.NewRestarter(backoff.CrashLoop(), options)
		if err := json.Unmarshal(text, to); err != nil {
			t.Fatal(err)
		}
		want, _ := from.State("a")
		got, _ := to.State("a")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: -want +got\n%s", text, diff)
		}
		if last := t0.Add(-second); !got.Last.Finished.Equal(last) || !got.Last.Started.Equal(last) || utf8.ValidString(reason) && got.Last.Reason != reason {
			t.Fatalf("%+v, want %q at %v", got.Last, reason, last)
		}
		if d := to.Exited("a", policy, backoff.Exit{Code: 2, Finished: t0.Add(-second)}); d.Failures != 2 {
			t.Fatalf("the same exit is failure %d", d.Failures)
		}
	})
}

// If PolicyFor panics, nothing is restored.
func TestPanicOfPolicyForRestoresNothing(t *testing.T) {
	from := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
	for _, key := range []string{"a", "b", "c"} {
		from.Exited(key, backoff.ExitPolicy{}, crash(1, t0, 0))
	}
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	to := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock(), PolicyFor: func(key string, _ backoff.Exit) backoff.Policy {
		if key == "c" {
			panic("no policy for c")
		}
		return backoff.Policy{}
	}})
	defer func() {
		if r := recover(); r != "no policy for c" || to.Len() != 0 {
			t.Errorf("panic %v, restored %v", r, slices.Sorted(maps.Keys(maps.Collect(to.All()))))
		}
	}()
	t.Error(to.UnmarshalJSON(text))
}

// A clock set back since a state was stored keeps no program from starting: later times
// are lowered and counted, and no wait gets longer. With RefuseFuture they are mistakes.
func TestRestoreLowersTimesAfterClockWasSetBack(t *testing.T) {
	for _, back := range []time.Duration{1, time.Hour, 24 * time.Hour, 100 * year} {
		c := fakeClock()
		o := backoff.RestarterOptions[string]{Clock: c, Limit: 3, Window: time.Hour, History: 2}
		r := newRestarter(t, backoff.CrashLoop(), o)
		limited := backoff.ExitPolicy{Rules: backoff.Rules{{Name: "one", Action: backoff.ActionRestart, Reasons: []string{"Error"}, Limit: 2, Window: time.Hour}}}
		first := crash(1, t0, second)
		r.Exited("a", limited, first)
		second := crash(2, t0, 2*second)
		second.Reason = "Error"
		d := r.Exited("a", limited, second)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		step(c, -back)
		to := newRestarter(t, backoff.CrashLoop(), o)
		if err := json.Unmarshal(text, to); err != nil || to.Lowered() == 0 {
			t.Fatalf("%v back: %v, %d times lowered", back, err, to.Lowered())
		}
		if left := to.Remaining("a"); left != d.Delay {
			t.Errorf("%v back: %v left", back, left)
		}
		s, _ := to.State("a")
		if s.Decision.Failures != 2 || len(s.Recent) != 1 || len(s.Rules) != 1 || len(s.Rules[0].Recent) != 1 || len(s.History) != 1 {
			t.Errorf("%v back: restored %+v", back, s)
		}
		if again := to.Exited("a", limited, second); again.Failures != 2 {
			t.Errorf("%v back: the same exit counts again: %+v", back, again)
		}

		o.RefuseFuture = true
		strict := newRestarter(t, backoff.CrashLoop(), o)
		want := []string{`["a"].last.finished`, `["a"].decision.notBefore`, `["a"].recent[0]`, `["a"].rules[0].recent[0]`, `["a"].history[0].exit.finished`, `["a"].history[0].decision.notBefore`}
		if got := fieldsOf(strict.UnmarshalJSON(text)); !containsAll(got, want) || strict.Len() != 0 || strict.Lowered() != 0 {
			t.Errorf("%v back: refused %v, want %v", back, got, want)
		}
		// Later, nothing is ahead.
		step(c, back)
		if err := json.Unmarshal(text, strict); err != nil || strict.Lowered() != 0 {
			t.Errorf("%v, %d times lowered", err, strict.Lowered())
		}
	}
}

func containsAll(got, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(got, w) })
}

// UnmarshalJSON rejects other JSON and a zero Restarter. A null is a no-op.
func TestUnmarshalRejectsOtherJSON(t *testing.T) {
	r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: fakeClock()})
	r.Exited("a", backoff.ExitPolicy{}, crash(1, t0, 0))
	for text, want := range map[string]string{"null": "", "{}": "", "[]": "cannot unmarshal array", `{"a": 1}`: "cannot unmarshal number"} {
		err := r.UnmarshalJSON([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || r.Len() != 1 {
			t.Errorf("%s: %v", text, err)
		}
	}
	var in struct{ R *backoff.Restarter[string] }
	if err := json.Unmarshal([]byte(`{"R": {}}`), &in); err == nil || !strings.Contains(err.Error(), "was not made by NewRestarter") {
		t.Error(err)
	}
	for _, none := range []*backoff.Restarter[string]{nil, {}} {
		_, writeErr := none.MarshalJSON()
		for _, err := range []error{writeErr, none.UnmarshalJSON([]byte("{}"))} {
			if err == nil || !strings.Contains(err.Error(), "was not made by NewRestarter") {
				t.Error(err)
			}
		}
	}
}

// setBack is a clock that is set back by a day before one of its readings.
type setBack struct {
	*clocktesting.FakePassiveClock
	readings int // until then
}

func (c *setBack) Now() time.Time {
	if c.readings--; c.readings == 0 {
		step(c.FakePassiveClock, -24*time.Hour)
	}
	return c.FakePassiveClock.Now()
}

// Setting the clock back during a restore lengthens no wait.
func TestClockSetBackDuringRestoreLengthensNoWait(t *testing.T) {
	for readings := 2; readings < 5; readings++ { // those of NewRestarter, of the check, of Restore, of Remaining
		r := newRestarter(t, backoff.CrashLoop(), backoff.RestarterOptions[string]{Clock: &setBack{fakeClock(), readings}})
		err := r.Restore("a", backoff.RestarterState{Last: backoff.Exit{Run: 1, Code: 1},
			Decision: backoff.Decision{Action: backoff.ActionRestart, Delay: 10 * second, NotBefore: t0.Add(10 * second), Failures: 1, Rule: -1}})
		if left := r.Remaining("a"); err == nil && left != 10*second || err != nil && (readings > 2 || left != 0) {
			t.Errorf("set back before reading %d: %v, %v left", readings, err, left)
		}
	}
}
