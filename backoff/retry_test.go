package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
	"k8s.io/utils/clock"
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

// retryEnd is the expected end of a Retry.
type retryEnd struct {
	Begins  []time.Duration    // when each call begins
	End     time.Duration      // when Retry returns
	Elapsed time.Duration      // RetryError.Elapsed
	Limit   backoff.RetryLimit // empty after a success
	Cause   int                // the number of the call whose error is RetryError.Cause, or 0
}

// modelRetry is Retry without jitter, spelled out, with a context cancelled at
// stop and has a deadline.
func modelRetry(p backoff.Policy, o backoff.RetryOptions, stop, deadline time.Duration, steps []scriptStep) (want retryEnd) {
	ctxLimit := backoff.RetryLimitContext
	if deadline < stop {
		ctxLimit = backoff.RetryLimitDeadline
	}
	ctxEnd := min(stop, deadline)
	if ctxEnd <= 0 {
		want.Limit = ctxLimit
		return want
	}
	var waited, firstFailure time.Duration
	for i, s := range steps {
		want.Begins = append(want.Begins, want.End)
		want.End += s.Takes
		if i == 0 {
			firstFailure = want.End
		}
		want.Elapsed = want.End - firstFailure
		delay := max(p.Delay(i+1), min(s.After, o.MaxRetryAfter))
		switch {
		case want.End >= ctxEnd:
			want.Limit, want.Cause = ctxLimit, i
		case s.Permanent:
			want.Limit = backoff.RetryLimitPermanent
		case i+1 == o.Attempts:
			want.Limit = backoff.RetryLimitAttempts
		case o.Elapsed > 0 && waited+delay > o.Elapsed:
			want.Limit = backoff.RetryLimitElapsed
		case deadline < want.End+delay:
			want.Limit = backoff.RetryLimitDeadline
		case stop < want.End+delay:
			want.Limit = backoff.RetryLimitContext
			want.End = stop
			want.Elapsed = stop - firstFailure
		}
		if want.Limit != "" {
			return want
		}
		waited += delay
		want.End += delay
	}
	want.Begins = append(want.Begins, want.End)
	return want
}

const never = time.Duration(math.MaxInt64)

func TestRetryAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ms := func(label string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(rt, label)) * time.Millisecond
		}
		p := backoff.Policy{Initial: 10 * time.Millisecond, Max: 70 * time.Millisecond, FreeFailures: rapid.IntRange(0, 2).Draw(rt, "free")}
		o := backoff.RetryOptions{MaxRetryAfter: 150 * time.Millisecond}
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
			deadline = ms("deadline", 300) + 2*time.Microsecond
		}
		steps := make([]scriptStep, rapid.IntRange(0, 8).Draw(rt, "failures"))
		for i := range steps {
			steps[i] = scriptStep{Takes: ms("takes", 50), Permanent: rapid.IntRange(0, 7).Draw(rt, "permanent") == 0}
			if rapid.IntRange(0, 3).Draw(rt, "after?") == 0 {
				steps[i].After = ms("after", 200)
			}
		}
		want := modelRetry(p, o, stop, deadline, steps)

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
			got := retryEnd{Begins: s.begins, End: time.Since(start), Elapsed: want.Elapsed}
			var gaveUp *backoff.RetryError
			if errors.As(err, &gaveUp) {
				got.Elapsed, got.Limit = gaveUp.Elapsed, gaveUp.Limit
				if gaveUp.Cause != nil {
					if _, scanErr := fmt.Sscanf(gaveUp.Cause.Error(), "try %d:", &got.Cause); scanErr != nil {
						rt.Errorf("cause %v: %v", gaveUp.Cause, scanErr)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("%v %s", err, diff)
			}
			calls := len(want.Begins)
			if err == nil {
				return
			}
			if gaveUp.Attempts != calls || errors.Is(err, errBusy) != (calls > 0) {
				rt.Fatalf("%d calls: %+v", calls, gaveUp)
			}
			byContext := want.Limit == backoff.RetryLimitContext || want.Limit == backoff.RetryLimitDeadline
			if isContext := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded); isContext != byContext || isContext != (gaveUp.Context != nil) {
				rt.Fatalf("%v: by the context %v, want %v", err, isContext, byContext)
			}
			if calls > 0 && gaveUp.Permanent != steps[calls-1].Permanent {
				rt.Fatalf("%v: permanent %v", err, gaveUp.Permanent)
			}
			if notified > calls || !byContext && notified != calls-1 {
				rt.Fatalf("notified of %d failures of %d", notified, calls)
			}
		})
	})
}

