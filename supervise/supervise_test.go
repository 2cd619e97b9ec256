package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/supervise"
)

var never = backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever}

func newSupervisor(t *testing.T, o supervise.Options) *supervise.Supervisor {
	t.Helper()
	s, err := supervise.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func start(t *testing.T, s *supervise.Supervisor, name string, rules backoff.ExitPolicy, f func(context.Context) error) {
	t.Helper()
	if err := s.Go(context.Background(), name, rules, f); err != nil {
		t.Fatal(err)
	}
}

func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func fail(context.Context) error { return errors.New("broken") }

func TestNewListsEveryMistake(t *testing.T) {
	_, err := supervise.New(supervise.Options{
		Policy: backoff.ExitPolicy{Delay: &backoff.Policy{Initial: time.Second}, Limit: -1, Window: -1}, Rate: math.NaN(), Burst: -1, StopTimeout: -1,
	})
	var errs field.Errors
	if !errors.As(err, &errs) {
		t.Fatal(err)
	}
	var fields []string
	for _, e := range errs {
		fields = append(fields, e.Field)
	}
	slices.Sort(fields)
	if got, want := strings.Join(fields, " "), "Burst Rate StopTimeout delay.max limit window"; got != want {
		t.Errorf("mistakes in %s, want %s", got, want)
	}
	if !strings.HasPrefix(err.Error(), "supervise: New: ") {
		t.Error(err)
	}
}

// The defaults that Options documents, by their effect.
func TestZeroOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(t, supervise.Options{})
		begin := time.Now()
		var starts []time.Duration
		start(t, s, "crashing", backoff.ExitPolicy{}, func(context.Context) error {
			starts = append(starts, time.Since(begin))
			if len(starts) == 3 {
				time.Sleep(2*time.Minute + 1)
			}
			return errors.New("broken")
		})
		start(t, s, "hung", backoff.ExitPolicy{}, func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(10*time.Second + 1)
			return nil
		})
		time.Sleep(2*time.Hour + time.Second)
		synctest.Wait()
		gap := func(i int) time.Duration { return starts[i+1] - starts[i] }
		for i, want := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 2*time.Minute + 1 + 100*time.Millisecond, 200 * time.Millisecond} {
			if gap(i) != want {
				t.Errorf("call %d comes %v after the one before it, want %v", i+2, gap(i), want)
			}
		}
		if got := gap(len(starts) - 2); got != time.Minute {
			t.Errorf("the longest delay is %v", got)
		}
		stopping := time.Now()
		if err := s.Stop(context.Background()); err == nil || time.Since(stopping) != 10*time.Second {
			t.Errorf("Stop returns after %v: %v", time.Since(stopping), err)
		}
		_ = s.Wait()
	})
}

func TestGoRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(t, supervise.Options{})
		start(t, s, "used", backoff.ExitPolicy{}, untilDone)
		done, cancel := context.WithCancel(context.Background())
		cancel()
		all := []backoff.Rule{{Action: backoff.ActionRestartAll, Reasons: []string{"Panic"}}}
		for _, c := range []struct {
			ctx   context.Context
			name  string
			rules backoff.ExitPolicy
			f     func(context.Context) error
			want  string
		}{
			{context.Background(), "", backoff.ExitPolicy{}, fail, `supervise: Go(""): empty name`},
			{context.Background(), "x", backoff.ExitPolicy{}, nil, `supervise: Go("x"): nil function`},
			{nil, "x", backoff.ExitPolicy{}, fail, `supervise: Go("x"): nil context`},
			{done, "x", backoff.ExitPolicy{}, fail, `supervise: Go("x"): context canceled`},
			{context.Background(), "used", backoff.ExitPolicy{}, fail, `supervise: Go("used"): name in use`},
			{context.Background(), "a\nb\x1b[31m", backoff.ExitPolicy{}, nil, `supervise: Go("a\nb\x1b[31m"): nil function`},
			{context.Background(), "x", backoff.ExitPolicy{RestartPolicy: "Sometimes"}, fail, `restartPolicy: `},
			{context.Background(), "x", backoff.ExitPolicy{Rules: all}, fail, `restartPolicyRules[0].action: `},
		} {
			err := s.Go(c.ctx, c.name, c.rules, c.f)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		}
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.Go(context.Background(), "late", backoff.ExitPolicy{}, fail); !errors.Is(err, supervise.ErrStopped) {
			t.Error(err)
		}
	})
}

