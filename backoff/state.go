package backoff

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Outcome is one exit and what was decided about it.
type Outcome struct {
	Exit     Exit      `json:"exit,omitzero"`      // as reported; a Finished of zero is replaced by Reported
	Reported time.Time `json:"reported,omitzero"`  // when the exit was first reported
	Action   Action    `json:"action,omitempty"`   // empty before the first exit
	Failures int       `json:"failures,omitempty"` // failures in a row, as in Decision
	Rule     int       `json:"rule,omitempty"`     // index of the rule that decided, or -1
	RuleName string    `json:"ruleName,omitempty"` // that rule's name

	RuleFailures int  `json:"ruleFailures,omitempty"` // as in Decision
	Again        bool `json:"again,omitempty"`        // as in Decision

	// The wait lasts from From, usually the end of the run, to NotBefore. It is that of a
	// restart, or of a give-up that ends; without one, both are zero. If a Restarter's Rate
	// makes it longer, it lasts to Turn. A State alone ignores Turn.
	From      time.Time `json:"from,omitzero"`
	NotBefore time.Time `json:"notBefore,omitzero"`
	Turn      time.Time `json:"turn,omitzero"`
}

// Decision returns the decision as State.Exited did, with New unset.
func (o *Outcome) Decision() Decision {
	d := Decision{
		Action: o.Action, Failures: o.Failures,
		Rule: o.Rule, RuleName: o.RuleName, RuleFailures: o.RuleFailures, Again: o.Again,
	}
	if !o.NotBefore.IsZero() {
		d.NotBefore = later(o.NotBefore, o.Turn)
		d.Delay = max(d.NotBefore.Sub(o.From), 0)
	}
	return d
}

// State is what must be remembered about one thing that restarts. The zero value, before
// the first exit, is ready to use.
//
// Report every exit to Exited, ask CanStart, and say Started. All times come from the
// caller, and the same calls give the same results. Within a process, pass times of
// time.Now as they are, because their monotonic reading makes waits immune to a wall clock
// that is set. After a State was stored, the rules of Policy.Left bound what a wrong clock
// can do.
//
// The fields can be stored as JSON, shown and edited. Exited and CanStart accept any
// values: negative counts count as 0, counts of rules are cut to as many as a policy has
// rules, and a wait longer than a day or, if that is longer, than every delay of the
// policy becomes that long.
//
// From, NotBefore, Recent and StartedAt keep the monotonic reading of the times that the
// caller passed. Exit and Reported have none, because they are compared with times from
// elsewhere.
//
// Copy a State with Clone, because a plain copy shares its lists. A State is not safe for
// concurrent use while a method that changes it runs.
type State struct {
	Outcome // the last exit

	// StartedAt is when the run after the last exit began, as Started said. It is zero while
	// the thing does not run as far as anybody said.
	StartedAt time.Time `json:"startedAt,omitzero"`

	Restarts     int          `json:"restarts,omitempty"`     // counted by the policy's Limit without a Window
	Recent       []time.Time  `json:"recent,omitempty"`       // when restarts within the policy's Window were decided, oldest first
	LimitReached bool         `json:"limitReached,omitempty"` // a limit was reached, and the counts have not started over since
	Rules        []RuleCounts `json:"rules,omitempty"`        // of rules with a Delay or a Limit

	// History is the exits before the last one, oldest first. A Restarter fills it under
	// its option History; Exited leaves it alone.
	History []Outcome `json:"history,omitempty"`
}

// RuleCounts are the counts of one rule with a Delay or a Limit.
type RuleCounts struct {
	Rule     int         `json:"rule"`               // index of the rule
	Name     string      `json:"name,omitempty"`     // its name
	Failures int         `json:"failures,omitempty"` // failures in a row, for its Delay
	Restarts int         `json:"restarts,omitempty"` // counted by its Limit without a Window
	Recent   []time.Time `json:"recent,omitempty"`   // when its restarts within its Window were decided, oldest first
}

// Limits of the lists in a State.
const (
	maxRecent  = maxLimit
	maxHistory = 1000
)

// zeroPolicy is the policy of a nil pointer.
var zeroPolicy ExitPolicy

