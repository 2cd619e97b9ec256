package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

var errBusy = errors.New("busy")

// script is a function for Retry that fails and takes time as told, then succeeds.
type script struct {
	steps  []scriptStep
	begins []time.Duration
	start  time.Time
}

type scriptStep struct {
	Takes     time.Duration
	Permanent bool
	After     time.Duration
}

func (s *script) call(context.Context) error {
	s.begins = append(s.begins, time.Since(s.start))
	if len(s.steps) == 0 {
		return nil
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	time.Sleep(step.Takes)
	err := fmt.Errorf("try %d: %w", len(s.begins), errBusy)
	if step.After > 0 {
		err = errors.Join(err, backoff.RetryAfter(step.After))
	}
	if step.Permanent {
		err = fmt.Errorf("hopeless: %w", backoff.Permanent(err))
	}
	return err
}

// modelRetry is Retry without jitter, spelled out: when each call begins, whether one
// succeeds, when Retry returns and whether the context ended it.
func modelRetry(p backoff.Policy, o backoff.RetryOptions, stop, deadline time.Duration, steps []scriptStep) (begins []time.Duration, ok bool, end time.Duration, byContext bool) {
	now := time.Duration(0)
	cut := min(stop, deadline) // when the context is done
	if cut <= 0 {
		return nil, false, 0, true
	}
	for i := 0; ; i++ {
		begins = append(begins, now)
		if i == len(steps) {
			return begins, true, now, false
		}
		s := steps[i]
		now += s.Takes
		switch {
		case now >= cut:
			return begins, false, now, true
		case s.Permanent, i+1 == o.Attempts:
			return begins, false, now, false
		}
		delay := max(p.Delay(i+1), s.After)
		switch {
		case o.Elapsed > 0 && now+delay > o.Elapsed:
			return begins, false, now, false
		case deadline != never && deadline < now+delay:
			return begins, false, now, true
		case now+delay >= cut:
			return begins, false, cut, true
		}
		now += delay
	}
}

const never = time.Duration(math.MaxInt64)

func TestRetryAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ms := func(label string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(rt, label)) * time.Millisecond
		}
		p := backoff.Policy{Initial: 10 * time.Millisecond, Max: 70 * time.Millisecond, FreeFailures: rapid.IntRange(0, 2).Draw(rt, "free")}
		var o backoff.RetryOptions
		if rapid.Bool().Draw(rt, "attempts?") {
			o.Attempts = rapid.IntRange(1, 6).Draw(rt, "attempts")
		}
		if rapid.Bool().Draw(rt, "elapsed?") {
			o.Elapsed = ms("elapsed", 300)
		}
		stop, deadline := never, never
		if rapid.Bool().Draw(rt, "stop?") {
			stop = ms("stop", 300) + time.Microsecond // not with another instant
		}
		if rapid.Bool().Draw(rt, "deadline?") {
			deadline = ms("deadline", 300) + time.Microsecond
		}
		steps := make([]scriptStep, rapid.IntRange(0, 8).Draw(rt, "failures"))
		for i := range steps {
			steps[i] = scriptStep{Takes: ms("takes", 50), Permanent: rapid.IntRange(0, 7).Draw(rt, "permanent") == 0}
			if rapid.IntRange(0, 3).Draw(rt, "after?") == 0 {
				steps[i].After = ms("after", 200)
			}
		}
		want, wantOK, wantEnd, wantContext := modelRetry(p, o, stop, deadline, steps)

		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			start := time.Now()
			if deadline != never {
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadline(ctx, start.Add(deadline))
				defer cancel()
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if stop != never {
				defer time.AfterFunc(stop, cancel).Stop()
			}
			notified := 0
			o := o
			o.Notify = func(attempt int, err error, delay time.Duration) {
				if notified++; attempt != notified || !errors.Is(err, errBusy) || delay < p.Delay(attempt) {
					rt.Errorf("notified of %d, %v, %v", attempt, err, delay)
				}
			}
			s := &script{steps: steps, start: start}
			err := backoff.Retry(ctx, p, s.call, o)
			if diff := cmp.Diff(want, s.begins); diff != "" {
				rt.Fatalf("calls begin %s", diff)
			}
			if got := time.Since(start); got != wantEnd {
				rt.Fatalf("returned after %v, want %v", got, wantEnd)
			}
			if (err == nil) != wantOK {
				rt.Fatalf("error %v", err)
			}
			if err == nil {
				return
			}
			var gaveUp *backoff.RetryError
			if !errors.As(err, &gaveUp) || gaveUp.Attempts != len(want) || gaveUp.Elapsed != wantEnd || !errors.Is(err, errBusy) {
				rt.Fatalf("%+v", err)
			}
			if isContext := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded); isContext != wantContext || isContext != (gaveUp.Context != nil) {
				rt.Fatalf("%v: by the context %v, want %v", err, isContext, wantContext)
			}
			if last := len(want); !wantContext && gaveUp.Permanent != steps[last-1].Permanent {
				rt.Fatalf("%v: permanent %v", err, gaveUp.Permanent)
			}
			if notified > len(want) || !wantContext && notified != len(want)-1 {
				rt.Fatalf("notified of %d failures of %d", notified, len(want))
			}
		})
	})
}

