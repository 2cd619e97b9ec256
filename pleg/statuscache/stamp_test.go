package statuscache_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// A controller that starts pods starts each one once if answers are stamped before
// asking. If they are stamped after the answer, one from before the start appears newer
// than the start, and the controller starts the pod again.
func TestLateStampsHideChanges(t *testing.T) {
	const pods = 100
	starts := func(late bool) (n int) {
		synctest.Test(t, func(t *testing.T) {
			for pod := range uint64(pods) {
				n += startsOf(t, pod, late)
			}
		})
		return n
	}
	same(t, "starts with stamps taken before asking", starts(false), pods)
	if late := starts(true); late < pods*5/4 || late > pods*2 {
		t.Errorf("starts with stamps taken after the answer: %d of %d pods", late, pods)
	} else {
		t.Logf("stamps taken after the answer: %d starts of %d pods", late, pods)
	}
}

// startsOf returns how often a controller starts a pod that a poller observes.
func startsOf(t *testing.T, seed uint64, late bool) (starts int) {
	latency := func(stream uint64) func() {
		r := rand.New(rand.NewPCG(seed, stream))
		return func() { time.Sleep(time.Duration(1 + r.IntN(int(time.Second)))) }
	}
	cache := statuscache.New[string, bool](statuscache.Options[bool]{})
	defer cache.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	defer func() {
		cancel()
		<-done
	}()
	var running atomic.Bool
	go func() {
		defer close(done)
		travel := latency(1)
		for ctx.Err() == nil {
			at := time.Now()
			travel() // the question
			answer := running.Load()
			travel() // the answer
			if late {
				at = time.Now()
			}
			cache.Set("web", answer, nil, at)
		}
	}()
	for decide := latency(2); ; {
		last := time.Now()
		e, err := cache.GetNewerThan(ctx, "web", last)
		if err != nil {
			t.Fatal(err)
		}
		if e.Status {
			return starts
		}
		decide()
		running.Store(true)
		starts++
	}
}

// A change that an event reports is refused while an older status has a later stamp.
func TestLateStampsRefuseEvents(t *testing.T) {
	for name, tt := range map[string]struct {
		late bool
		want string
	}{"before": {false, "exited"}, "after": {true, "running"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cache := statuscache.New[string, string](statuscache.Options[string]{})
				at := time.Now()
				answer := "running"
				time.Sleep(time.Second)
				exited := time.Now() // while the answer is on its way
				time.Sleep(time.Second)
				if tt.late {
					at = time.Now()
				}
				cache.Set("web", answer, nil, at)
				same(t, "the event's write", cache.Set("web", "exited", nil, exited), !tt.late)
				same(t, "the status", cache.Get("web").Status, tt.want)
			})
		})
	}
}