// Exited decides about an exit reported at now, and remembers it. draw is a
// random number in [0, 1) for the jitter of the delay; it is ignored without Jitter. A
// nil p is the zero ExitPolicy.
//
// If the exit is not new, Exited returns the last decision again; see Exit. If p is not
// valid, it decides to stop, says so in the Decision, and leaves s as it was.
//
//   - A run is the time from e.Started, or from the end of the run before if that is later,
//     to e.Finished. After a run longer than ResetAfter, the failures in a row and the
//     restarts of a limit without a Window start over. If a limit had been reached, so does
//     everything else; otherwise a Window forgets its restarts one by one.
//   - After an exit that led to Stop, everything starts over.
//   - Exit code 0 counts as a failure if it leads to a restart (KEP-4603, On Success and the
//     10 minute recovery threshold).
//   - After a give-up by a limit that lasts GiveUpFor, CanStart allows one start. If that run
//     fails, Exited gives up again for as long, unless the run was longer than ResetAfter.
//     A reached limit counts under any policy, until counts start over. To restart
//     for another reason, use an Uncounted rule or Forgive.
//   - A give-up by a rule with ActionGiveUp has no end. Forgive ends it, and so does another
//     exit, decided anew.
//   - Times of e outside the years 1 to 9999 count as unset.
func (s *State) Exited(p *ExitPolicy, e Exit, now time.Time, draw float64) Decision {
	if p == nil {
		p = &zeroPolicy
	}
	now, e.Started, e.Finished = inYears(now), known(e.Started), known(e.Finished)
	isNew := s.Action == "" || e.follows(&s.Exit, s.Reported, now)
	if !p.valid() {
		return Decision{Action: ActionStop, New: isNew, Failures: max(s.Failures, 0), Rule: -1, Invalid: p.Validate()}
	}
	if !isNew {
		return s.Decision()
	}
	s.decide(p, &e, now, draw)
	d := s.Decision()
	d.New = true
	return d
}

// decide brings s to after the new exit e under a valid policy.
func (s *State) decide(p *ExitPolicy, e *Exit, now time.Time, draw float64) {
	if e.Finished.IsZero() {
		e.Finished = now
	}
	s.clampCounts()
	run := *e
	if s.Action != "" && !e.Started.IsZero() {
		run.Started = later(e.Started, s.end())
	}
	s.startOver(p, run.ran(), s.Action == ActionStop)

	action, rule := p.decide(&run, addCount(s.Failures, 1))
	var r *Rule
	name := ""
	if rule >= 0 {
		r = &p.Rules[rule]
		name = r.Name
	}
	uncounted := r != nil && r.Uncounted
	counts := !uncounted && (action != ActionStop || e.Code != 0)
	if counts {
		s.Failures = addCount(s.Failures, 1)
	}
	curve, failures, ruleFailures := p.curve(), s.Failures, 0
	if r != nil && r.Delay != nil {
		curve = r.Delay
	}
	var own *RuleCounts
	if counts && r != nil && r.counts() {
		own = s.countsOf(rule, name)
		if r.Delay != nil {
			own.Failures = addCount(own.Failures, 1)
			failures, ruleFailures = own.Failures, own.Failures
		}
	}
	again, opens := false, time.Duration(0) // how long a give-up lasts
	if counts && action.restarts() && !s.withinLimits(p, r, own, now) {
		again = s.LimitReached
		action, s.LimitReached, opens = ActionGiveUp, true, p.GiveUpFor
	}

	// The wait begins at the end of the run, found from now to keep its monotonic reading.
	from := now.Add(-max(now.Sub(e.Finished), 0))
	notBefore := time.Time{}
	switch {
	case action.restarts():
		var delay time.Duration
		switch {
		case !uncounted:
			delay = curve.jittered(curve.delay(failures), draw)
		case r.Delay != nil:
			delay = curve.jittered(curve.Initial, draw)
		default: // the wait before goes on
			from, delay = now, s.rest(p.bound(), now)
		}
		delay = max(delay, min(e.RetryAfter, curve.Max))
		notBefore = inYears(from.Add(delay))
	case opens > 0:
		notBefore = inYears(from.Add(opens))
	default:
		from = time.Time{}
	}

	s.Outcome = Outcome{
		Exit: stored(e), Reported: now.Round(0),
		Action: action, Failures: s.Failures, Rule: rule, RuleName: name, RuleFailures: ruleFailures, Again: again,
		From: from, NotBefore: notBefore,
	}
	s.StartedAt = time.Time{}
}

// end returns when the last run ended, if possible with a monotonic reading. It may be
// somewhat later, but not after the next run began.
func (s *State) end() time.Time {
	if s.From.IsZero() {
		return s.Exit.Finished
	}
	return s.From
}

