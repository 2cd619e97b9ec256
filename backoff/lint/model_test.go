package lint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// t0 is when the first run of every history begins.
var t0 = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// random draws policies and exits from a small vocabulary, so that rules meet often.
type random struct{ *rand.Rand }

func pick[T any](r random, values ...T) T { return values[r.IntN(len(values))] }

func (r random) policy() backoff.ExitPolicy {
	p := backoff.ExitPolicy{
		RestartPolicy: pick(r, "", backoff.RestartPolicyOnFailure, backoff.RestartPolicyNever),
		Delay:         pick(r, &curve, &curve, r.curve(), r.curve(), nil),
		Retries:       pick(r, 0, 0, 1, 2, 3, 5),
		GiveUpFor:     pick(r, 0, 0, time.Second, 3*time.Second, time.Minute),
	}
	p.Limit, p.Window = r.limit()
	for range r.IntN(4) {
		p.Rules = append(p.Rules, r.rule())
	}
	return p
}

func (r random) curve() *backoff.Policy {
	return &backoff.Policy{
		Initial: time.Second, Max: pick[time.Duration](r, 1, 4, 30) * time.Second, Factor: pick(r, 0, 1, 3.0),
		Jitter: pick(r, 0, 0, 0.5), ResetAfter: pick(r, 0, 0, 1, 5*time.Second), FreeFailures: pick(r, 0, 0, 0, 1),
	}
}

func (r random) limit() (limit int, window time.Duration) {
	if limit = pick(r, 0, 0, 1, 2, 3); limit > 0 {
		window = pick[time.Duration](r, 0, 1, 3, 7, 12, 120) * time.Second
	}
	return limit, window
}

func (r random) rule() backoff.Rule {
	rule := backoff.Rule{
		Action:      pick(r, backoff.ActionRestart, backoff.ActionRestart, backoff.ActionRestartAll, backoff.ActionGiveUp),
		Reasons:     pick(r, nil, nil, nil, []string{"A"}, []string{"A", "B"}),
		Signals:     pick(r, nil, nil, nil, []string{"SIGKILL"}, []string{"SIGKILL", "SIGTERM"}),
		RanAtLeast:  pick(r, 0, 0, 0, 1, 8*time.Second, 8*time.Second+1),
		MinFailures: pick(r, 0, 0, 0, 2, 3, 5),
		ExitCodes:   pick(r, nil, in(1), in(1, 2), in(137), in(137, 143), inRange(1, 255), notIn(), notIn(0), notIn(1)),
	}
	if rule.RanAtLeast == 0 {
		rule.RanLessThan = pick(r, 0, 0, 0, time.Second, 9*time.Second)
	}
	if rule.ExitCodes == nil && rule.MinFailures == 0 {
		rule.MinFailures = 1
	}
	if rule.Action == backoff.ActionGiveUp {
		return rule
	}
	if rule.Uncounted = r.IntN(5) == 0; !rule.Uncounted {
		rule.Limit, rule.Window = r.limit()
	}
	if r.IntN(3) == 0 {
		rule.Delay = r.curve()
	}
	return rule
}

// exit returns an exit of a run that begins at started.
func (r random) exit(started time.Time) backoff.Exit {
	e := backoff.Exit{Code: pick[int32](r, 0, 1, 1, 2, 137, 143, 160, 300), Reason: pick(r, "", "A", "B"), Started: started}
	if e.Code < 129 || e.Code > 192 {
		e.Signal = pick[int32](r, 0, 0, 9, 15, 33)
	} else {
		e.Signal = pick(r, 0, e.Code-128)
	}
	ran := pick(r, 0, 0, 0, 1, time.Second, 8*time.Second, 8*time.Second+1, 10*time.Minute+1)
	e.Finished = started.Add(ran)
	return e
}

// A claim is the statement of a finding, in a form that a history can disprove.
type claim struct {
	Finding
	mended  *backoff.ExitPolicy // decides the same; nil if the claim is another
	twin    backoff.State       // under mended
	last    backoff.Decision    // before this one
	counted backoff.Decision    // the last one that counted as a failure
}

// claimOf returns the claim of a finding. Each limit said to be never reached is
// replaced by one that surely is not.
func claimOf(p backoff.ExitPolicy, f Finding) *claim {
	p.Rules = slices.Clone(p.Rules)
	limit, window := &p.Limit, &p.Window
	if f.Rule >= 0 {
		limit, window = &p.Rules[f.Rule].Limit, &p.Rules[f.Rule].Window
	}
	switch {
	case f.Kind == KindLimitNeverHit && f.Field == "retries":
		p.Retries = math.MaxInt
	case f.Kind == KindLimitNeverHit, f.Kind == KindDelayTooLong:
		*limit, *window = math.MaxInt, 0
	case f.Kind == KindNoEffect && f.Field == "retries":
		p.Retries = 0
	case f.Kind == KindNoEffect && f.Field == "giveUpFor":
		p.GiveUpFor = 0
	case f.Kind == KindNoEffect && f.Rule < 0:
		p.Limit, p.Window = 0, 0
	case f.Kind == KindNoEffect && f.Field == pathOf(f.Rule):
		p.Rules = slices.Delete(p.Rules, f.Rule, f.Rule+1)
	default:
		return &claim{Finding: f}
	}
	return &claim{Finding: f, mended: &p}
}