// The text and the field Limit name the limit that ended a Retry.
func TestRetryErrorSaysWhy(t *testing.T) {
	p := backoff.Policy{Initial: second, Max: second}
	fail := func(context.Context) error { return errBusy }
	failPermanently := func(context.Context) error { return backoff.Permanent(errBusy) }
	for _, test := range []struct {
		name    string
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		f       func(context.Context) error
		options backoff.RetryOptions
		want    string
		limit   backoff.RetryLimit
	}{
		{
			name:    "attempts",
			f:       fail,
			options: backoff.RetryOptions{Attempts: 3},
			want:    "gave up after 3 attempts, the limit: busy",
			limit:   backoff.RetryLimitAttempts,
		}, {
			name:    "one attempt",
			f:       fail,
			options: backoff.RetryOptions{Attempts: 1},
			want:    "gave up after 1 attempt, the limit: busy",
			limit:   backoff.RetryLimitAttempts,
		}, {
			name:    "elapsed",
			f:       fail,
			options: backoff.RetryOptions{Elapsed: 2 * second},
			want:    "gave up after 3 attempts, at the limit of elapsed waiting time: busy",
			limit:   backoff.RetryLimitElapsed,
		}, {
			name:  "permanent",
			f:     failPermanently,
			want:  "permanent error after 1 attempt: busy",
			limit: backoff.RetryLimitPermanent,
		}, {
			name: "cancelled beforehand",
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(ctx)
				cancel(io.ErrUnexpectedEOF)
				return ctx, func() {}
			},
			f:     fail,
			want:  "not attempted: context canceled: unexpected EOF",
			limit: backoff.RetryLimitContext,
		}, {
			name: "deadline beforehand",
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 0)
			},
			f:     fail,
			want:  "not attempted: context deadline exceeded",
			limit: backoff.RetryLimitDeadline,
		}, {
			name: "deadline before the next call",
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 1500*time.Millisecond)
			},
			f:     fail,
			want:  "stopped after 2 attempts: context deadline exceeded; the last error: busy",
			limit: backoff.RetryLimitDeadline,
		}, {
			name: "cancelled while waiting",
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(1500*time.Millisecond, cancel)
				return ctx, cancel
			},
			f:     fail,
			want:  "stopped after 2 attempts: context canceled; the last error: busy",
			limit: backoff.RetryLimitContext,
		}, {
			name: "permanent although the context is done",
			ctx:  context.WithCancel,
			f: func(ctx context.Context) error {
				ctx.Value(stopKey{}).(context.CancelFunc)()
				return failPermanently(ctx)
			},
			want:  "stopped after 1 attempt: context canceled; the last error: busy",
			limit: backoff.RetryLimitContext,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if test.ctx != nil {
				ctx, cancel = test.ctx(ctx)
			}
			defer cancel()
			err := backoff.Retry(context.WithValue(ctx, stopKey{}, cancel), p, test.f, test.options)
			var gaveUp *backoff.RetryError
			if !errors.As(err, &gaveUp) || err.Error() != test.want || gaveUp.Limit != test.limit {
				t.Errorf("%s: %v\n%+v, want %s, limit %s", test.name, err, gaveUp, test.want, test.limit)
			}
			if strings.Contains(test.want, "EOF") != errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v wraps %v", err, io.ErrUnexpectedEOF)
			}
		})
	}
}

// stopKey is the key of the function that cancels a context.
type stopKey struct{}