// withinLimits counts one more restart against the limits and reports whether they allow
// it. A rule with a limit of its own does not count toward the policy's.
func (s *State) withinLimits(p *ExitPolicy, r *Rule, own *RuleCounts, now time.Time) bool {
	switch {
	case s.LimitReached, p.Retries > 0 && s.Failures > p.Retries:
		return false
	case r != nil && r.Limit > 0:
		return allow(&own.Restarts, &own.Recent, r.Limit, r.Window, now)
	case p.Limit > 0:
		return allow(&s.Restarts, &s.Recent, p.Limit, p.Window, now)
	}
	return true
}

// allow counts one more restart against a limit and reports whether the limit allows it.
// A time later than now counts as now.
func allow(restarts *int, recent *[]time.Time, limit int, window time.Duration, now time.Time) bool {
	if window == 0 {
		*recent = nil
		if *restarts >= limit {
			return false
		}
		*restarts++
		return true
	}
	*restarts = 0
	within := (*recent)[:0]
	for _, at := range *recent {
		if at.After(now) {
			at = now
		}
		if now.Sub(at) < window {
			within = append(within, at)
		}
	}
	*recent = within[max(0, len(within)-limit):]
	if len(*recent) == limit {
		return false
	}
	*recent = append(*recent, now)
	return true
}

// startOver sets counts back to 0 if the run was long enough: those of a rule with a
// Delay by the ResetThreshold of that curve, all others by that of the policy's curve. If
// entirely is set, it sets back every count and limit. It drops the counts of rules that
// p no longer has, but keeps them all if p has no rules.
func (s *State) startOver(p *ExitPolicy, ran time.Duration, entirely bool) {
	if entirely {
		s.forgetCounts()
		return
	}
	isLong := ran > p.curve().resetThreshold()
	kept := s.Rules[:0]
	for i := range s.Rules {
		n := &s.Rules[i]
		r := n.find(p.Rules)
		if r == nil && len(p.Rules) > 0 || slices.ContainsFunc(kept, func(k RuleCounts) bool { return k.Rule == n.Rule && k.Name == n.Name }) {
			continue // removed, or damaged
		}
		over := isLong
		switch {
		case r == nil:
		case r.Delay != nil:
			over = ran > r.Delay.resetThreshold()
		default:
			n.Failures = 0
		}
		if over {
			n.Failures, n.Restarts = 0, 0
		}
		if over && s.LimitReached {
			n.Recent = n.Recent[:0]
		}
		kept = append(kept, *n)
	}
	clear(s.Rules[len(kept):])
	s.Rules = kept
	if !isLong {
		return
	}
	s.Failures, s.Restarts = 0, 0
	if s.LimitReached {
		s.Recent, s.LimitReached = s.Recent[:0], false
	}
}

// forgetCounts starts every count and limit over.
func (s *State) forgetCounts() {
	s.Failures, s.RuleFailures, s.Restarts, s.Recent, s.LimitReached, s.Rules = 0, 0, 0, nil, false, nil
}

// find returns the rule with these counts and updates its index, or returns nil. A name
// identifies a rule; the index identifies one without a name.
func (n *RuleCounts) find(rules []Rule) *Rule {
	if n.Name != "" && (n.Rule < 0 || n.Rule >= len(rules) || rules[n.Rule].Name != n.Name) {
		n.Rule = slices.IndexFunc(rules, func(r Rule) bool { return r.Name == n.Name })
	}
	if n.Rule < 0 || n.Rule >= len(rules) || rules[n.Rule].Name != n.Name || !rules[n.Rule].counts() {
		return nil
	}
	return &rules[n.Rule]
}

// countsOf returns the counts of a rule, which startOver has found by its index.
func (s *State) countsOf(rule int, name string) *RuleCounts {
	for i := range s.Rules {
		if n := &s.Rules[i]; n.Rule == rule && n.Name == name {
			return n
		}
	}
	s.Rules = append(s.Rules, RuleCounts{Rule: rule, Name: name})
	return &s.Rules[len(s.Rules)-1]
}

// Forever is the wait of something that no passing of time lets start. It is the largest
// duration.
const Forever = time.Duration(math.MaxInt64)