// check compares the claim with one more decision under p. It returns what is wrong, or
// "".
func (c *claim) check(p *backoff.ExitPolicy, d backoff.Decision, e backoff.Exit, draw float64) string {
	last, counted := c.last, c.counted
	c.last = d
	if d.Rule < 0 || !p.Rules[d.Rule].Uncounted {
		c.counted = d
	}
	switch {
	case c.mended != nil:
		if other := c.twin.Exited(c.mended, e, e.Finished, draw); other.Action != d.Action || other.Delay != d.Delay {
			return fmt.Sprintf("without it, the decision is %+v", other)
		}
	case c.Kind == KindUnreachable && d.Rule == c.Rule:
		return "the rule decides"
	case c.Kind == KindNoEffect && d.Rule == c.Rule && d.Action != backoff.ActionGiveUp:
		return "the rule restarts"
	case c.Kind == KindHotLoop && d.Rule == c.Rule && last.Rule == c.Rule && last.Action != "" && d.Delay > 0:
		return "the rule waits"
	case c.Kind == KindGiveUpTooShort && d.Action == backoff.ActionGiveUp && d.Delay > 0 && counted.Action == backoff.ActionRestart && counted.Delay <= d.Delay:
		return "the give-up is no shorter than the delay before it"
	}
	return ""
}

// No random history of any random policy disproves a finding.
func TestFindingsHoldInHistories(t *testing.T) {
	r := random{rand.New(rand.NewPCG(1, 2))}
	kinds := make(map[string]int)
	decisions, byRules, giveUps, giveUpEnds := 0, 0, 0, 0
	for range 1500 {
		p := r.policy()
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		findings := Check(p)
		for _, f := range findings {
			what := string(f.Kind)
			if f.Rule < 0 {
				what += " " + f.Field
			}
			kinds[what]++
		}
		if len(findings) == 0 {
			continue
		}
		for range 12 {
			var claims []*claim
			for _, f := range findings {
				claims = append(claims, claimOf(p, f))
			}
			var s backoff.State
			pool := 1 + r.IntN(3) // so many kinds of exits in this history
			seed := r.Uint64()
			now := t0
			for run := range 20 {
				kind := random{rand.New(rand.NewPCG(seed, uint64(r.IntN(pool))))}
				e := kind.exit(now)
				e.Run = int64(run + 1)
				draw := r.Float64()
				now = e.Finished
				d := s.Exited(&p, e, now, draw)
				decisions++
				if d.Rule >= 0 {
					byRules++
				}
				for _, c := range claims {
					if wrong := c.check(&p, d, e, draw); wrong != "" {
						t.Fatalf("%v\n%s\n%+v: %+v\nunder %+v", c.Finding, wrong, e, d, p)
					}
				}
				_, wait := s.CanStart(&p, now)
				switch {
				case d.Action == backoff.ActionGiveUp:
					giveUps++
					if wait < never {
						giveUpEnds++
					}
				case d.Action == backoff.ActionStop:
					wait = 0 // somebody starts it by hand
				}
				if wait == never {
					break
				}
				now = now.Add(wait)
			}
		}
	}
	t.Logf("%v; %d decisions, %d by rules, %d give-ups, of which %d end", kinds, decisions, byRules, giveUps, giveUpEnds)
	for _, what := range []string{
		"unreachable", "no-effect", "limit-never-hit", "delay-too-long", "hot-loop",
		"no-effect limit", "no-effect retries", "no-effect giveUpFor",
		"limit-never-hit limit", "limit-never-hit retries", "delay-too-long window",
		"give-up-too-short giveUpFor",
	} {
		if kinds[what] < 10 {
			t.Errorf("only %d findings of %s", kinds[what], what)
		}
	}
	if byRules < 10000 || giveUps < 10000 || giveUpEnds < 1000 {
		t.Error("too few")
	}
}