// If the end of a context interrupts the last call, whose error can only say so, the error
// of the latest uninterrupted call stays visible.
func TestRetryKeepsTheCause(t *testing.T) {
	type call = func(context.Context) error
	cause := errors.New("disk quota exceeded")
	quota := func(context.Context) error { return fmt.Errorf("write: %w", cause) }
	// These wait until their context is done.
	bare := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	wrapped := func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("write: %w", ctx.Err()) }
	killed := func(ctx context.Context) error { <-ctx.Done(); return errors.New("signal: killed") }
	// These end a little before their context.
	connection := func(context.Context) error { return fmt.Errorf("read: %w", os.ErrDeadlineExceeded) }
	own := func(context.Context) error { return context.DeadlineExceeded }

	deadline := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, 10*second)
	}
	cancelled := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(10*second, cancel)
		return ctx, cancel
	}
	for _, test := range []struct {
		name    string
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		calls   []call // the last one is repeated
		options backoff.RetryOptions
		want    string
	}{
		{"bare", deadline, []call{quota, quota, bare}, backoff.RetryOptions{},
			"stopped after 3 attempts: context deadline exceeded; the last error: context deadline exceeded; an earlier error: write: disk quota exceeded"},
		{"wrapped", deadline, []call{quota, wrapped}, backoff.RetryOptions{},
			"stopped after 2 attempts: context deadline exceeded; the last error: write: context deadline exceeded; an earlier error: write: disk quota exceeded"},
		{"not said", deadline, []call{quota, killed}, backoff.RetryOptions{},
			"stopped after 2 attempts: context deadline exceeded; the last error: signal: killed; an earlier error: write: disk quota exceeded"},
		{"cancelled", cancelled, []call{quota, wrapped}, backoff.RetryOptions{},
			"stopped after 2 attempts: context canceled; the last error: write: context canceled; an earlier error: write: disk quota exceeded"},
		{"the last call's Timeout", context.WithCancel, []call{quota, bare}, backoff.RetryOptions{Timeout: second, Attempts: 2},
			"gave up after 2 attempts, the limit: context deadline exceeded; an earlier error: write: disk quota exceeded"},
		{"Timeout, not said", context.WithCancel, []call{quota, killed}, backoff.RetryOptions{Timeout: second, Attempts: 2},
			"gave up after 2 attempts, the limit: signal: killed; an earlier error: write: disk quota exceeded"},
		{"many Timeouts", context.WithCancel, []call{quota, wrapped}, backoff.RetryOptions{Timeout: second, Elapsed: 4 * second},
			"gave up after 5 attempts, at the limit of elapsed waiting time: write: context deadline exceeded; an earlier error: write: disk quota exceeded"},
		{"the deadline after a Timeout", deadline, []call{quota, wrapped}, backoff.RetryOptions{Timeout: 8500 * time.Millisecond},
			"stopped after 2 attempts: context deadline exceeded; the last error: write: context deadline exceeded; an earlier error: write: disk quota exceeded"},
		{"a connection's deadline", context.WithCancel, []call{quota, connection}, backoff.RetryOptions{Attempts: 2},
			"gave up after 2 attempts, the limit: read: i/o timeout; an earlier error: write: disk quota exceeded"},
		{"a context of its own", context.WithCancel, []call{quota, own}, backoff.RetryOptions{Attempts: 3},
			"gave up after 3 attempts, the limit: context deadline exceeded; an earlier error: write: disk quota exceeded"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := test.ctx(t.Context())
			defer cancel()
			calls := test.calls
			err := backoff.Retry(ctx, backoff.Policy{Initial: second, Max: second}, func(ctx context.Context) error {
				f := calls[0]
				if len(calls) > 1 {
					calls = calls[1:]
				}
				return f(ctx)
			}, test.options)
			var gaveUp *backoff.RetryError
			if err == nil || err.Error() != test.want {
				t.Errorf("%s: %v\nwant %v", test.name, err, test.want)
			}
			if !errors.As(err, &gaveUp) || !errors.Is(gaveUp.Cause, cause) || !errors.Is(err, cause) {
				t.Errorf("%s: %v does not wrap the cause", test.name, err)
			}
		})
	}
}