type coded int

func (c coded) Error() string { return "coded" }
func (c coded) ExitCode() int { return int(c) }

// Each way of exiting has the code and the reason that Event documents.
func TestExits(t *testing.T) {
	var typedNil *supervise.ExitError
	for name, c := range map[string]struct {
		f      func() error
		code   int32
		reason string
	}{
		"nil":             {func() error { return nil }, 0, "Completed"},
		"error":           {func() error { return io.EOF }, 1, "Error"},
		"foreign context": {func() error { return context.Canceled }, 1, "Error"},
		"code":            {func() error { return fmt.Errorf("x: %w", &supervise.ExitError{Code: 42, Err: io.EOF}) }, 42, "Error"},
		"reason":          {func() error { return &supervise.ExitError{Reason: "Config", Err: io.EOF} }, 1, "Config"},
		"code and reason": {func() error { return &supervise.ExitError{Code: 3, Reason: "Config", Err: io.EOF} }, 3, "Config"},
		"process":         {func() error { return exec.Command("false").Run() }, 1, "Error"},
		"killed":          {func() error { return coded(-1) }, 1, "Error"},
		"largest code":    {func() error { return coded(math.MaxInt32) }, math.MaxInt32, "Error"},
		"nested": {func() error {
			return errors.Join(&supervise.GiveUpError{Event: supervise.Event{Err: &supervise.ExitError{Code: 9, Err: io.EOF}}})
		}, 1, "GiveUp"},
		"goexit":            {func() error { runtime.Goexit(); return nil }, 1, "Goexit"},
		"panic":             {func() error { panic("oops") }, 2, "Panic"},
		"panic with error":  {func() error { panic(io.EOF) }, 2, "Panic"},
		"panic with nil":    {func() error { panic(nil) }, 2, "Panic"}, //nolint:govet
		"nil dereferenced":  {func() error { var p *int; *p = 1; return nil }, 2, "Panic"},
		"nil of an error":   {func() error { return typedNil }, 2, "Panic"},
		"panic, then exit":  {func() error { defer runtime.Goexit(); panic("oops") }, 1, "Goexit"},
		"recovered by hand": {func() (err error) { defer func() { err, _ = recover().(error) }(); panic(io.EOF) }, 1, "Error"},
	} {
		t.Run(name, func(t *testing.T) {
			var events []supervise.Event
			s := newSupervisor(t, supervise.Options{Notify: func(e supervise.Event) { events = append(events, e) }})
			start(t, s, name, never, func(context.Context) error { return c.f() })
			err := s.Wait()
			if len(events) != 1 {
				t.Fatalf("%d events", len(events))
			}
			e := events[0]
			if e.Name != name || e.Exit.Run != 1 || e.Exit.Code != c.code || e.Exit.Reason != c.reason || e.Decision.Action != backoff.ActionStop {
				t.Errorf("%+v, want code %d, reason %s", e, c.code, c.reason)
			}
			if e.Exit.Started.IsZero() || e.Exit.Finished.Before(e.Exit.Started) {
				t.Errorf("from %v to %v", e.Exit.Started, e.Exit.Finished)
			}
			var failure *supervise.GiveUpError
			if errors.As(err, &failure) != (c.code != 0) {
				t.Errorf("Wait: %v", err)
			}
			if c.code != 0 && failure.Exit != e.Exit {
				t.Errorf("Wait: %+v, but the event was %+v", failure, e)
			}
			var p *supervise.PanicError
			if got := errors.As(err, &p); got != (c.reason == "Panic") {
				t.Errorf("a panic: %v", got)
			} else if got && name != "nil of an error" && !strings.Contains(string(p.Stack), "supervise_test.go") {
				t.Errorf("the stack does not show the function:\n%s", p.Stack)
			}
			if name == "panic with error" && !errors.Is(err, io.EOF) {
				t.Error("the value of the panic is lost")
			}
		})
	}
}

// detailed is an error whose methods panic if it is nil.
type detailed struct {
	text  string
	code  int
	cause error
}

func (d *detailed) Error() string { return d.text }
func (d *detailed) ExitCode() int { return d.code }
func (d *detailed) Unwrap() error { return d.cause }

