package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/supervise"
)

// A plan is everything that happens to one Supervisor from outside.
type plan struct {
	options  supervise.Options
	workers  []*workerPlan
	stop     time.Duration // when Stop is called
	deadline time.Duration // when its context is done
}

// A workerPlan is the behaviour of one supervised function: its runs, the last of which
// lasts until it is cancelled, and how long it takes to return after that.
type workerPlan struct {
	name    string
	rules   backoff.ExitPolicy
	runs    []runPlan
	linger  time.Duration
	removed time.Duration // when its context is cancelled; 0 means never
}

type runPlan struct {
	length time.Duration
	end    string // how it ends: nil, error, seven, later, permanent, panic, goexit
}

// Instants never coincide: each worker has a digit of the nanoseconds of its own, and the
// stop has two.
func drawPlan(t *rapid.T) plan {
	ms := func(label string, from, to int) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, label)) * time.Millisecond
	}
	p := plan{options: supervise.Options{
		Policy: backoff.ExitPolicy{
			Delay: &backoff.Policy{Initial: ms("initial", 1, 20), ResetAfter: ms("reset", 1, 60), FreeFailures: rapid.IntRange(0, 2).Draw(t, "free")},
			Limit: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "limit"),
		},
		StopTimeout: ms("timeout", 1, 40) + 10_000_000/3,
		Escalate:    rapid.Bool().Draw(t, "escalate"),
	}}
	p.options.Policy.Delay.Max = p.options.Policy.Delay.Initial + ms("max", 0, 50)
	p.stop = ms("stop", 0, 300) + 100_000
	p.deadline = p.stop + ms("deadline", 0, 100) + 10_000
	digit := time.Duration(1)
	for i := range rapid.IntRange(1, 4).Draw(t, "workers") {
		w := &workerPlan{name: string(rune('a' + i))}
		w.rules = rapid.SampledFrom(rulesOfPlans).Draw(t, w.name+" rules")
		for range rapid.IntRange(0, 5).Draw(t, w.name+" runs") {
			end := rapid.SampledFrom([]string{"nil", "error", "seven", "later", "permanent", "panic", "goexit"}).Draw(t, w.name+" end")
			w.runs = append(w.runs, runPlan{ms(w.name+" length", 0, 100) + digit, end})
		}
		w.linger = ms(w.name+" linger", 0, 50) + digit
		if rapid.IntRange(0, 3).Draw(t, w.name+" removed") == 0 {
			w.removed = ms(w.name+" when", 1, 300) + 50_000 + digit
		}
		p.workers = append(p.workers, w)
		digit *= 10
	}
	return p
}

var rulesOfPlans = []backoff.ExitPolicy{
	{},
	{},
	{RestartPolicy: backoff.RestartPolicyOnFailure},
	{RestartPolicy: backoff.RestartPolicyNever},
	{Rules: []backoff.Rule{{Action: backoff.ActionGiveUp, Reasons: []string{supervise.ReasonPanic}}}},
	{Rules: []backoff.Rule{{Action: backoff.ActionGiveUp, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{7}}}}},
}

// play carries out a plan and returns a line for each event, in order.
func play(p plan) (log []string) {
	start := time.Now()
	lines := make(chan string, 1000)
	note := func(name, format string, a ...any) {
		lines <- fmt.Sprintf("%12v %s ", time.Since(start), name) + fmt.Sprintf(format, a...)
	}
	o := p.options
	o.Notify = func(e supervise.Event) {
		note(e.Name, "exit %d %d %s %q %v", e.Exit.Run, e.Exit.Code, e.Exit.Reason, e.Decision.Action, e.Decision.Delay)
	}
	s, err := supervise.New(o)
	if err != nil {
		panic(err)
	}
	for _, w := range p.workers {
		ctx := context.Background()
		if w.removed > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, w.removed)
			defer cancel()
		}
		calls := 0
		err := s.Go(ctx, w.name, w.rules, func(ctx context.Context) error {
			calls++
			note(w.name, "start")
			var ends <-chan time.Time
			if calls <= len(w.runs) {
				ends = time.After(w.runs[calls-1].length)
			}
			select {
			case <-ends:
				return end(w.runs[calls-1].end)
			case <-ctx.Done():
				note(w.name, "cancelled")
				time.Sleep(w.linger)
				return ctx.Err()
			}
		})
		if err != nil {
			panic(err)
		}
	}
	time.Sleep(p.stop - time.Since(start))
	ctx, cancel := context.WithTimeout(context.Background(), p.deadline-p.stop)
	defer cancel()
	err = s.Stop(ctx)
	note("~", "Stop: %v", err)
	failed := s.Wait()
	close(lines)
	for line := range lines {
		log = append(log, line)
	}
	slices.SortStableFunc(log, func(a, b string) int { return strings.Compare(instantAndName(a), instantAndName(b)) })
	return append(log, fmt.Sprintf("Wait: %v", failed))
}

