package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/supervise"
)

// Thousands of goroutines crash at random moments, are removed, and are stopped: each
// call has its exit, no function runs twice at once, and all end in time.
func TestCrowd(t *testing.T) { superviseCrowd(t, 2000) }

// superviseCrowd supervises n goroutines.
func superviseCrowd(t *testing.T, n int) {
	calls, exits, restarts, ends := make([]atomic.Int64, n), make([]atomic.Int64, n), make([]atomic.Int64, n), make([]atomic.Int64, n)
	var twice, late, panics, exited, cancelled atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Bool
		s := newSupervisor(t, supervise.Options{
			Policy: backoff.ExitPolicy{Delay: &backoff.Policy{Initial: time.Second, Max: 30 * time.Second, Jitter: 0.5}, Limit: 3},
			Notify: func(e supervise.Event) {
				var i int
				_, _ = fmt.Sscan(e.Name, &i)
				exits[i].Add(1)
				if e.Decision.Action == backoff.ActionRestart {
					restarts[i].Add(1)
				} else {
					ends[i].Add(1)
				}
			},
		})
		for i := range n {
			var running atomic.Bool
			random := rand.New(rand.NewPCG(1, uint64(i)))
			start(t, s, fmt.Sprint(i), backoff.ExitPolicy{}, func(ctx context.Context) error {
				if !running.CompareAndSwap(false, true) {
					twice.Add(1)
				}
				defer running.Store(false)
				if stopped.Load() {
					late.Add(1)
				}
				calls[i].Add(1)
				select {
				case <-time.After(time.Duration(random.ExpFloat64() * float64(time.Minute))):
				case <-ctx.Done():
					cancelled.Add(1)
					time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
					return ctx.Err()
				}
				switch random.IntN(4) {
				case 0:
					panics.Add(1)
					panic("oops")
				case 1:
					exited.Add(1)
					runtime.Goexit()
				case 2:
					return nil
				}
				return errors.New("broken")
			})
		}
		for i := 0; i < n; i += 100 {
			time.Sleep(time.Second)
			go func() { _ = s.Remove(context.Background(), fmt.Sprint(i)) }() // some have given up
		}
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		stopped.Store(true)
		if err := s.Wait(); err == nil {
			t.Error("no goroutine gave up")
		}
		time.Sleep(time.Hour)
	})
	var total int64
	for i := range n {
		c := calls[i].Load()
		total += c
		if c == 0 || c != exits[i].Load() || ends[i].Load() > 1 || c > restarts[i].Load()+1 || c < restarts[i].Load() {
			t.Errorf("%d: %d calls, %d exits, %d restarts, %d ends", i, c, exits[i].Load(), restarts[i].Load(), ends[i].Load())
		}
	}
	if twice.Load() != 0 || late.Load() != 0 {
		t.Errorf("%d functions ran twice at once, %d after the stop", twice.Load(), late.Load())
	}
	t.Logf("%d calls, %d panics, %d Goexits, %d cancelled", total, panics.Load(), exited.Load(), cancelled.Load())
	if panics.Load() == 0 || exited.Load() == 0 || cancelled.Load() == 0 {
		t.Error("nothing of one kind happened")
	}
}