func TestRetryErrorSaysWhy(t *testing.T) {
	p := backoff.Policy{Initial: second, Max: second}
	fail := func(context.Context) error { return errBusy }
	stopped, stop := context.WithCancelCause(context.Background())
	stop(io.ErrUnexpectedEOF)
	for want, run := range map[string]func(context.Context) error{
		"gave up after 3 attempts: busy": func(ctx context.Context) error { return backoff.Retry(ctx, p, fail, backoff.RetryOptions{Attempts: 3}) },
		"gave up after 1 attempt: busy":  func(ctx context.Context) error { return backoff.Retry(ctx, p, fail, backoff.RetryOptions{Attempts: 1}) },
		"permanent error after 1 attempt: busy": func(ctx context.Context) error {
			return backoff.Retry(ctx, p, func(context.Context) error { return backoff.Permanent(errBusy) })
		},
		"not attempted: context canceled: unexpected EOF": func(context.Context) error { return backoff.Retry(stopped, p, fail) },
		"stopped after 2 attempts: context deadline exceeded; the last error: busy": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
			defer cancel()
			return backoff.Retry(ctx, p, fail)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			err := run(t.Context())
			if err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
			if strings.Contains(want, "EOF") != errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v wraps %v", err, io.ErrUnexpectedEOF)
			}
		})
	}
}

func TestRetryRefusesBadArguments(t *testing.T) {
	called := false
	f := func(context.Context) error { called = true; return nil }
	good := backoff.Policy{Initial: second, Max: minute}
	for name, test := range map[string]struct {
		p       backoff.Policy
		f       func(context.Context) error
		options []backoff.RetryOptions
		want    []string
	}{
		"nil function": {good, nil, nil, []string{"f"}},
		"no Max":       {backoff.Policy{Initial: second}, f, nil, []string{"Max"}},
		"zero":         {backoff.Policy{}, nil, []backoff.RetryOptions{{Attempts: -1, Elapsed: -1, Timeout: -1}}, []string{"Initial", "f", "Attempts", "Elapsed", "Timeout"}},
		"two options":  {good, f, make([]backoff.RetryOptions, 2), []string{"options"}},
	} {
		err := backoff.Retry(t.Context(), test.p, test.f, test.options...)
		if got := fieldsOf(err); !containsAll(got, test.want) || len(got) != len(test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if called {
		t.Error("called")
	}
	if n, err := backoff.RetryValue[int](t.Context(), good, nil); n != 0 || len(fieldsOf(err)) != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if err := (backoff.RetryOptions{Elapsed: -1}).Validate(); len(fieldsOf(err)) != 1 {
		t.Error(err)
	}
}

// A value comes with success only.
func TestRetryValue(t *testing.T) {
	p := backoff.Policy{Initial: 1, Max: 1}
	calls := 0
	f := func(context.Context) (string, error) {
		if calls++; calls < 3 {
			return "partial", errBusy
		}
		return "whole", nil
	}
	if got, err := backoff.RetryValue(t.Context(), p, f, backoff.RetryOptions{Attempts: 2}); got != "" || !errors.Is(err, errBusy) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := backoff.RetryValue(t.Context(), p, f); got != "whole" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A panic passes through; the timer is released, or synctest would wait for it.
func TestRetryLetsPanicsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if r := recover(); r != "out of order" {
				t.Errorf("panic %v", r)
			}
		}()
		calls := 0
		t.Error(backoff.Retry(t.Context(), backoff.Policy{Initial: time.Hour, Max: time.Hour}, func(context.Context) error {
			if calls++; calls == 2 {
				panic("out of order")
			}
			return errBusy
		}))
	})
}