// textOnly has only Error, which panics if it is nil.
type textOnly struct{ text string }

func (e *textOnly) Error() string { return e.text }

// A nil pointer that is returned as an error, and whose methods panic, is a failure like
// any other: the function is called again, the others go on, and all texts can be read.
func TestNilPointersAsErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		reason string
		text   string // in the event and in the error of Wait
	}{
		"Error panics":                 {(*textOnly)(nil), "Error", "<nil>"},
		"Unwrap and ExitCode panic":    {(*detailed)(nil), "Panic", "nil pointer"},
		"it is wrapped":                {errors.Join((*textOnly)(nil)), "Error", "nil pointer"},
		"it is wrapped with ExitCode":  {errors.Join((*detailed)(nil)), "Panic", "nil pointer"},
		"an ExitError":                 {(*supervise.ExitError)(nil), "Panic", "nil pointer"},
		"an ExitError without an Err":  {&supervise.ExitError{Code: 3}, "Error", "nil pointer"},
		"a GiveUpError":                {(*supervise.GiveUpError)(nil), "GiveUp", "<nil>"},
		"a PanicError":                 {(*supervise.PanicError)(nil), "Panic", "nil pointer"},
		"a panic with such an error":   {nil, "Panic", "panic: <nil>"},
		"Permanent with such an error": {backoff.Permanent((*textOnly)(nil)), "Error", "nil pointer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var texts []string
				s := newSupervisor(t, supervise.Options{Notify: func(e supervise.Event) {
					if e.Name == "other" {
						return
					}
					texts = append(texts, e.String())
					if e.Exit.Reason != tt.reason || !strings.Contains(e.String(), tt.text) {
						t.Errorf("%v: reason %s; want %s, and a text with %q", e, e.Exit.Reason, tt.reason, tt.text)
					}
				}})
				otherStopped := false
				start(t, s, "other", never, func(ctx context.Context) error {
					<-ctx.Done()
					otherStopped = true
					return nil
				})
				start(t, s, "failing", backoff.ExitPolicy{Retries: 2}, func(context.Context) error {
					if tt.err == nil {
						panic((*textOnly)(nil))
					}
					return tt.err
				})
				time.Sleep(time.Minute)
				synctest.Wait()
				want := 3
				if strings.HasPrefix(name, "Permanent") {
					want = 1
				}
				if len(texts) != want || otherStopped {
					t.Errorf("%d exits, want %d; the other stopped: %v", len(texts), want, otherStopped)
				}
				err := s.Stop(context.Background())
				if failed := s.Wait(); err != nil || failed == nil || !strings.Contains(failed.Error(), tt.text) || !otherStopped {
					t.Errorf("Stop: %v; Wait: %v; the other stopped: %v", err, failed, otherStopped)
				}
			})
		})
	}
}

// Rules match codes and reasons, marks of errors come before them, and Limit ends a
// goroutine. No delay exceeds Max.
func TestRulesDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		rules := backoff.ExitPolicy{Rules: []backoff.Rule{
			{Name: "config", Action: backoff.ActionGiveUp, Reasons: []string{"Config"}},
			{Name: "bug", Action: backoff.ActionRestart, Reasons: []string{supervise.ReasonPanic}, Limit: 1},
		}}
		run := func(name string, errs ...error) {
			s := newSupervisor(t, supervise.Options{Policy: backoff.ExitPolicy{Limit: 2}, Notify: func(e supervise.Event) { log = append(log, e.String()) }})
			start(t, s, name, rules, func(context.Context) error {
				err := errs[0]
				if len(errs) > 1 {
					errs = errs[1:]
				}
				if err == io.EOF {
					panic("oops")
				}
				return err
			})
			err := s.Wait()
			log = append(log, fmt.Sprint("Wait: ", err))
		}
		run("p", io.ErrClosedPipe, fmt.Errorf("disk: %w", backoff.Permanent(errors.New("full"))))
		run("r", fmt.Errorf("busy: %w", backoff.RetryAfter(5*time.Second)), backoff.RetryAfter(time.Hour), nil)
		run("a", nil, io.ErrClosedPipe)
		run("b", io.EOF)
		run("c", io.ErrClosedPipe, &supervise.ExitError{Code: 78, Reason: "Config", Err: errors.New("bad port")})
		want := `
"p", run 1: io: read/write on closed pipe: Restart after 100ms
"p", run 2: disk: full: GiveUp
Wait: supervise: "p" gave up after 2 runs: disk: full
"r", run 1: busy: retry after 5s: Restart after 5s
"r", run 2: retry after 1h0m0s: Restart after 1m0s
"r", run 3: returned nil: GiveUp
Wait: supervise: "r" gave up after 3 runs: returned nil
"a", run 1: returned nil: Restart after 100ms
"a", run 2: io: read/write on closed pipe: Restart after 200ms
"a", run 3: io: read/write on closed pipe: GiveUp
Wait: supervise: "a" gave up after 3 runs: io: read/write on closed pipe
"b", run 1: panic: oops: Restart after 100ms
"b", run 2: panic: oops: GiveUp
Wait: supervise: "b" gave up after 2 runs: panic: oops
"c", run 1: io: read/write on closed pipe: Restart after 100ms
"c", run 2: bad port: GiveUp
Wait: supervise: "c" gave up after 2 runs: bad port`
		if got := "\n" + strings.Join(log, "\n"); got != want {
			t.Errorf("got%s\nwant%s", got, want)
		}
	})
}