// CanStart reports whether the thing may start at now. If not, wait is how long until it
// may, or Forever if only another exit, Lost or Forgive can change the answer, or if p is
// invalid. A nil p is the zero ExitPolicy; p should be the one that decided, because its
// delays bound the wait.
//
// Each decision allows one start, which Started uses up. So a mistake in telling exits
// apart becomes a stop that can be seen, and not a loop without a delay. Before the first
// exit, one start is allowed at once.
func (s *State) CanStart(p *ExitPolicy, now time.Time) (ok bool, wait time.Duration) {
	if p == nil {
		p = &zeroPolicy
	}
	if !p.valid() {
		return false, Forever
	}
	return s.canStart(p.bound(), now)
}

func (s *State) canStart(bound time.Duration, now time.Time) (ok bool, wait time.Duration) {
	if !s.StartedAt.IsZero() || s.Action == ActionStop || s.Action == ActionGiveUp && s.NotBefore.IsZero() {
		return false, Forever
	}
	wait = s.rest(bound, now)
	return wait == 0, wait
}

// rest returns how much of the last wait is left, at most bound.
func (s *State) rest(bound time.Duration, now time.Time) time.Duration {
	if s.NotBefore.IsZero() {
		return 0
	}
	whole := s.NotBefore.Sub(s.From)
	return left(min(max(whole, 0), bound), s.From, now)
}

// Started says that the thing has started at the given time, or is about to. The last
// decision allows one start; Started uses it up, and reports whether it was still unused.
// A time before the end of the last run, such as the zero time, counts as that end. If
// starting took long, call Started again with a later time, which corrects when the run
// began.
//
// If you store the State before the start, a crash between the two loses the start, so it
// happens at most once. If you store it after the start, a crash between the two repeats
// it, so it happens at least once. If a run cannot outlive the program that decides, call
// Lost after loading the State.
func (s *State) Started(at time.Time) bool {
	unused := s.StartedAt.IsZero()
	s.StartedAt = later(s.StartedAt, later(known(at), s.end()))
	if s.StartedAt.IsZero() {
		s.StartedAt = time.Unix(0, 0) // some time before the first exit
	}
	return unused
}

// Lost says that the run which Started announced ended without a reported exit, because the
// program that ran it has crashed, or the machine. It is no failure, and CanStart allows
// the start again, without another delay. Lost is a no-op if nothing was started. Where
// exits can still be found out, as those of containers, report them instead.
func (s *State) Lost() { s.StartedAt = time.Time{} }

// Healthy says that the run which Started announced has gone on until the given time. Once
// the run is longer than ResetAfter, counts and limits start over, as they would at its
// exit. A start later than the given time, as after a clock was set back, becomes that
// time. Healthy reports whether it changed the State, so that it has to be stored.
//
// Programs that poll call it when they see that the thing runs. They leave Exit.Started
// zero, so that only the time up to the last Healthy counts as running.
func (s *State) Healthy(p *ExitPolicy, until time.Time) bool {
	if p == nil {
		p = &zeroPolicy
	}
	if s.StartedAt.IsZero() || !p.valid() {
		return false
	}
	before := *s
	before.Rules = append(make([]RuleCounts, 0, maxRules), s.Rules...)
	s.StartedAt = inYears(earlier(s.StartedAt, until)) // a clock was set back
	s.clampCounts()
	s.startOver(p, until.Sub(s.StartedAt), false)
	return s.StartedAt != before.StartedAt || !s.countsAs(&before)
}

// countsAs reports whether s has the counts and limits of before. Of the lists Recent,
// which startOver keeps or empties, it compares the lengths.
func (s *State) countsAs(before *State) bool {
	sameRule := func(a, b RuleCounts) bool {
		return a.Rule == b.Rule && a.Name == b.Name &&
			a.Failures == b.Failures && a.Restarts == b.Restarts && len(a.Recent) == len(b.Recent)
	}
	return s.Failures == before.Failures && s.RuleFailures == before.RuleFailures &&
		s.Restarts == before.Restarts && len(s.Recent) == len(before.Recent) &&
		s.LimitReached == before.LimitReached && slices.EqualFunc(s.Rules, before.Rules, sameRule)
}

// Forgive starts counts and limits over and, unless the thing runs, lets it start at once,
// even after a give-up or a stop. The last exit and the history stay. It is for a person or
// a program that knows the trouble is over. Report an exit that has happened before, since
// it would count as a new failure afterwards.
func (s *State) Forgive(now time.Time) {
	s.forgetCounts()
	if s.Action == "" || !s.StartedAt.IsZero() {
		return
	}
	if !s.Action.restarts() {
		s.Action = ActionRestart
	}
	s.startAt(now)
}