// There is no Cause if the last error is one itself, or if all calls were interrupted.
func TestRetryHasNoCause(t *testing.T) {
	p := backoff.Policy{Initial: 1, Max: 1}
	for name, calls := range map[string][]error{
		"all interrupted":  {context.DeadlineExceeded, context.Canceled},
		"last is a cause":  {io.EOF, errBusy},
		"only one failure": {errBusy},
	} {
		i := 0
		err := backoff.Retry(t.Context(), p, func(context.Context) error {
			i++
			return calls[i-1]
		}, backoff.RetryOptions{Attempts: len(calls)})
		var gaveUp *backoff.RetryError
		if !errors.As(err, &gaveUp) || gaveUp.Cause != nil || !errors.Is(err, calls[len(calls)-1]) || strings.Contains(err.Error(), "earlier") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Elapsed limits the sum of the waits. Long calls do not count.
func TestRetryElapsedCountsWaits(t *testing.T) {
	p := backoff.Policy{Initial: second, Max: minute} // waits for 1s, 2s, 4s, ...
	for _, test := range []struct {
		name    string
		elapsed time.Duration
		steps   []scriptStep
		calls   int
	}{
		{"the first call is long", minute, []scriptStep{{Takes: time.Hour}}, 2},
		{"a later call is long", minute, []scriptStep{{}, {}, {Takes: time.Hour}, {}}, 5},
		{"all calls are long", 7 * second, []scriptStep{{Takes: time.Hour}, {Takes: time.Hour}, {Takes: time.Hour}, {}}, 4},
		{"as long as the waits", 3 * second, []scriptStep{{}, {}}, 3},
		{"shorter by a nanosecond", 3*second - 1, []scriptStep{{}, {}}, 2},
		{"shorter than the first wait", second - 1, []scriptStep{{}}, 1},
		{"what a server asks for counts", minute, []scriptStep{{After: minute}, {}}, 2},
		{"more than allowed", minute, []scriptStep{{After: minute + 1}}, 1},
		{"the sum overflows", never, []scriptStep{{After: never}, {After: never}}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{steps: test.steps, start: time.Now()}
			err := backoff.Retry(t.Context(), p, s.call, backoff.RetryOptions{Elapsed: test.elapsed, MaxRetryAfter: never})
			if len(s.begins) != test.calls || (err == nil) != (test.calls > len(test.steps)) {
				t.Errorf("%s: %d calls, want %d: %v", test.name, len(s.begins), test.calls, err)
			}
			var gaveUp *backoff.RetryError
			if errors.As(err, &gaveUp) && gaveUp.Limit != backoff.RetryLimitElapsed {
				t.Errorf("%s: %+v", test.name, gaveUp)
			}
		})
	}
}

// RetryError.Elapsed is the time since the first failure, with the calls after it.
func TestRetryErrorElapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []scriptStep{{Takes: time.Hour}, {Takes: minute}, {Takes: minute}}, start: time.Now()}
		err := backoff.Retry(t.Context(), backoff.Policy{Initial: second, Max: second}, s.call, backoff.RetryOptions{Attempts: 3})
		var gaveUp *backoff.RetryError
		if !errors.As(err, &gaveUp) || gaveUp.Elapsed != 2*minute+2*second {
			t.Errorf("%+v", gaveUp)
		}
	})
}

// A server's request lengthens a wait beyond the Max of the policy, up to MaxRetryAfter.
func TestRetryAfterIsBounded(t *testing.T) {
	p := backoff.Policy{Initial: second, Max: minute}
	for _, c := range []struct{ asked, most, want time.Duration }{
		{0, 0, second},
		{-minute, 0, second},
		{second / 2, 0, second},
		{10 * minute, 0, 10 * minute},
		{time.Hour, 0, time.Hour},
		{time.Hour + 1, 0, time.Hour},
		{never, 0, time.Hour},
		{never, 24 * time.Hour, 24 * time.Hour},
		{minute, minute / 2, minute / 2},
		{minute, 1, second},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			calls := 0
			err := backoff.Retry(t.Context(), p, func(context.Context) error {
				if calls++; calls == 1 {
					return fmt.Errorf("busy: %w", backoff.RetryAfter(c.asked))
				}
				return nil
			}, backoff.RetryOptions{MaxRetryAfter: c.most})
			if got := time.Since(start); err != nil || got != c.want {
				t.Errorf("asked for %v of at most %v: waited for %v, want %v: %v", c.asked, c.most, got, c.want, err)
			}
		})
	}
}