// A failure is of one kind of end or another; a function that was stopped has none, unless
// it panics.
func TestWaitReturnsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(t, supervise.Options{})
		start(t, s, "stopped", never, func(ctx context.Context) error { <-ctx.Done(); return io.EOF })
		start(t, s, "panics", never, func(ctx context.Context) error { <-ctx.Done(); panic("late") })
		var completed context.Context
		start(t, s, "completed", never, func(ctx context.Context) error { completed = ctx; return nil })
		start(t, s, "failed", never, fail)
		synctest.Wait()
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if completed.Err() == nil {
			t.Error("the context of a goroutine that has ended is not released")
		}
		want := "supervise: \"failed\" ended after 1 run: broken\nsupervise: \"panics\" ended after 1 run: panic: late"
		for range 2 {
			if err := s.Wait(); fmt.Sprint(err) != want {
				t.Errorf("Wait: %v", err)
			}
		}
	})
}

func TestFailuresAreBounded(t *testing.T) {
	s := newSupervisor(t, supervise.Options{})
	for i := range 130 {
		start(t, s, fmt.Sprint(i), never, fail)
	}
	err := s.Wait()
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 101 || lines[100] != "supervise: 30 more goroutines failed" {
		t.Errorf("%d lines, the last is %s", len(lines), lines[len(lines)-1])
	}
}

// A stop cancels in the reverse order of Go, each after the one before has ended. A hung
// function delays it by StopTimeout, and the end of the context cuts it short.
func TestStopOrder(t *testing.T) {
	for name, c := range map[string]struct {
		deadline time.Duration
		want     string
	}{
		"in time": {time.Minute, `2s c cancelled, 3s b cancelled, 8s a cancelled, 9s supervise: not stopped: "b"`},
		"cut off": {4 * time.Second, `2s c cancelled, 3s b cancelled, 6s a cancelled, 6s supervise: not stopped: "b", "a": context deadline exceeded`},
		"at once": {0, `2s a cancelled, 2s b cancelled, 2s c cancelled, 2s supervise: not stopped: "c", "b", "a": context deadline exceeded`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSupervisor(t, supervise.Options{StopTimeout: 5 * time.Second})
				begin := time.Now()
				var mu sync.Mutex
				var log []string
				note := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					log = append(log, fmt.Sprint(time.Since(begin), " ", what))
				}
				for _, f := range []struct {
					name   string
					linger time.Duration
				}{{"a", time.Second}, {"b", time.Hour}, {"c", time.Second}} {
					start(t, s, f.name, backoff.ExitPolicy{}, func(ctx context.Context) error {
						<-ctx.Done()
						note(f.name + " cancelled")
						time.Sleep(f.linger)
						return nil
					})
				}
				start(t, s, "waiting", backoff.ExitPolicy{}, fail)
				time.Sleep(2 * time.Second)
				ctx, cancel := context.WithTimeout(context.Background(), c.deadline)
				defer cancel()
				err := s.Stop(ctx)
				synctest.Wait()
				note(fmt.Sprint(err))
				slices.Sort(log)
				if got := strings.Join(log, ", "); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				if c.deadline == time.Minute {
					if left := slices.Collect(maps.Keys(maps.Collect(s.All()))); !slices.Equal(left, []string{"b"}) {
						t.Errorf("All yields %q", left)
					}
				}
				if err := s.Wait(); err != nil {
					t.Error(err)
				}
				if err := s.Stop(context.Background()); err != nil {
					t.Errorf("after all have ended: %v", err)
				}
			})
		})
	}
}