// RestartNow ends the wait of a restart, for instance because a dependency is back, and
// reports whether a restart was waiting or due. Failures still count.
func (s *State) RestartNow(now time.Time) bool {
	if !s.Action.restarts() || !s.StartedAt.IsZero() {
		return false
	}
	if s.rest(Forever, now) > 0 {
		s.startAt(now)
	}
	return true
}

func (s *State) startAt(now time.Time) {
	now = inYears(now)
	s.From, s.NotBefore, s.Turn = now, now, time.Time{}
}

// clampCounts makes counts that may be damaged usable.
func (s *State) clampCounts() {
	s.Failures, s.RuleFailures, s.Restarts = max(s.Failures, 0), max(s.RuleFailures, 0), max(s.Restarts, 0)
	s.Rules = s.Rules[:min(len(s.Rules), maxRules)]
	for i := range s.Rules {
		n := &s.Rules[i]
		n.Failures, n.Restarts = max(n.Failures, 0), max(n.Restarts, 0)
	}
}

// repair makes a stored State usable. A wait longer than bound becomes as long as bound, a
// decision that nothing could have made allows a start after its wait, and times outside
// the years that JSON can represent are dropped.
//
// Times later than the clock stay. The methods that use them bound what they can
// do, and once the clock is right again, nothing is lost: an exit is still recognized, and
// a program that loads its state again and again does not wait anew each time.
func (s *State) repair(bound time.Duration) {
	s.clampCounts()
	s.Outcome.repair(bound)
	s.StartedAt = known(s.StartedAt)
	s.Recent = repairTimes(s.Recent)
	for i := range s.Rules {
		s.Rules[i].Recent = repairTimes(s.Rules[i].Recent)
	}
	s.History = s.History[max(0, len(s.History)-maxHistory):]
	for i := range s.History {
		s.History[i].repair(bound)
	}
}

func (o *Outcome) repair(bound time.Duration) {
	o.Exit.Started, o.Exit.Finished, o.Reported = known(o.Exit.Started), known(o.Exit.Finished), known(o.Reported)
	o.From, o.NotBefore, o.Turn = known(o.From), known(o.NotBefore), known(o.Turn)
	o.Failures, o.RuleFailures, o.Rule = max(o.Failures, 0), max(o.RuleFailures, 0), max(o.Rule, -1)
	switch {
	case o.Action == "", o.Action == ActionStop:
		o.NotBefore = time.Time{}
	case !o.Action.decides():
		o.Action = ActionRestart
	}
	if o.NotBefore.IsZero() {
		o.From, o.Turn = time.Time{}, time.Time{}
		return
	}
	o.NotBefore = o.From.Add(min(max(o.NotBefore.Sub(o.From), 0), bound))
}

// repairTimes drops the times that JSON cannot represent, and returns the latest
// maxRecent of the others in ascending order.
func repairTimes(times []time.Time) []time.Time {
	times = slices.DeleteFunc(times, func(at time.Time) bool { return known(at).IsZero() })
	slices.SortFunc(times, time.Time.Compare)
	return times[max(0, len(times)-maxRecent):]
}

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() State {
	c := *s
	c.Recent, c.Rules, c.History = slices.Clone(s.Recent), slices.Clone(s.Rules), slices.Clone(s.History)
	for i := range c.Rules {
		c.Rules[i].Recent = slices.Clone(c.Rules[i].Recent)
	}
	return c
}

// stored returns e in the form that a State keeps.
func stored(e *Exit) Exit {
	s := *e
	s.RetryAfter = 0
	s.Started, s.Finished = e.Started.Round(0), e.Finished.Round(0)
	return s
}

// Times that JSON can represent.
var (
	firstTime = time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC) // not zero
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// known returns a time that JSON can represent, or zero if the year is outside 1 to 9999.
// A time whose offset JSON would cut becomes UTC, because the cut would move it.
func known(t time.Time) time.Time {
	if t.IsZero() || t.Before(firstTime) || t.After(lastTime) {
		return time.Time{}
	}
	const day = 24 * 60 * 60
	if _, offset := t.Zone(); offset%60 != 0 || offset <= -day || offset >= day || t.Year() < 1 || t.Year() > 9999 {
		return t.UTC()
	}
	return t
}

// inYears returns the time nearest to t that JSON can represent.
func inYears(t time.Time) time.Time {
	switch {
	case t.Before(firstTime):
		return firstTime
	case t.After(lastTime):
		return lastTime
	}
	return cmp.Or(known(t), t)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