func TestRetryRefusesBadArguments(t *testing.T) {
	called := false
	f := func(context.Context) error { called = true; return nil }
	ctx, good := t.Context(), backoff.Policy{Initial: second, Max: minute}
	for name, test := range map[string]struct {
		ctx     context.Context
		p       backoff.Policy
		f       func(context.Context) error
		options backoff.RetryOptions
		want    []string
	}{
		"nil function":  {ctx, good, nil, backoff.RetryOptions{}, []string{"f"}},
		"nil context":   {nil, good, f, backoff.RetryOptions{}, []string{"ctx"}},
		"no Max":        {ctx, backoff.Policy{Initial: second}, f, backoff.RetryOptions{}, []string{"Max"}},
		"Attempts":      {ctx, good, f, backoff.RetryOptions{Attempts: -1}, []string{"Attempts"}},
		"Elapsed":       {ctx, good, f, backoff.RetryOptions{Elapsed: -1}, []string{"Elapsed"}},
		"MaxRetryAfter": {ctx, good, f, backoff.RetryOptions{MaxRetryAfter: -1}, []string{"MaxRetryAfter"}},
		"Timeout":       {ctx, good, f, backoff.RetryOptions{Timeout: -1}, []string{"Timeout"}},
		"all": {nil, backoff.Policy{}, nil, backoff.RetryOptions{Attempts: -1, Elapsed: -1, MaxRetryAfter: -1, Timeout: -1},
			[]string{"Initial", "ctx", "f", "Attempts", "Elapsed", "MaxRetryAfter", "Timeout"}},
	} {
		err := backoff.Retry(test.ctx, test.p, test.f, test.options)
		if got := fieldsOf(err); !containsAll(got, test.want) || len(got) != len(test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if called {
		t.Error("called")
	}
	if n, err := backoff.RetryValue[int](ctx, good, nil, backoff.RetryOptions{}); n != 0 || len(fieldsOf(err)) != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

// Retry refuses exactly the policies that Validate refuses.
func TestRetryChecksThePolicy(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	durations := rapid.SampledFrom([]time.Duration{math.MinInt64, -1, 0, 1, 2, math.MaxInt64})
	factors := rapid.SampledFrom([]float64{-inf, -1, 0, math.SmallestNonzeroFloat64, 0.5, 1, 2, math.MaxFloat64, inf, nan})
	counts := rapid.SampledFrom([]int{math.MinInt, -1, 0, 1, math.MaxInt})
	rapid.Check(t, func(t *rapid.T) {
		p := backoff.Policy{Initial: 1, Max: 1}
		for range rapid.IntRange(0, 2).Draw(t, "changes") { // more would hardly ever be valid
			switch rapid.IntRange(0, 5).Draw(t, "field") {
			case 0:
				p.Initial = durations.Draw(t, "initial")
			case 1:
				p.Max = durations.Draw(t, "max")
			case 2:
				p.Factor = factors.Draw(t, "factor")
			case 3:
				p.Jitter = factors.Draw(t, "jitter")
			case 4:
				p.ResetAfter = durations.Draw(t, "reset after")
			case 5:
				p.FreeFailures = counts.Draw(t, "free")
			}
		}
		err := backoff.Retry(context.Background(), p, func(context.Context) error { return nil }, backoff.RetryOptions{})
		if want := p.Validate(); (err == nil) != (want == nil) {
			t.Errorf("%+v: %v, but Validate says %v", p, err, want)
		}
	})
}

// A pointer to the real clock is the real clock, even a nil pointer.
func TestRetryKnowsTheRealClock(t *testing.T) {
	for _, c := range []clock.Clock{nil, clock.RealClock{}, &clock.RealClock{}, (*clock.RealClock)(nil)} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*second)
			defer cancel()
			start := time.Now()
			err := backoff.Retry(ctx, backoff.Policy{Initial: minute, Max: minute}, func(context.Context) error { return errBusy }, backoff.RetryOptions{Clock: c})
			if took := time.Since(start); took != 0 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%T: waited %v for a call that the deadline rules out: %v", c, took, err)
			}
		})
	}
}