// A goroutine that has not called its function yet ends without a call, and a stop that
// has no time for it does not report it.
func TestStopRightAfterGo(t *testing.T) {
	for range 1000 {
		s := newSupervisor(t, supervise.Options{})
		called, release := make(chan struct{}), make(chan struct{})
		start(t, s, "a", backoff.ExitPolicy{}, func(context.Context) error { close(called); <-release; return nil })
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := s.Stop(ctx)
		close(release)
		_ = s.Wait()
		select {
		case <-called:
		default:
			if err != nil {
				t.Fatalf("%v, but it was never called", err)
			}
		}
	}
}

func TestLongListsOfNamesAreCut(t *testing.T) {
	for n, want := range map[int]string{20: `"1", "0": context canceled`, 25: `"6", "5" and 5 more: context canceled`} {
		synctest.Test(t, func(t *testing.T) {
			s := newSupervisor(t, supervise.Options{})
			for i := range n {
				start(t, s, fmt.Sprint(i), never, func(context.Context) error { time.Sleep(time.Second); return nil })
			}
			synctest.Wait()
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := s.Stop(ctx); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
			_ = s.Wait()
		})
	}
}

// Stops from everywhere at once, from supervised functions and Notify, too.
func TestConcurrentStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *supervise.Supervisor
		var fromNotify, fromFunction error
		s = newSupervisor(t, supervise.Options{StopTimeout: time.Second, Notify: func(e supervise.Event) {
			if e.Name == "notified" {
				fromNotify = s.Stop(context.Background())
			}
		}})
		start(t, s, "notified", never, func(ctx context.Context) error { time.Sleep(time.Second); return nil })
		start(t, s, "stops", never, func(ctx context.Context) error {
			time.Sleep(time.Second)
			fromFunction = s.Stop(ctx)
			return nil
		})
		for i := range 20 {
			start(t, s, fmt.Sprint(i), backoff.ExitPolicy{}, untilDone)
		}
		time.Sleep(time.Second)
		var stops sync.WaitGroup
		for range 20 {
			stops.Go(func() { _ = s.Stop(context.Background()) })
		}
		stops.Wait()
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
		if fromNotify == nil || !strings.Contains(fromNotify.Error(), `"notified"`) {
			t.Errorf("Stop in Notify: %v", fromNotify)
		}
		if fromFunction == nil || !strings.Contains(fromFunction.Error(), `"stops"`) || !errors.Is(fromFunction, context.Canceled) {
			t.Errorf("Stop in a function, with its context: %v", fromFunction)
		}
	})
}

func TestRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(t, supervise.Options{StopTimeout: time.Second})
		if err := s.Remove(context.Background(), "nobody\n"); fmt.Sprint(err) != `supervise: Remove("nobody\n"): no such goroutine` {
			t.Error(err)
		}
		calls := 0
		for range 3 { // a name is free again, and starts over
			start(t, s, "a", backoff.ExitPolicy{}, func(context.Context) error { calls++; return io.EOF })
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if err := s.Remove(context.Background(), "a"); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if calls != 6 {
			t.Errorf("%d calls, want 6: two for each, since none follows Remove", calls)
		}
		start(t, s, "hung", backoff.ExitPolicy{}, func(context.Context) error { time.Sleep(time.Minute); return nil })
		synctest.Wait()
		if err := s.Remove(context.Background(), "hung"); fmt.Sprint(err) != `supervise: not stopped: "hung"` {
			t.Error(err)
		}
		if err := s.Go(context.Background(), "hung", backoff.ExitPolicy{}, fail); err == nil {
			t.Error("a second one beside the hung one")
		}
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// Run returns when its context is done, when all goroutines have ended, when a failure
// escalates, and when another goroutine stops the Supervisor.
func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		options supervise.Options
		rules   backoff.ExitPolicy
		first   func(context.Context) error
		after   time.Duration
		want    string
	}{
		"context":    {supervise.Options{}, never, untilDone, time.Minute, "<nil>"},
		"escalated":  {supervise.Options{Escalate: true}, never, fail, 0, `supervise: "first" ended after 1 run: broken`},
		"carries on": {supervise.Options{}, never, fail, time.Minute, `supervise: "first" ended after 1 run: broken`},
		"hung": {supervise.Options{StopTimeout: time.Second}, never, func(context.Context) error { time.Sleep(time.Hour); return nil },
			time.Minute + time.Second, `supervise: not stopped: "first"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSupervisor(t, c.options)
				start(t, s, "second", never, untilDone)
				start(t, s, "first", c.rules, c.first) // may escalate at once
				begin := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if err := s.Run(ctx); fmt.Sprint(err) != c.want || time.Since(begin) != c.after {
					t.Errorf("after %v: %v, want %s after %v", time.Since(begin), err, c.want, c.after)
				}
				_ = s.Wait()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // after the failure
		s := newSupervisor(t, supervise.Options{Escalate: true})
		start(t, s, "hung", never, func(context.Context) error { time.Sleep(time.Minute); return nil })
		synctest.Wait()
		start(t, s, "first", never, fail)
		synctest.Wait()
		begin := time.Now()
		want := "supervise: \"first\" ended after 1 run: broken\nsupervise: not stopped: \"hung\""
		if err := s.Run(context.Background()); fmt.Sprint(err) != want || time.Since(begin) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		if err := s.Run(context.Background()); fmt.Sprint(err) != "supervise: Run: called before" {
			t.Error(err)
		}
		_ = s.Wait()
	})
	synctest.Test(t, func(t *testing.T) { // stopped by another
		s := newSupervisor(t, supervise.Options{StopTimeout: time.Second})
		start(t, s, "hung", never, func(context.Context) error { time.Sleep(time.Hour); return nil })
		time.AfterFunc(time.Minute, func() { _ = s.Stop(context.Background()) })
		begin := time.Now()
		if err := s.Run(context.Background()); fmt.Sprint(err) != `supervise: not stopped: "hung"` || time.Since(begin) != time.Minute+time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		_ = s.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(t, supervise.Options{})
		start(t, s, "short", never, func(context.Context) error { time.Sleep(time.Second); return nil })
		begin := time.Now()
		if err := s.Run(context.Background()); err != nil || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		if err := newSupervisor(t, supervise.Options{}).Run(context.Background()); err != nil {
			t.Errorf("without goroutines: %v", err)
		}
	})
}

// A nested Supervisor that gives up is one failure of its parent's goroutine. The parent
// builds it anew, and stops it from the leaves up.
func TestTrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		parent := newSupervisor(t, supervise.Options{Notify: func(e supervise.Event) { log = append(log, e.String()) }})
		builds := 0
		start(t, parent, "db", backoff.ExitPolicy{}, func(ctx context.Context) error {
			builds++
			child := newSupervisor(t, supervise.Options{Policy: backoff.ExitPolicy{Limit: 1}, Escalate: true})
			for _, name := range []string{"pool", "pinger"} {
				start(t, child, name, backoff.ExitPolicy{}, func(ctx context.Context) error {
					if name == "pinger" && builds == 1 {
						return io.EOF
					}
					<-ctx.Done()
					log = append(log, name+" stops")
					return nil
				})
			}
			return child.Run(ctx)
		})
		time.Sleep(time.Minute)
		if err := parent.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		want := `pool stops
"db", run 1: supervise: "pinger" gave up after 2 runs: EOF: Restart after 100ms
pinger stops
pool stops
"db", run 2: returned nil: stopped`
		if got := strings.Join(log, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// A parent gives up a Supervisor that is run again, and one with a permanent failure.
func TestTreesGiveUpForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := newSupervisor(t, supervise.Options{})
		parent := newSupervisor(t, supervise.Options{})
		start(t, parent, "used", backoff.ExitPolicy{}, used.Run)
		start(t, parent, "permanent", backoff.ExitPolicy{}, func(ctx context.Context) error {
			child := newSupervisor(t, supervise.Options{})
			start(t, child, "leaf", backoff.ExitPolicy{}, func(context.Context) error { return backoff.Permanent(io.EOF) })
			return child.Run(ctx)
		})
		err := parent.Wait()
		for _, want := range []string{
			`supervise: "used" gave up after 2 runs: supervise: Run: called before`,
			`supervise: "permanent" gave up after 1 run: supervise: "leaf" gave up after 1 run: EOF`,
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%v hides its cause", err)
		}
	})
}

// Restarts pile up neither stack frames nor goroutines.
func TestRestartsTakeNoSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(t, supervise.Options{Policy: backoff.ExitPolicy{Delay: &backoff.Policy{Initial: 1, Max: 1, FreeFailures: 500}}})
		var depths []int
		counted := make(chan struct{}) // to and from the test, which counts while a call waits
		start(t, s, "a", backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure}, func(context.Context) error {
			depths = append(depths, runtime.Callers(0, make([]uintptr, 100)))
			n := len(depths)
			if n == 10 || n == 990 {
				counted <- struct{}{}
				<-counted
			}
			switch {
			case n == 1000:
				return nil
			case n%2 == 0:
				panic("oops")
			}
			return io.EOF
		})
		var goroutines [2]int
		for i := range goroutines {
			<-counted
			synctest.Wait() // those that are ending have ended
			goroutines[i] = goroutinesInBubble(t)
			counted <- struct{}{}
		}
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
		if d := slices.Max(depths); d > depths[0] {
			t.Errorf("the stack grows from %d frames to %d", depths[0], d)
		}
		if goroutines[0] != goroutines[1] {
			t.Errorf("there are %d goroutines, later %d", goroutines[0], goroutines[1])
		}
	})
}

// goroutinesInBubble returns the number of goroutines in the caller's synctest bubble.
func goroutinesInBubble(t *testing.T) int {
	stacks := make([]byte, 1<<20)
	own := string(stacks[:runtime.Stack(stacks, false)])
	header, _, _ := strings.Cut(own, "\n")
	_, bubble, ok := strings.Cut(header, ", synctest bubble ")
	if !ok {
		t.Fatalf("no bubble in %q", header)
	}
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), ", synctest bubble "+bubble+"\n")
}

// Rand and Rate reach the delays.
func TestRandAndRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delays []time.Duration
		s := newSupervisor(t, supervise.Options{
			Policy: backoff.ExitPolicy{Delay: &backoff.Policy{Initial: time.Second, Max: time.Second, Jitter: 1}, Limit: 4},
			Rand:   func() float64 { return 0.75 }, Rate: 0.1, Burst: 2,
			Notify: func(e supervise.Event) { delays = append(delays, e.Decision.Delay) },
		})
		start(t, s, "a", backoff.ExitPolicy{}, fail)
		_ = s.Wait()
		if got := fmt.Sprint(delays); got != "[250ms 250ms 9.75s 10s 0s]" {
			t.Error(got)
		}
	})
}

// Waits do not follow a clock that is set, and a run that seems to end before it began
// starts no curve over.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &offsetClock{}
		begin := time.Now()
		var starts []time.Duration
		s := newSupervisor(t, supervise.Options{Clock: c})
		start(t, s, "a", backoff.ExitPolicy{}, func(context.Context) error {
			starts = append(starts, time.Since(begin))
			c.set(-24 * time.Hour)
			return io.EOF
		})
		time.Sleep(time.Second)
		synctest.Wait()
		if want := []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond}; !slices.Equal(starts, want) {
			t.Errorf("calls at %v, want %v", starts, want)
		}
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Every wait is by the given clock.
func TestClockIsTheOnlyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktesting.NewFakeClock(time.Unix(0, 0))
		calls := 0
		s := newSupervisor(t, supervise.Options{Clock: c, Policy: backoff.ExitPolicy{Delay: &backoff.Policy{Initial: time.Second, Max: time.Second, FreeFailures: 1}}})
		start(t, s, "a", backoff.ExitPolicy{}, func(context.Context) error { calls++; return io.EOF })
		time.Sleep(time.Hour)
		synctest.Wait()
		if calls != 2 {
			t.Fatalf("%d calls", calls)
		}
		c.Step(time.Second)
		synctest.Wait()
		if calls != 3 {
			t.Errorf("%d calls after the delay", calls)
		}
		release := make(chan struct{})
		start(t, s, "hung", backoff.ExitPolicy{}, func(context.Context) error { <-release; return nil })
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- s.Stop(context.Background()) }()
		time.Sleep(time.Hour)
		if len(stopped) != 0 {
			t.Fatal("Stop does not wait for StopTimeout of the clock")
		}
		c.Step(10 * time.Second)
		if err := <-stopped; err == nil {
			t.Error("Stop does not report the function")
		}
		close(release)
		if err := s.Stop(context.Background()); err != nil || c.HasWaiters() {
			t.Errorf("timers are left: %v, %v", c.HasWaiters(), err)
		}
	})
}

// A context that is done between Go and the first call prevents the call.
func TestContextDoneBeforeTheFirstCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(t, supervise.Options{Notify: func(e supervise.Event) { t.Errorf("an exit: %v", e) }})
		ctx := &doneLater{Context: context.Background()}
		if err := s.Go(ctx, "a", backoff.ExitPolicy{}, func(context.Context) error { t.Error("called"); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// doneLater is done from the second time that somebody asks.
type doneLater struct {
	context.Context
	asked int
}

func (d *doneLater) Err() error {
	if d.asked++; d.asked > 1 {
		return context.Canceled
	}
	return nil
}

func (d *doneLater) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestNotifyThatExitsEndsTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := newSupervisor(t, supervise.Options{Notify: func(supervise.Event) { runtime.Goexit() }})
		start(t, s, "a", backoff.ExitPolicy{}, func(context.Context) error { calls++; return io.EOF })
		if err := s.Wait(); err != nil || calls != 1 {
			t.Errorf("%d calls: %v", calls, err)
		}
	})
}

func TestAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(t, supervise.Options{})
		for i := range 12 {
			start(t, s, fmt.Sprint(i), backoff.ExitPolicy{}, untilDone)
		}
		start(t, s, "fails", backoff.ExitPolicy{}, fail)
		time.Sleep(150 * time.Millisecond)
		var names []string
		for name, state := range s.All() {
			names = append(names, name)
			if name == "fails" {
				due := time.Until(state.Last.Decision.NotBefore)
				if state.Running || state.Run != 2 || state.Last.Exit.Run != 2 || state.Last.Err == nil || due != 150*time.Millisecond {
					t.Errorf("%s: %+v, due in %v", name, state, due)
				}
				continue
			}
			if !state.Running || state.Run != 1 || state.Last.Exit.Run != 0 {
				t.Errorf("%s: %+v", name, state)
			}
			if err := s.Remove(context.Background(), name); err != nil { // the loop may
				t.Error(err)
			}
		}
		if got := strings.Join(names, " "); got != "0 1 2 3 4 5 6 7 8 9 10 11 fails" {
			t.Error(got)
		}
		_ = s.Stop(context.Background())
		for name := range s.All() {
			t.Errorf("%s is left", name)
		}
	})
}

// offsetClock is the real clock, set at will.
type offsetClock struct {
	clock.RealClock
	mu     sync.Mutex
	offset time.Duration
}

func (c *offsetClock) set(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += by
}

func (c *offsetClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Round(0).Add(c.offset)
}

func (c *offsetClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// A panic in an option's function ends the program, at once and with its own exit code.
func TestPanicInAnOptionEndsTheProgram(t *testing.T) {
	options := map[string]supervise.Options{
		"Notify":   {Notify: func(supervise.Event) { panic("Notify") }},
		"Escalate": {Notify: func(supervise.Event) { panic("Escalate") }, Escalate: true},
		"Rand":     {Policy: backoff.ExitPolicy{Delay: &backoff.Policy{Initial: time.Hour, Max: time.Hour, Jitter: 0.5}}, Rand: func() float64 { panic("Rand") }},
	}
	if name := os.Getenv("SUPERVISE_PANIC"); name != "" {
		s, err := supervise.New(options[name])
		if err == nil {
			err = s.Go(context.Background(), name, backoff.ExitPolicy{}, func(context.Context) error { return errors.New("failed") })
		}
		fmt.Println(err, s.Run(context.Background()))
		os.Exit(0)
	}
	for name := range options {
		for range 5 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestPanicInAnOptionEndsTheProgram$", "-test.timeout=1m")
			cmd.Env = append(os.Environ(), "SUPERVISE_PANIC="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "panic: "+name) || strings.Contains(string(out), "timed out") {
				t.Errorf("%s: %v: %s", name, err, out)
			}
		}
	}
}