// instantAndName is the part of a line by which lines of one goroutine stay in order.
func instantAndName(line string) string {
	at, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	d, err := time.ParseDuration(at)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%020d %s", d, rest[:1])
}

// end ends a run.
func end(how string) error {
	switch how {
	case "nil":
		return nil
	case "error":
		return errors.New("broken")
	case "seven":
		return &supervise.ExitError{Code: 7, Err: errors.New("seven")}
	case "later":
		return fmt.Errorf("busy: %w", backoff.RetryAfter(15*time.Millisecond))
	case "permanent":
		return fmt.Errorf("disk: %w", backoff.Permanent(errors.New("full")))
	case "panic":
		panic("oops")
	}
	runtime.Goexit()
	return nil
}

// A model is a Supervisor that advances from one instant to the next.
type model struct {
	plan     plan
	now      time.Duration
	log      []string
	workers  []*modelWorker
	walks    []*walk
	stopping bool
	failures []string
}

type modelWorker struct {
	*workerPlan
	phase     string        // running, lingering, waiting or ended
	until     time.Duration // when the phase ends; forever if it does not
	run       int
	failures  int // in a row
	restarts  int
	started   time.Duration
	cancelled bool
}

// A walk is one stop of all workers, from the last to the first.
type walk struct {
	begins, deadline time.Duration
	next             int           // the worker that is waited for, +1 before it is cancelled
	until            time.Duration // when the wait for it is over
	begun, reports   bool
}

const forever = time.Duration(1 << 62)

func predict(p plan) []string {
	m := &model{plan: p, walks: []*walk{{begins: p.stop, deadline: p.deadline, reports: true}}}
	for _, w := range p.workers {
		mw := &modelWorker{workerPlan: w}
		m.workers = append(m.workers, mw)
		m.start(mw)
	}
	for m.now = m.next(); m.now < forever; m.now = m.next() {
		for _, w := range m.workers {
			if w.removed == m.now {
				m.cancel(w)
			}
			if w.phase != "ended" && w.until == m.now {
				m.phaseEnds(w)
			}
		}
		for _, k := range m.walks { // may add to them, for the same instant
			m.walk(k)
		}
		for _, k := range m.walks {
			m.walk(k)
		}
	}
	return append(m.log, "Wait: "+orNil(strings.Join(m.failures, "\n")))
}

func orNil(s string) string {
	if s == "" {
		return "<nil>"
	}
	return s
}

// next returns the next instant at which something happens.
func (m *model) next() time.Duration {
	next := forever
	consider := func(at time.Duration) {
		if at > m.now {
			next = min(next, at)
		}
	}
	for _, w := range m.workers {
		consider(w.removed)
		if w.phase != "ended" {
			consider(w.until)
		}
	}
	for _, k := range m.walks {
		consider(k.begins)
		consider(k.deadline)
		consider(k.until)
	}
	return next
}

func (m *model) note(name, format string, a ...any) {
	m.log = append(m.log, fmt.Sprintf("%12v %s ", m.now, name)+fmt.Sprintf(format, a...))
}

func (m *model) start(w *modelWorker) {
	if m.stopping || w.cancelled {
		w.phase = "ended"
		return
	}
	w.run++
	w.started = m.now
	w.phase, w.until = "running", forever
	if w.run <= len(w.runs) {
		w.until = m.now + w.runs[w.run-1].length
	}
	m.note(w.name, "start")
}

func (m *model) cancel(w *modelWorker) {
	if w.cancelled || w.phase == "ended" {
		return
	}
	w.cancelled = true
	switch w.phase {
	case "running":
		m.note(w.name, "cancelled")
		w.phase, w.until = "lingering", m.now+w.linger
	case "waiting":
		w.phase = "ended"
	}
}

func (m *model) phaseEnds(w *modelWorker) {
	switch w.phase {
	case "running":
		m.exit(w, w.runs[w.run-1].end)
	case "lingering":
		m.exit(w, "cancelled")
	case "waiting":
		m.start(w)
	}
}

