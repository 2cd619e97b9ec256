package backoff_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/scenario"
)

// podStory runs pods of containers that are restarted as a Restarter says, and
// tells what happens when. The commands:
//
//	policy NAME initial=D max=D [factor=F] [free=N] [reset=D]
//	pod until=D [policy=NAME] [rate=F] [burst=N] [limit=N] [window=D]
//	  NAME ran=D[,D…] [code=N[,N…]] [reason=R] [restart=POLICY] [in=N,N…] [policy=NAME]
//	  wake at=D
//
// Each line below pod is a container: all start at 0, the n-th run lasts the n-th
// ran and ends with the n-th code (the last of each goes on); restart is its
// restartPolicy, in the exit codes of a rule with the action Restart; policy its
// curve. wake wakes every container that waits. The curves crashloop and reduced
// are known.
type podStory struct {
	t        *testing.T
	policies map[string]backoff.Policy
}

func newPodStory(t *testing.T) func(scenario.Case) string {
	s := &podStory{t: t, policies: map[string]backoff.Policy{"crashloop": backoff.CrashLoop(), "reduced": backoff.ReducedCrashLoop()}}
	return func(c scenario.Case) string {
		switch c.Name() {
		case "policy":
			words := strings.Fields(c.Command)
			s.policies[words[1]] = s.policy(s.words(words[2:]))
			return ""
		case "pod":
			return s.pod(s.words(strings.Fields(c.Command)[1:]), c.Input)
		}
		t.Fatalf("line %d: no command %q", c.Line, c.Name())
		return ""
	}
}

// arguments are key=value words; using one takes it out.
type arguments struct {
	t      *testing.T
	values map[string]string
}

func (s *podStory) words(words []string) arguments {
	a := arguments{s.t, map[string]string{}}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		a.values[key] = value
	}
	return a
}

func (a arguments) text(key, otherwise string) string {
	value, ok := a.values[key]
	if !ok {
		return otherwise
	}
	delete(a.values, key)
	return value
}

func parsed[T any](a arguments, key, otherwise string, parse func(string) (T, error)) []T {
	var all []T
	for text := range strings.SplitSeq(a.text(key, otherwise), ",") {
		value, err := parse(text)
		if err != nil {
			a.t.Fatalf("%s: %v", key, err)
		}
		all = append(all, value)
	}
	return all
}

func (a arguments) durations(key, otherwise string) []time.Duration {
	return parsed(a, key, otherwise, time.ParseDuration)
}
func (a arguments) numbers(key, otherwise string) []int {
	return parsed(a, key, otherwise, strconv.Atoi)
}
func (a arguments) float(key, otherwise string) float64 {
	return parsed(a, key, otherwise, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })[0]
}

func (a arguments) done() {
	if len(a.values) > 0 {
		a.t.Fatalf("unknown arguments %v", slices.Sorted(maps.Keys(a.values)))
	}
}

func (s *podStory) policy(a arguments) backoff.Policy {
	defer a.done()
	p := backoff.Policy{
		Initial:      a.durations("initial", "")[0],
		Max:          a.durations("max", "")[0],
		Factor:       a.float("factor", "0"),
		FreeFailures: a.numbers("free", "0")[0],
		ResetAfter:   a.durations("reset", "0s")[0],
	}
	if err := p.Validate(); err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *podStory) named(name string) backoff.Policy {
	p, ok := s.policies[name]
	if !ok {
		s.t.Fatalf("no policy %q", name)
	}
	return p
}

// process is one container of a pod.
type process struct {
	name    string
	ran     []time.Duration
	codes   []int
	reason  string
	c       backoff.ExitPolicy
	run     int
	started time.Time
	at      time.Time // of its next step: it ends if it runs, else it starts
	running bool
}

func nth[T any](all []T, n int) T { return all[min(n, len(all)-1)] }

// start starts the next run.
func (p *process) start(at time.Time) {
	p.running, p.started, p.at = true, at, at.Add(nth(p.ran, p.run))
	p.run++
}

func (s *podStory) process(line string) *process {
	words := strings.Fields(line)
	a := s.words(words[1:])
	defer a.done()
	p := &process{name: words[0], ran: a.durations("ran", ""), codes: a.numbers("code", "1"), reason: a.text("reason", "")}
	p.c.RestartPolicy = backoff.RestartPolicy(a.text("restart", ""))
	if in := a.text("in", ""); in != "" {
		rule := backoff.Rule{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn}}
		for text := range strings.SplitSeq(in, ",") {
			code, err := strconv.Atoi(text)
			if err != nil {
				s.t.Fatal(err)
			}
			rule.ExitCodes.Values = append(rule.ExitCodes.Values, int32(code))
		}
		p.c.Rules = []backoff.Rule{rule}
	}
	if err := p.c.Validate(); err != nil {
		s.t.Fatal(err)
	}
	if name := a.text("policy", ""); name != "" {
		curve := s.named(name)
		p.c.Delay = &curve
	}
	return p
}

func (s *podStory) pod(a arguments, input []string) string {
	clock := clocktesting.NewFakePassiveClock(t0)
	var wakes []time.Time
	var processes []*process
	for _, line := range input {
		if rest, ok := strings.CutPrefix(line, "wake "); ok {
			wakes = append(wakes, t0.Add(s.words([]string{rest}).durations("at", "")[0]))
			continue
		}
		p := s.process(line)
		p.start(t0)
		processes = append(processes, p)
	}
	end := t0.Add(a.durations("until", "")[0])
	curve := s.named(a.text("policy", "crashloop"))
	r := newRestarterOf(s.t, backoff.ExitPolicy{
		Delay:  &curve,
		Limit:  a.numbers("limit", "0")[0],
		Window: a.durations("window", "0s")[0],
	}, backoff.RestarterOptions[string]{
		Clock: clock,
		Rate:  a.float("rate", "0"),
		Burst: a.numbers("burst", "0")[0],
	})
	a.done()

	var b strings.Builder
	tell := func(format string, args ...any) {
		fmt.Fprintf(&b, "%-8v "+format+"\n", append([]any{clock.Now().Sub(t0)}, args...)...)
	}
	for {
		// The earliest step; of several at once, the first container's.
		next := slices.MinFunc(processes, func(x, y *process) int { return x.at.Compare(y.at) })
		if len(wakes) > 0 && wakes[0].Before(next.at) {
			clock.SetTime(wakes[0])
			wakes = wakes[1:]
			for _, p := range processes {
				if d, ok := r.RestartNow(p.name); ok && !p.running {
					p.at = d.NotBefore
					tell("%s is woken: restarts in %v", p.name, d.Delay)
				}
			}
			continue
		}
		if next.at.After(end) {
			return b.String()
		}
		clock.SetTime(next.at)
		if !next.running {
			next.start(clock.Now())
			continue
		}
		e := backoff.Exit{Run: int64(next.run), Code: int32(nth(next.codes, next.run-1)), Reason: next.reason, Started: next.started, Finished: clock.Now()}
		d := r.Exited(next.name, next.c, e)
		tell("%s: %s", next.name, d.Reason(next.c, e))
		next.running, next.at = false, d.NotBefore
		if !d.Action.Restarts() {
			next.at = end.Add(1)
		}
	}
}

func TestPodStories(t *testing.T) {
	scenario.Run(t, "testdata/pod-*.story", newPodStory)
}