// On another clock the deadline is not known, and Retry waits until ctx is done.
func TestRetryWaitsForTheDeadlineOnAnotherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*second)
		defer cancel()
		start := time.Now()
		other := struct{ clock.RealClock }{}
		err := backoff.Retry(ctx, backoff.Policy{Initial: minute, Max: minute}, func(context.Context) error { return errBusy }, backoff.RetryOptions{Clock: other})
		if took := time.Since(start); took != 10*second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// A nil pointer in an error is a failure as any other. Its methods, which may panic, are
// not called.
func TestRetrySurvivesNilPointers(t *testing.T) {
	var nilRetry *backoff.RetryError
	var nilPath *fs.PathError
	for name, err := range map[string]error{
		"nil RetryError":    nilRetry,
		"nil PathError":     nilPath,
		"wrapped":           fmt.Errorf("open: %w", nilPath),
		"joined":            errors.Join(errBusy, nilRetry, nilPath),
		"nil in RetryError": &backoff.RetryError{Attempts: 1, Last: nilPath, Cause: nilPath},
		"permanent":         backoff.Permanent(nilPath),
	} {
		calls := 0
		got := backoff.Retry(t.Context(), backoff.Policy{Initial: 1, Max: 1}, func(context.Context) error {
			calls++
			return err
		}, backoff.RetryOptions{Attempts: 2})
		if (calls == 1) != (name == "permanent") || got == nil || got.Error() == "" {
			t.Errorf("%s: %d calls: %v", name, calls, got)
		}
		if (name == "nil RetryError" || name == "nil PathError") && (errors.Is(got, io.EOF) || errors.As(got, new(*fs.PathError))) {
			t.Errorf("%s: found in %v", name, got)
		}
	}
	if errs := (&backoff.RetryError{Attempts: 2, Last: context.Canceled, Cause: nilPath}).Unwrap(); len(errs) != 1 {
		t.Errorf("a nil pointer as the cause is found in %v", errs)
	}
	if text, errs := nilRetry.Error(), nilRetry.Unwrap(); text != "<nil>" || errs != nil {
		t.Errorf("a nil RetryError says %q and wraps %v", text, errs)
	}
}

// A clock is not used for a call that succeeds at once.
func TestRetryReadsNoClockForASuccess(t *testing.T) {
	var unusable clock.Clock = struct{ clock.Clock }{} // its methods panic
	err := backoff.Retry(t.Context(), backoff.CrashLoop(), func(context.Context) error { return nil }, backoff.RetryOptions{Clock: unusable, Elapsed: second})
	if err != nil {
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
	if got, err := backoff.RetryValue(t.Context(), p, f, backoff.RetryOptions{}); got != "whole" || err != nil {
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
		}, backoff.RetryOptions{}))
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

// Jitter shortens delays and never exceeds Max; RetryAfter may. Random numbers out of
// bounds count as the nearest one within, and NaN as 0.
func TestRetryJitterStaysBelowMax(t *testing.T) {
	p := backoff.Policy{Initial: second, Max: 4 * second, Jitter: 0.5}
	for _, random := range []float64{0, 0.25, 0.75, -1, math.Inf(-1), math.NaN(), 1, 2, math.Inf(1)} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{steps: []scriptStep{{}, {}, {}, {After: minute}, {}}, start: time.Now()}
			var delays []time.Duration
			err := backoff.Retry(t.Context(), p, s.call, backoff.RetryOptions{
				Rand:   func() float64 { return random },
				Notify: func(_ int, _ error, d time.Duration) { delays = append(delays, d) },
			})
			of := func(d time.Duration) time.Duration {
				switch {
				case !(random > 0):
					return d
				case random >= 1:
					return d - (d/2 - 1) // the longest jitter is a little less than d/2
				}
				return time.Duration(float64(d) * (1 - random/2))
			}
			want := []time.Duration{of(second), of(2 * second), of(4 * second), minute, of(4 * second)}
			if diff := cmp.Diff(want, delays); err != nil || diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
}