func (m *model) exit(w *modelWorker, how string) {
	code := map[string]int{"nil": 0, "error": 1, "seven": 7, "later": 1, "permanent": 1, "panic": 2, "goexit": 1, "cancelled": 1}[how]
	reason := map[string]string{"nil": "Completed", "panic": "Panic", "goexit": "Goexit"}[how]
	if reason == "" {
		reason = "Error"
	}
	action, delay := "", time.Duration(0)
	if !w.cancelled && !m.stopping {
		action, delay = m.decide(w, how, code, reason)
	}
	m.note(w.name, "exit %d %d %s %q %v", w.run, code, reason, action, delay)
	if action == "Restart" {
		w.phase, w.until = "waiting", m.now+delay
		if delay == 0 {
			m.start(w)
		}
		return
	}
	w.phase = "ended"
	if action == "GiveUp" || action == "Stop" && how != "nil" || how == "panic" {
		m.fail(w, how, action)
	}
}

func (m *model) decide(w *modelWorker, how string, code int, reason string) (string, time.Duration) {
	p, limit := m.plan.options.Policy.Delay, m.plan.options.Policy.Limit
	if m.now-w.started > p.ResetAfter {
		w.failures, w.restarts = 0, 0
	}
	w.failures++
	if how == "permanent" {
		return "GiveUp", 0
	}
	for _, r := range w.rules.Rules {
		if slices.Contains(r.Reasons, reason) || r.ExitCodes != nil && slices.Contains(r.ExitCodes.Values, int32(code)) {
			return "GiveUp", 0
		}
	}
	if w.rules.RestartPolicy == "Never" || w.rules.RestartPolicy == "OnFailure" && code == 0 {
		return "Stop", 0
	}
	if limit > 0 && w.restarts == limit {
		return "GiveUp", 0
	}
	w.restarts++
	delay := time.Duration(0)
	for i := range w.failures - p.FreeFailures {
		delay = p.Initial << i
	}
	if how == "later" {
		delay = max(delay, 15*time.Millisecond)
	}
	return "Restart", min(delay, p.Max)
}

func (m *model) fail(w *modelWorker, how, action string) {
	text := map[string]string{"nil": "returned nil", "error": "broken", "seven": "seven", "later": "busy: retry after 15ms", "permanent": "disk: full", "panic": "panic: oops", "goexit": "runtime.Goexit was called"}[how]
	verb := map[string]string{"GiveUp": "gave up"}[action]
	if verb == "" {
		verb = "ended"
	}
	runs := fmt.Sprintf("%d runs", w.run)
	if w.run == 1 {
		runs = "1 run"
	}
	m.failures = append(m.failures, fmt.Sprintf("supervise: %q %s after %s: %s", w.name, verb, runs, text))
	if m.plan.options.Escalate && !m.stopping {
		m.walks = append(m.walks, &walk{begins: m.now, deadline: forever})
		m.stopping = true
	}
}

// walk advances a stop as far as it gets at this instant.
func (m *model) walk(k *walk) {
	if !k.begun {
		if k.begins != m.now {
			return
		}
		m.stopping = true
		k.begun, k.next = true, len(m.workers)
	}
	late := m.now >= k.deadline
	for k.next >= 0 {
		if k.next < len(m.workers) && m.workers[k.next].phase != "ended" && k.until > m.now && !late {
			return // it is waited for
		}
		k.next--
		if k.next >= 0 {
			m.cancel(m.workers[k.next])
			k.until = m.now + m.plan.options.StopTimeout
		}
	}
	if k.reports {
		k.reports = false
		var left []string
		for _, w := range slices.Backward(m.workers) {
			if w.phase != "ended" {
				left = append(left, fmt.Sprintf("%q", w.name))
			}
		}
		text := ""
		if len(left) > 0 {
			text = "supervise: not stopped: " + strings.Join(left, ", ")
			if late {
				text += ": context deadline exceeded"
			}
		}
		m.note("~", "Stop: %s", orNil(text))
	}
}

// The Supervisor does what the model does, at the same instants.
func TestSupervisorMatchesTheModel(t *testing.T) {
	words := []string{"start", "cancelled", "Restart", "GiveUp", `"Stop"`, "Panic", "Goexit", "disk: full", "not stopped", "deadline", "<nil>", "ended after"}
	counts := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		var got []string
		rapid.SyncTest(t, func(t *rapid.T) { got = play(p) })
		want := predict(p)
		slices.SortStableFunc(want[:len(want)-1], func(a, b string) int { return strings.Compare(instantAndName(a), instantAndName(b)) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-model +supervisor:\n%s", diff)
		}
		for _, word := range words {
			if strings.Contains(strings.Join(got, "\n"), word) {
				counts[word]++
			}
		}
	})
	t.Log(counts)
	if !rapidseed.Fixed() {
		return
	}
	for _, word := range words {
		if counts[word] == 0 {
			t.Errorf("no plan led to %q", word)
		}
	}
}