// Each call has a Timeout of its own; the context of all is not touched.
func TestRetryTimeoutEndsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, start := 0, time.Now()
		err := backoff.Retry(t.Context(), backoff.Policy{Initial: second, Max: minute}, func(ctx context.Context) error {
			if calls++; calls == 3 {
				return ctx.Err()
			}
			<-ctx.Done()
			return ctx.Err()
		}, backoff.RetryOptions{Timeout: 5 * second})
		if err != nil || calls != 3 || time.Since(start) != 13*second {
			t.Errorf("%v after %d calls in %v", err, calls, time.Since(start))
		}
	})
}

// Jitter shortens delays and never exceeds Max; RetryAfter may.
func TestRetryJitterStaysBelowMax(t *testing.T) {
	p := backoff.Policy{Initial: second, Max: 4 * second, Jitter: 0.5}
	for _, random := range []float64{0, 0.25, 0.75} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{steps: []scriptStep{{}, {}, {}, {After: minute}, {}}, start: time.Now()}
			var delays []time.Duration
			err := backoff.Retry(t.Context(), p, s.call, backoff.RetryOptions{
				Rand:   func() float64 { return random },
				Notify: func(_ int, _ error, d time.Duration) { delays = append(delays, d) },
			})
			share := 1 - random/2
			of := func(d time.Duration) time.Duration { return time.Duration(float64(d) * share) }
			want := []time.Duration{of(second), of(2 * second), of(4 * second), minute, of(4 * second)}
			if diff := cmp.Diff(want, delays); err != nil || diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
}

// A fake clock drives Retry, and setting it back by a day lengthens nothing.
func TestRetryOnFakeClock(t *testing.T) {
	c := clocktesting.NewFakeClock(t0)
	calls := make(chan int)
	done := make(chan error)
	go func() {
		n := 0
		done <- backoff.Retry(context.Background(), backoff.Policy{Initial: second, Max: minute}, func(context.Context) error {
			if n++; n == 2 {
				c.SetTime(c.Now().Add(-24 * time.Hour))
			}
			calls <- n
			return errBusy
		}, backoff.RetryOptions{Clock: c, Elapsed: 5 * second})
	}()
	<-calls // at 0s, then at 1s and 3s; the next at 7s would be too late
	for _, delay := range []time.Duration{second, 2 * second} {
		for !c.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
		c.Step(delay)
		<-calls
	}
	var gaveUp *backoff.RetryError // the second between two readings of the clock, when it was set, is lost
	if err := <-done; !errors.As(err, &gaveUp) || gaveUp.Attempts != 3 || gaveUp.Elapsed != 2*second {
		t.Errorf("%+v", err)
	}
}

// The option decides about errors without a mark, once for each.
func TestRetryPermanentOption(t *testing.T) {
	hopeless := errors.New("hopeless")
	asked := 0
	o := backoff.RetryOptions{Attempts: 5, Permanent: func(err error) bool { asked++; return errors.Is(err, hopeless) }}
	for _, c := range []struct {
		errs         []error
		calls, asked int
		permanent    bool
	}{
		{[]error{errBusy, errBusy, hopeless}, 3, 3, true},
		{[]error{errBusy, errBusy, errBusy, errBusy, errBusy}, 5, 5, false},
		{[]error{errBusy, backoff.Permanent(errBusy)}, 2, 1, true},
		{[]error{errBusy, nil}, 2, 1, false},
	} {
		calls := 0
		asked = 0
		err := backoff.Retry(t.Context(), backoff.Policy{Initial: 1, Max: 1}, func(context.Context) error {
			calls++
			return c.errs[calls-1]
		}, o)
		var gaveUp *backoff.RetryError
		if calls != c.calls || asked != c.asked || errors.As(err, &gaveUp) && gaveUp.Permanent != c.permanent {
			t.Errorf("%v: %d calls, asked %d times: %v", c.errs, calls, asked, err)
		}
		if last := c.errs[len(c.errs)-1]; !errors.Is(err, last) {
			t.Errorf("%v does not wrap %v", err, last)
		}
	}
}