// A fake clock drives Retry, and setting it back by a day lengthens nothing. Of the time
// between two of its readings, RetryError.Elapsed then has nothing.
func TestRetryOnFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktesting.NewFakeClock(t0)
		calls := 0
		done := make(chan error, 1)
		go func() {
			done <- backoff.Retry(t.Context(), backoff.Policy{Initial: second, Max: minute}, func(context.Context) error {
				if calls++; calls == 2 {
					c.SetTime(c.Now().Add(-24 * time.Hour))
				}
				return errBusy
			}, backoff.RetryOptions{Clock: c, Elapsed: 5 * second})
		}()
		for i, delay := range []time.Duration{second, 2 * second} { // 4s more would be too much
			synctest.Wait()
			if calls != i+1 {
				t.Fatalf("%d calls before the wait of %v", calls, delay)
			}
			c.Step(delay)
		}
		var gaveUp *backoff.RetryError
		if err := <-done; !errors.As(err, &gaveUp) || gaveUp.Attempts != 3 || gaveUp.Elapsed != 2*second {
			t.Errorf("%+v", err)
		}
	})
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

// An enclosing Retry waits as the inner one's last error asks. What its Cause asked for,
// the inner one has waited for already.
func TestNestedRetryAfter(t *testing.T) {
	p := backoff.Policy{Initial: second, Max: second}
	busy := fmt.Errorf("busy: %w", backoff.RetryAfter(minute))
	for _, c := range []struct {
		inner []error
		want  time.Duration
	}{
		{[]error{errBusy, busy}, minute},
		{[]error{busy, errBusy}, second},
		{[]error{busy, context.DeadlineExceeded}, second},
	} {
		synctest.Test(t, func(t *testing.T) {
			outer := 0
			var delay time.Duration
			err := backoff.Retry(t.Context(), p, func(ctx context.Context) error {
				if outer++; outer == 2 {
					return nil
				}
				inner := 0
				return backoff.Retry(ctx, p, func(context.Context) error {
					inner++
					return c.inner[inner-1]
				}, backoff.RetryOptions{Attempts: len(c.inner)})
			}, backoff.RetryOptions{Notify: func(_ int, _ error, d time.Duration) { delay = d }})
			if err != nil || delay != c.want {
				t.Errorf("%v: waited %v, want %v: %v", c.inner, delay, c.want, err)
			}
		})
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
	if n := testing.AllocsPerRun(100, func() { backoff.Retry(ctx, p, f, backoff.RetryOptions{Attempts: 5, Elapsed: minute}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	value := func(ctx context.Context) (int, error) { return calls, f(ctx) }
	if n := testing.AllocsPerRun(100, func() { backoff.RetryValue(ctx, p, value, backoff.RetryOptions{}) }); n != 0 {
		t.Errorf("%v allocations with a value", n)
	}
}

// A Retry leaves no timer in its clock.
func TestRetryStopsItsTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktesting.NewFakeClock(t0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() {
			done <- backoff.Retry(ctx, backoff.CrashLoop(), func(context.Context) error { return errBusy }, backoff.RetryOptions{Clock: c})
		}()
		synctest.Wait()
		if !c.HasWaiters() {
			t.Error("no timer runs")
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if c.HasWaiters() {
			t.Error("the timer still runs")
		}
	})
}

func TestRetryErrorWrapsNoNil(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var gaveUp *backoff.RetryError
	err := backoff.Retry(ctx, backoff.CrashLoop(), func(context.Context) error { return nil }, backoff.RetryOptions{})
	if !errors.As(err, &gaveUp) || len(gaveUp.Unwrap()) != 1 || gaveUp.Unwrap()[0] == nil {
		t.Errorf("%v wraps %v", err, gaveUp.Unwrap())
	}
}
