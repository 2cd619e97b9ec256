package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// An hour with a stream costs 13 lists, including two at the start, and one
// without a stream 3600. Only the first list causes inspections.
func TestIdleHourCostsOneListPerPeriod(t *testing.T) {
	const pods = 300
	for _, tt := range []struct {
		stream bool
		lists  int
	}{{true, 13}, {false, 3600}} {
		setup{stream: tt.stream}.run(t, func(w *world) {
			for i := range pods {
				w.rt.Create(fmt.Sprint("p", i), "a")
			}
			w.all.Go(func() { w.gen.Run(w.ctx) })
			time.Sleep(time.Hour - time.Millisecond)
			lists, others := w.calls()
			equal(t, "lists", lists, tt.lists)
			equal(t, "inspections", others, pods)
			equal(t, "streaming", w.gen.Stats().Streaming, tt.stream)
		})
	}
}

// Healthy depends on the age of the last relist, the period in force, and stuck
// relists.
func TestHealthyJudgesRelistingOnly(t *testing.T) {
	healthy := func(w *world, want string) {
		w.Helper()
		err := w.gen.Healthy()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			w.Errorf("at %v Healthy() = %v, want %q", time.Now(), err, want)
		}
	}
	t.Run("without a stream", func(t *testing.T) {
		setup{}.run(t, func(w *world) {
			healthy(w, "no full list has succeeded yet")
			w.start()
			healthy(w, "")
			w.all.Go(func() { w.rt.Restart(time.Hour) })
			w.pass(179 * time.Second)
			healthy(w, "")
			w.pass(time.Second)
			healthy(w, "")
			w.pass(time.Second)
			healthy(w, "the last full list is 3m1s old; the limit is 3m0s")
			w.pass(time.Hour)
			healthy(w, "")
		})
	})
	t.Run("with one", func(t *testing.T) {
		setup{stream: true}.run(t, func(w *world) {
			w.start()
			w.pass(290 * time.Second)
			healthy(w, "")
			w.all.Go(func() { w.rt.Restart(time.Hour) })
			w.pass(170 * time.Second)
			healthy(w, "") // counts from the change of period
			w.pass(20 * time.Second)
			healthy(w, "the last full list is 3m10s old")
		})
	})
	t.Run("stuck", func(t *testing.T) {
		setup{faults: plegtest.Faults{Hang: 1}, options: pleg.GeneratorOptions[string]{RelistThreshold: 30 * time.Second}}.run(t, func(w *world) {
			w.start()
			w.pass(10 * time.Second)
			healthy(w, "no full list has succeeded yet")
			w.rt.SetFaults(plegtest.Faults{})
			w.pass(22 * time.Second)
			healthy(w, "") // the list was cancelled at its deadline
		})
	})
}

// Only one Run at a time; another one after its end; none on a closed cache.
func TestGeneratorRunsOnceAtATime(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		w.start()
		if err := w.gen.Run(w.ctx); err == nil || !strings.Contains(err.Error(), "already running") {
			t.Errorf("a second Run: %v", err)
		}
		w.stop()
		w.all.Wait()
		w.up("a")
		w.pass(time.Minute)
		w.shows("gone")
		ctx, cancel := context.WithCancel(w.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.gen.Run(ctx) }()
		w.pass(0)
		w.shows("a:running")
		cancel()
		equal(t, "error", <-ended, context.Canceled)
		go func() { ended <- w.gen.Run(w.Context()) }()
		w.pass(0)
		w.cache.Close()
		equal(t, "error", <-ended, pleg.ErrClosed)
		equal(t, "error", w.gen.Run(w.Context()), pleg.ErrClosed)
		equal(t, "error", w.gen.Relist(w.Context()), pleg.ErrClosed)
	})
}

// Close ends everything that runs or waits.
func TestCloseEndsEverything(t *testing.T) {
	for after := range 20 {
		f := plegtest.Faults{Slow: 0.5, Hang: 0.1, Error: 0.1, Late: 0.5, Disconnect: 0.1}
		setup{stream: true, faults: f}.run(t, func(w *world) {
			w.start()
			w.read(time.Second)
			for range 5 {
				w.all.Go(func() { w.gen.Relist(w.ctx) })
				w.all.Go(func() { _, _ = w.cache.GetNewerThan(w.ctx, "q", time.Now()) })
				w.all.Go(func() {
					w.cache.WaitFor(w.ctx, "q", func(entry) bool { return false })
				})
			}
			w.up("a")
			w.pass(time.Duration(after) * 333 * time.Millisecond)
			w.rt.Exit("p", "a")
			w.cache.Close()
			w.all.Wait()
		})
	}
}

func TestNewGeneratorErrors(t *testing.T) {
	rt, c := plegtest.New[string](1, plegtest.Faults{}), statuscache.New[string](statuscache.Options[*plegtest.Status]{})
	for _, tt := range []struct {
		rt     pleg.Runtime[string, *plegtest.Status]
		c      *statuscache.Cache[string, *plegtest.Status]
		o      pleg.GeneratorOptions[string]
		fields int
		want   []string
	}{
		{nil, c, pleg.GeneratorOptions[string]{}, 0, []string{"pleg: NewGenerator: ", "runtime is nil"}},
		{rt, nil, pleg.GeneratorOptions[string]{}, 0, []string{"pleg: NewGenerator: ", "cache is nil"}},
		{rt, c, pleg.GeneratorOptions[string]{RelistPeriod: -1, MaxConcurrent: -2, WaitLimit: -time.Second}, 3,
			[]string{"pleg: NewGenerator: RelistPeriod: ", "-1ns", "MaxConcurrent: invalid value -2", "WaitLimit: invalid value -1s", "0 means 2s"}},
		{rt, c, pleg.GeneratorOptions[string]{}, 0, nil},
	} {
		_, err := pleg.NewGenerator(tt.rt, tt.c, tt.o)
		var fields field.Errors
		if errors.As(err, &fields); len(fields) != tt.fields || (err == nil) != (tt.want == nil) {
			t.Errorf("error: %v, want %q", err, tt.want)
		}
		for _, want := range tt.want {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("error %q says nothing of %q", err, want)
			}
		}
	}
}

// A list that ignores its deadline and its cancellation is unhealthy, and reported
// before the age of the last relist.
func TestStuckListIsUnhealthy(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &holding{recorder: w.rt, hold: make(chan struct{})}
		w.make(rt, pleg.GeneratorOptions[string]{RelistThreshold: 30 * time.Second})
		w.start()
		w.pass(30 * time.Second)
		if err := w.gen.Healthy(); err == nil || !strings.Contains(err.Error(), "no full list has succeeded yet") {
			t.Errorf("at the limit: %v", err)
		}
		w.pass(time.Second)
		if err := w.gen.Healthy(); err == nil || !strings.Contains(err.Error(), "under way for 31s; the limit is 30s") {
			t.Errorf("after the limit: %v", err)
		}
		close(rt.hold)
		w.pass(2 * time.Second)
		equal(t, "healthy", w.gen.Healthy(), nil)
	})
}

// holding answers its lists when it pleases.
type holding struct {
	*recorder
	hold chan struct{}
}

func (h *holding) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	<-h.hold
	if err := ctx.Err(); err != nil {
		return nil, errors.New("too late")
	}
	return h.recorder.Pods(ctx)
}
