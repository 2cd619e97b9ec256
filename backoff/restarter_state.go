package backoff

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/internal/quote"
)

// RestarterState is everything a Restarter knows about one key, for display and to
// be stored: Restore takes it up again, so that idempotence, backoff and Limit
// survive the end of the process. A caller that numbers its runs then goes on with
// Last.Run+1: the same Run is taken for Last again, and a lower one for an older
// exit unless it finished later. What State returns goes through JSON unchanged, unless
// a time is outside of the years 0 to 9999: bytes of a Reason or of a rule's name that
// are not UTF-8 are U+FFFD, so that such a rule counts anew, and times whose zone has an
// offset of seconds, or of a day or more, are in UTC. Restore does not accept the zero
// value. A RestarterState is safe for concurrent use by multiple goroutines while nobody
// writes to it.
type RestarterState struct {
	// Last is the exit decided about. Its Finished is never zero nor later than the clock:
	// it is the time of the report then.
	Last Exit `json:"last"`
	// Finished is that of Last as it was reported, by which the same exit is recognized, if
	// it is later than the clock; unless it is after the year 9999, which JSON cannot hold.
	Finished time.Time   `json:"finished,omitzero"`
	Decision Decision    `json:"decision"`          // about it
	Recent   []time.Time `json:"recent,omitempty"`  // when restarts that Limit counts were decided, oldest first
	Rules    []RuleState `json:"rules,omitempty"`   // counts of the rules that have their own
	History  []Outcome   `json:"history,omitempty"` // exits before Last, oldest first; at most the option History
}

// stateFields are the fields of a RestarterState, without its methods.
type stateFields RestarterState

// MarshalJSON returns the state as its fields say, with Decision.Failures beside them,
// too, where v0.1.0 reads it.
func (s RestarterState) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Failures int `json:"failures"`
		stateFields
	}{s.Decision.Failures, stateFields(s)})
}

// UnmarshalJSON reads what MarshalJSON returns, also for a Decoder that disallows unknown
// fields. It ignores unknown ones.
func (s *RestarterState) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, (*stateFields)(s))
}

// State returns the state of key, and whether there is one.
func (r *Restarter[K]) State(key K) (RestarterState, bool) {
	shard, hash, clockTime, now := r.lock(key)
	defer shard.mu.Unlock()
	h, ok := lookup(shard, hash, key)
	if !ok {
		return RestarterState{}, false
	}
	clockTime = storable(clockTime)
	last := h.last
	last.Finished = last.Finished.Add(-h.ahead)
	state := RestarterState{Last: last.storedAt(clockTime), Decision: h.decision, Recent: timesOf(h.recent, clockTime, now)}
	if at := storable(h.last.Finished); at.After(state.Last.Finished) && at.Year() <= 9999 {
		state.Finished = at
	}
	d := &state.Decision
	d.RuleName = storableText(d.RuleName)
	if d.NotBefore = storable(d.NotBefore); d.NotBefore.After(clockTime.Add(d.Delay)) {
		d.NotBefore = clockTime.Add(h.remaining(now))
	}
	for _, n := range h.counts {
		name := storableText(n.name)
		if len(state.Rules) == maxRules || name != "" && slices.ContainsFunc(state.Rules, func(o RuleState) bool { return o.Name == name }) {
			continue // an invalid policy has more rules, or one name twice; Restore takes neither
		}
		state.Rules = append(state.Rules, RuleState{n.rule, name, n.failures, n.used, timesOf(n.recent, clockTime, now), n.keep, n.reset})
	}
	state.History = h.earlier.list()
	for i := range state.History {
		o := &state.History[i]
		o.Exit = o.Exit.storedAt(clockTime)
		o.Decision.RuleName = storableText(o.Decision.RuleName)
		if !o.Decision.NotBefore.IsZero() {
			o.Decision.NotBefore = earlier(storable(o.Decision.NotBefore), clockTime.Add(o.Decision.Delay))
		}
	}
	return state, true
}