// An enclosing Retry respects the marks of the inner one's last error, and its option.
func TestNestedRetry(t *testing.T) {
	p := backoff.Policy{Initial: 1, Max: 1}
	for _, c := range []struct {
		err   error
		inner backoff.RetryOptions
		calls int
	}{
		{errBusy, backoff.RetryOptions{Attempts: 2}, 3},
		{backoff.Permanent(errBusy), backoff.RetryOptions{Attempts: 2}, 1},
		{errBusy, backoff.RetryOptions{Permanent: func(error) bool { return true }}, 1},
	} {
		outer := 0
		err := backoff.Retry(t.Context(), p, func(ctx context.Context) error {
			outer++
			return fmt.Errorf("outer: %w", backoff.Retry(ctx, p, func(context.Context) error { return c.err }, c.inner))
		}, backoff.RetryOptions{Attempts: 3})
		if outer != c.calls || !errors.Is(err, errBusy) {
			t.Errorf("%d calls, want %d: %v", outer, c.calls, err)
		}
	}
	if backoff.Permanent(nil) != nil {
		t.Error("Permanent(nil) is an error")
	}
}

// Marks finds the marks in every branch of an error, the longest delay of several.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		err       error
		permanent bool
		after     time.Duration
	}{
		{nil, false, 0},
		{io.EOF, false, 0},
		{fmt.Errorf("disk: %w", backoff.Permanent(io.EOF)), true, 0},
		{errors.Join(io.EOF, backoff.RetryAfter(time.Second), fmt.Errorf("busy: %w", backoff.RetryAfter(time.Minute))), false, time.Minute},
		{errors.Join(backoff.RetryAfter(time.Second), backoff.Permanent(backoff.RetryAfter(time.Hour))), true, time.Hour},
	} {
		if permanent, after := backoff.Marks(c.err); permanent != c.permanent || after != c.after {
			t.Errorf("Marks(%v) = %v, %v, want %v, %v", c.err, permanent, after, c.permanent, c.after)
		}
	}
}

func TestRetryAllocatesNothing(t *testing.T) {
	ctx, p := context.Background(), backoff.Policy{Initial: second, Max: minute, FreeFailures: 100}
	calls := 0
	f := func(context.Context) error {
		if calls++; calls%3 != 0 {
			return errBusy
		}
		return nil
	}
	if n := testing.AllocsPerRun(100, func() { backoff.Retry(ctx, p, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	nested := error(&backoff.RetryError{Last: backoff.RetryAfter(second), Context: ctx.Err()})
	if n := testing.AllocsPerRun(100, func() { backoff.Marks(nested) }); n != 0 {
		t.Errorf("%v allocations for the marks of a RetryError", n)
	}
}

// A Retry leaves no timer in its clock.
func TestRetryStopsItsTimer(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		done <- backoff.Retry(ctx, backoff.CrashLoop(), func(context.Context) error { return errors.New("no") }, backoff.RetryOptions{Clock: clock})
	}()
	for !clock.HasWaiters() {
		runtime.Gosched()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if clock.HasWaiters() {
		t.Error("the timer still runs")
	}
}

func TestRetryErrorWrapsNoNil(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var gaveUp *backoff.RetryError
	err := backoff.Retry(ctx, backoff.CrashLoop(), func(context.Context) error { return nil })
	if !errors.As(err, &gaveUp) || len(gaveUp.Unwrap()) != 1 || gaveUp.Unwrap()[0] == nil {
		t.Errorf("%v wraps %v", err, gaveUp.Unwrap())
	}
}