// A rule said to be hidden or never met decides on no exit. Of pairs of rules,
// every rule that decides on no exit is said to be so.
func TestUnreachableRulesNeverDecide(t *testing.T) {
	r := random{rand.New(rand.NewPCG(3, 4))}
	unreachable, reached, missed := 0, 0, 0
	for range 2000 {
		p := backoff.ExitPolicy{Delay: &curve}
		for range 2 + r.IntN(3) {
			p.Rules = append(p.Rules, r.rule())
		}
		decides := make([]bool, len(p.Rules))
		for _, e := range exitsOfVocabulary {
			for attempt := 1; attempt <= 5; attempt++ {
				if attempt > 1 && e.Finished.Sub(e.Started) > curve.ResetThreshold() {
					break
				}
				if _, i := p.DecideExit(e, attempt); i >= 0 {
					decides[i] = true
				}
			}
		}
		said := make([]bool, len(p.Rules))
		for _, f := range Check(p) {
			said[f.Rule] = said[f.Rule] || f.Kind == KindUnreachable && f.Field == pathOf(f.Rule)
		}
		for i := range p.Rules {
			switch {
			case said[i] && decides[i]:
				t.Fatalf("rule %d of %+v decides", i, p)
			case said[i]:
				unreachable++
			case decides[i]:
				reached++
			case i == 0:
				t.Fatalf("rule 0 of %+v decides on nothing", p)
			case i == 1:
				t.Fatalf("rule 1 of %+v is hidden", p)
			default:
				missed++
			}
		}
	}
	t.Logf("%d rules said to be unreachable, %d reached, %d missed", unreachable, reached, missed)
	if unreachable < 500 || reached < 5000 || missed > unreachable/10 {
		t.Error("too few, or too many missed")
	}
}

// exitsOfVocabulary are all exits that the rules of random.rule tell apart.
var exitsOfVocabulary = func() (exits []backoff.Exit) {
	for _, code := range []int32{0, 1, 2, 3, 137, 143, 160, 300} {
		signals := []int32{0, 9, 15, 33}
		if code > 128 && code <= 192 {
			signals = []int32{0, code - 128}
		}
		for _, signal := range signals {
			for _, reason := range []string{"", "A", "B"} {
				for _, ran := range []time.Duration{0, 1, time.Second, 8 * time.Second, 8*time.Second + 1, 9 * time.Second} {
					exits = append(exits, backoff.Exit{Code: code, Signal: signal, Reason: reason, Started: t0, Finished: t0.Add(ran)})
				}
			}
		}
	}
	return exits
}()

// The limit of a single rule with a window is reported exactly if no history of a few
// runs uses it up. The same holds for the policy's limit.
func TestUnusedLimitsAreExact(t *testing.T) {
	tried, reported := 0, 0
	for _, delay := range []*backoff.Policy{
		{Initial: time.Second, Max: time.Second},
		{Initial: time.Second, Max: 8 * time.Second},
		{Initial: time.Second, Max: 8 * time.Second, ResetAfter: 1},
		{Initial: 2 * time.Second, Max: 2 * time.Second, FreeFailures: 1},
		{Initial: 10 * time.Second, Max: 10 * time.Second},
	} {
		for _, ranAtLeast := range []time.Duration{0, 2 * time.Second, 9 * time.Second} {
			for limit := 1; limit <= 3; limit++ {
				for _, window := range []time.Duration{1, time.Second, 2*time.Second + 1, 3 * time.Second, 4 * time.Second, 7*time.Second + 1, 9 * time.Second, 15 * time.Second, time.Minute} {
					r := restart(backoff.Rule{ExitCodes: in(1), RanAtLeast: ranAtLeast, Delay: delay, Limit: limit, Window: window})
					policies := []backoff.ExitPolicy{{Delay: &curve, Rules: []backoff.Rule{r}}}
					if ranAtLeast == 0 {
						policies = append(policies, backoff.ExitPolicy{Delay: delay, Limit: limit, Window: window})
					}
					for _, p := range policies {
						said := slices.ContainsFunc(Check(p), func(f Finding) bool { return f.Kind == KindLimitNeverHit || f.Kind == KindDelayTooLong })
						runs := []time.Duration{0, ranAtLeast, delay.ResetThreshold() + 1, max(delay.ResetThreshold()+1, ranAtLeast)}
						slices.Sort(runs)
						tried++
						if said {
							reported++
						}
						if used := usedUp(&p, backoff.State{}, t0, slices.Compact(runs), limit+1); used == said {
							t.Fatalf("used up %t, reported %t: %+v, delay %+v", used, said, p, delay)
						}
					}
				}
			}
		}
	}
	t.Logf("%d limits, %d never used up", tried, reported)
	if reported < 50 || reported > tried-50 {
		t.Error("too few of either")
	}
}

// usedUp reports whether some history of so many more runs of the given lengths uses up a
// limit.
func usedUp(p *backoff.ExitPolicy, s backoff.State, started time.Time, lengths []time.Duration, runs int) bool {
	if runs == 0 {
		return false
	}
	for _, ran := range lengths {
		next := s
		next.Recent = slices.Clone(s.Recent)
		next.Rules = slices.Clone(s.Rules)
		for i := range next.Rules {
			next.Rules[i].Recent = slices.Clone(next.Rules[i].Recent)
		}
		now := started.Add(ran)
		d := next.Exited(p, backoff.Exit{Run: s.Exit.Run + 1, Code: 1, Started: started, Finished: now}, now, 0)
		if d.Action == backoff.ActionGiveUp || usedUp(p, next, now.Add(d.Delay), lengths, runs-1) {
			return true
		}
	}
	return false
}