// storedAt returns e as JSON can hold it. Times later than the clock, which was set
// back, are those of the clock.
func (e Exit) storedAt(clockTime time.Time) Exit {
	e.Reason = storableText(e.Reason)
	e.Started = earlier(storable(e.Started), clockTime)
	e.Finished = earlier(storable(e.Finished), clockTime)
	return e
}

// storableText returns s as it comes back from JSON.
func storableText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// storable returns t without its monotonic reading, in UTC if JSON cannot hold the
// offset of its zone: seconds of an offset are not written, and would move the instant.
func storable(t time.Time) time.Time {
	const day = 24 * 60 * 60
	if _, offset := t.Zone(); offset%60 != 0 || offset <= -day || offset >= day {
		t = t.UTC()
	}
	return t.Round(0)
}

// timesOf returns the wall clock's times of steady times.
func timesOf(recent []time.Duration, clockTime time.Time, now time.Duration) (times []time.Time) {
	for _, at := range recent {
		times = append(times, clockTime.Add(subtract(at, now)))
	}
	return times
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// All yields every key and its state, in no order. It is weakly consistent: a key
// that changes meanwhile is yielded at most once, in a state that it had. The
// Restarter may be used inside the loop.
func (r *Restarter[K]) All() iter.Seq2[K, RestarterState] {
	return func(yield func(K, RestarterState) bool) {
		for key := range r.keys.keys() {
			if s, ok := r.State(key); ok && !yield(key, s) {
				return
			}
		}
	}
}

// Restore sets the state of key to s, usually one that an earlier Restarter
// returned. A Delay above the Max of the present policy is cut to it, unless it is from
// the curve of a rule. A restart
// that is still to come takes a new turn under Rate, in a bucket that knows of no
// earlier restart. If s is nothing that a Restarter returns, or is later than the
// clock, nothing changes, and the error wraps FieldErrors with every mistake; paths
// are those of the JSON. If the clock was set back since, first set what is later
// to the clock's time, and NotBefore to at most a Delay after it.
func (r *Restarter[K]) Restore(key K, s RestarterState) error {
	clockTime, _ := r.clock.now()
	if err := s.validate(clockTime).Err(); err != nil {
		return fmt.Errorf("backoff: Restarter.Restore(%s): %w", keyText(key), err)
	}
	policy, _ := r.policyFor(key, s.Last)
	r.restore(key, s, policy)
	return nil
}

// restore sets the state of key to s, which was valid a moment ago.
func (r *Restarter[K]) restore(key K, s RestarterState, policy Policy) {
	shard, hash, clockTime, now := r.lock(key)
	defer shard.mu.Unlock()
	old, known := lookup(shard, hash, key)
	if known {
		r.unbook(old, now)
	}
	h := &history{decision: s.Decision, due: now, reported: now}
	last := s.Last.reportedAt(clockTime)
	ended := last.Finished
	if !s.Finished.IsZero() {
		last.Finished = s.Finished
	}
	h.setLast(last, ended)
	for _, rule := range s.Rules {
		h.counts = append(h.counts, ruleCount{rule.Rule, rule.Name, rule.Failures, rule.Used, steadyTimes(rule.Recent, maxLimit, clockTime, now), rule.Keep, rule.Reset})
	}
	h.keep = r.keepFor(policy.ResetThreshold(), h.counts)
	if h.decision.Action.restarts() {
		r.resume(h, policy, clockTime, now)
	}
	if r.options.Limit > 0 {
		h.recent = steadyTimes(s.Recent, r.options.Limit, clockTime, now)
	}
	if n := min(len(s.History), r.options.History); n > 0 {
		h.earlier = &outcomes{ring: slices.Clone(s.History[len(s.History)-n:])}
	}
	if known {
		*old = *h
	} else {
		shard.insert(hash, key, h)
	}
}

// steadyTimes returns the steady times of the newest n times, oldest first.
func steadyTimes(times []time.Time, n int, clockTime time.Time, now time.Duration) (recent []time.Duration) {
	times = slices.SortedFunc(slices.Values(times), time.Time.Compare)
	for _, at := range times[max(0, len(times)-n):] {
		recent = append(recent, add(now, at.Sub(clockTime)))
	}
	return recent
}

// resume takes up the wait of a restored decision.
func (r *Restarter[K]) resume(h *history, policy Policy, clockTime time.Time, now time.Duration) {
	d := &h.decision
	pending := d.NotBefore.After(clockTime)
	if over := d.Delay - policy.Max; over > 0 && d.RuleFailures == 0 {
		d.Delay -= over
		d.NotBefore = d.NotBefore.Add(-over)
	}
	h.due = add(now, min(d.NotBefore.Sub(clockTime), d.Delay)) // the clock may have been set back since
	if r.bucket == nil || !pending {
		return
	}
	free := max(h.due, now)
	h.due, h.booked = r.bucket.book(now, free), true
	if later := h.due - free; later > 0 {
		d.Delay = add(d.Delay, later)
	}
	d.NotBefore = clockTime.Round(0).Add(h.due - now)
}

// validate returns every field that is out of bounds at the clock's now, and those
// that do not fit each other.
func (s RestarterState) validate(now time.Time) (errs FieldErrors) {
	v := stateChecker{&errs, now}
	v.times("last.", s.Last)
	v.errs.check(s.Finished.IsZero() || s.Finished.After(s.Last.Finished), "finished", s.Finished, fmt.Sprintf("later than last.finished, %v", s.Last.Finished))
	v.decision("decision.", s.Decision, s.Last)
	for i, at := range s.Recent {
		v.notAfter(at, fmt.Sprintf("recent[%d]", i), now)
	}
	for i, rule := range s.Rules {
		v.rule(fmt.Sprintf("rules[%d].", i), rule)
		for _, other := range s.Rules[:min(i, maxRules)] {
			if rule.Name == other.Name && (rule.Name != "" || rule.Rule == other.Rule) {
				errs.Add(ErrorTypeDuplicate, fmt.Sprintf("rules[%d]", i), nil, "must be another rule")
			}
		}
	}
	for i, o := range s.History {
		path := fmt.Sprintf("history[%d].", i)
		v.times(path+"exit.", o.Exit)
		v.decision(path+"decision.", o.Decision, o.Exit)
	}
	errs.check(len(s.Rules) <= maxRules, "rules", len(s.Rules), fmt.Sprintf("at most %d", maxRules))
	errs.check(len(s.History) <= maxHistory, "history", len(s.History), fmt.Sprintf("at most %d", maxHistory))
	return errs
}

// stateChecker looks for what no Restarter returns.
type stateChecker struct {
	errs *FieldErrors
	now  time.Time // of the clock
}

func (v *stateChecker) notAfter(at time.Time, field string, limit time.Time) {
	v.errs.check(!at.After(limit), field, at, fmt.Sprintf("at most %v", limit))
}

func (v *stateChecker) times(path string, e Exit) {
	v.notAfter(e.Started, path+"started", v.now)
	v.notAfter(e.Finished, path+"finished", v.now)
}

func (v *stateChecker) decision(path string, d Decision, e Exit) {
	errs, restarts := v.errs, d.Action.restarts()
	if d.Action != Stop && !d.Action.decides() {
		errs.Add(ErrorTypeNotSupported, path+"action", string(d.Action), "must be Stop, Restart, RestartAllContainers or GiveUp")
	}
	errs.check(d.Delay >= 0, path+"delay", d.Delay, ">= 0")
	v.notAfter(d.NotBefore, path+"notBefore", v.now.Add(max(d.Delay, 0)))
	errs.check(d.Failures >= 0, path+"failures", d.Failures, ">= 0")
	errs.check(d.Rule >= -1, path+"rule", d.Rule, ">= -1")
	errs.check(d.RuleFailures >= 0, path+"ruleFailures", d.RuleFailures, ">= 0")
	// What does not fit, although each field is in bounds.
	errs.check(d.Failures != 0 || d.Action == Stop && e.Code == 0, path+"failures", d.Failures, ">= 1 after an exit that counts")
	errs.check(restarts || d.Delay <= 0, path+"delay", d.Delay, "0 without a restart")
	errs.check(restarts || d.NotBefore.IsZero(), path+"notBefore", d.NotBefore, "zero without a restart")
	errs.check(d.Delay <= 0 || !d.NotBefore.IsZero(), path+"notBefore", d.NotBefore, "given with a delay")
	errs.check(d.Action != Stop || d.Rule < 0, path+"rule", d.Rule, "-1 if nothing is restarted")
	errs.check(d.Action != RestartAll || d.Rule != -1, path+"rule", d.Rule, ">= 0, for only a rule restarts all containers")
	errs.check(d.RuleName == "" || d.Rule != -1, path+"ruleName", d.RuleName, "empty without a rule")
	errs.check(d.RuleFailures <= 0 || d.Rule != -1, path+"ruleFailures", d.RuleFailures, "0 without a rule")
}

func (v *stateChecker) rule(path string, s RuleState) {
	v.errs.check(s.Rule >= 0, path+"rule", s.Rule, ">= 0")
	v.errs.check(s.Failures >= 0, path+"failures", s.Failures, ">= 0")
	v.errs.check(s.Used >= 0, path+"used", s.Used, ">= 0")
	v.errs.check(s.Keep >= 0, path+"keep", s.Keep, ">= 0")
	v.errs.check(s.Reset >= 0, path+"reset", s.Reset, ">= 0")
	for i, at := range s.Recent {
		v.notAfter(at, fmt.Sprintf("%srecent[%d]", path, i), v.now)
	}
}

// MarshalJSON returns the state of all keys as a JSON object, with the key as name
// and its RestarterState as value. It is weakly consistent, as All is. K must have
// both MarshalText and UnmarshalText, or neither and be a string or an integer;
// otherwise the error says so. Where JSON cannot hold a key or a time, the error
// wraps FieldErrors with every such one, as in ["key"].last.finished. The Restarter
// must come from NewRestarter.
func (r *Restarter[K]) MarshalJSON() ([]byte, error) {
	text, err := r.marshalAll()
	if err != nil {
		return nil, fmt.Errorf("backoff: Restarter.MarshalJSON: %w", err)
	}
	return text, nil
}

func (r *Restarter[K]) marshalAll() ([]byte, error) {
	if err := r.checkJSON(); err != nil {
		return nil, err
	}
	var errs FieldErrors
	states := make(map[string]RestarterState)
	for key, s := range r.All() {
		path := "[" + keyText(key) + "]"
		name, err := nameOf(key)
		if err != nil {
			errs.Add(ErrorTypeInvalid, path, nil, err.Error())
			continue
		}
		check := func(field string, at time.Time) {
			if _, err := at.MarshalText(); err != nil {
				errs.Add(ErrorTypeInvalid, path+field, at, err.Error())
			}
		}
		outcome := func(exit, decision string, o Outcome) {
			check(exit+".started", o.Exit.Started)
			check(exit+".finished", o.Exit.Finished)
			check(decision+".notBefore", o.Decision.NotBefore)
		}
		outcome(".last", ".decision", Outcome{s.Last, s.Decision})
		check(".finished", s.Finished)
		for i, at := range s.Recent {
			check(fmt.Sprintf(".recent[%d]", i), at)
		}
		for i, rule := range s.Rules {
			for k, at := range rule.Recent {
				check(fmt.Sprintf(".rules[%d].recent[%d]", i, k), at)
			}
		}
		for i, o := range s.History {
			path := fmt.Sprintf(".history[%d].", i)
			outcome(path+"exit", path+"decision", o)
		}
		states[name] = s
	}
	slices.SortFunc(errs, func(a, b FieldError) int { return strings.Compare(a.Field, b.Field) })
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(states)
}

// UnmarshalJSON restores the state of every key in what MarshalJSON returned; other
// keys keep theirs, as when encoding/json reads into a map. Restarts still to come
// take their turns under Rate in their former order. If Restore would refuse the
// state of any key, nothing changes, and the error wraps FieldErrors with every
// mistake, as in ["key"].decision.delay. A clock that was set back, if only by a
// nanosecond, is such a reason: then read the text into a map[K]RestarterState, mend
// its times as Restore says, and Restore each key. The Restarter must come from
// NewRestarter.
func (r *Restarter[K]) UnmarshalJSON(text []byte) error {
	if err := r.restoreAll(text); err != nil {
		return fmt.Errorf("backoff: Restarter.UnmarshalJSON: %w", err)
	}
	return nil
}

func (r *Restarter[K]) restoreAll(text []byte) error {
	if err := r.checkJSON(); err != nil {
		return err
	}
	var states map[K]RestarterState
	if err := json.Unmarshal(text, &states); err != nil {
		return err
	}
	keys := slices.SortedFunc(maps.Keys(states), func(a, b K) int {
		if c := states[a].Decision.NotBefore.Compare(states[b].Decision.NotBefore); c != 0 {
			return c
		}
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	var errs FieldErrors
	clockTime, _ := r.clock.now()
	for _, key := range keys {
		for _, e := range states[key].validate(clockTime) {
			e.Field = fmt.Sprintf("[%s].%s", keyText(key), e.Field)
			errs = append(errs, e)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	// PolicyFor is the caller's and may panic, so it is called before anything changes.
	policies := make([]Policy, len(keys))
	for i, key := range keys {
		policies[i], _ = r.policyFor(key, states[key].Last)
	}
	for i, key := range keys {
		r.restore(key, states[key], policies[i])
	}
	return nil
}

// checkJSON returns an error unless r comes from NewRestarter and a K is text in
// both directions.
func (r *Restarter[K]) checkJSON() error {
	if r == nil || r.clock == nil {
		return errors.New("the Restarter was not made by NewRestarter")
	}
	_, writes := any(new(K)).(encoding.TextMarshaler)
	_, reads := any(new(K)).(encoding.TextUnmarshaler)
	k := reflect.TypeFor[K]()
	switch kind := k.Kind(); {
	case writes != reads:
		return fmt.Errorf("keys of type %v have only one of MarshalText and UnmarshalText", k)
	case writes, kind == reflect.String, kind >= reflect.Int && kind <= reflect.Uintptr:
		return nil
	}
	return fmt.Errorf("keys of type %v are not text", k)
}

// nameOf returns the name of a key in JSON, which encoding/json reads as the same
// key. Written by encoding/json, a string would go without its MarshalText.
func nameOf[K comparable](key K) (name string, err error) {
	v := reflect.ValueOf(&key).Elem()
	if k, ok := any(&key).(encoding.TextMarshaler); ok {
		text, err := k.MarshalText()
		if err != nil {
			return "", err
		}
		name = string(text)
	} else if v.CanInt() {
		name = strconv.FormatInt(v.Int(), 10)
	} else if v.CanUint() {
		name = strconv.FormatUint(v.Uint(), 10)
	} else {
		name = v.String()
	}
	var read map[K]struct{} // without key if it is not valid UTF-8, or its text not its own
	text, err := json.Marshal(map[string]struct{}{name: {}})
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if _, same := read[key]; err == nil && !same {
		err = errors.New("JSON would be read as another key")
	}
	return name, err
}

// keyText prints a key for a message.
func keyText(key any) string { return quote.Text(fmt.Sprint(key)) }
