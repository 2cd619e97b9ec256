package jobcontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
)

// Once a Controller ends, the keys left in its queues are dropped.
func TestKeysLeftAreDropped(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	queue.Add("a")
	queue.Add("b")
	queue.ShutDown()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	work(ctx, t.Context(), queue, func(context.Context, string) error {
		t.Error("a key is handled")
		return nil
	})
	if n := queue.Len(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// The context of passes ends a while after the Controller's, or when it is told to. No
// timer is left.
func TestPassesMayLinger(t *testing.T) {
	for _, test := range []struct {
		name string
		wait time.Duration // after the Controller's context is done; 0: end is called instead
	}{{"too long", time.Minute}, {"told to end", 0}} {
		synctest.Test(t, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(t0)
			ctx, cancel := context.WithCancel(t.Context())
			lingers, end := lingering(ctx, clock, time.Minute)
			if synctest.Wait(); clock.HasWaiters() {
				t.Errorf("%s: a timer before the end", test.name)
			}
			cancel()
			synctest.Wait()
			if clock.Step(time.Minute - 1); lingers.Err() != nil || !clock.HasWaiters() {
				t.Errorf("%s: %v", test.name, lingers.Err())
			}
			if test.wait > 0 {
				clock.Step(1)
			} else {
				end()
			}
			synctest.Wait()
			if lingers.Err() == nil || clock.HasWaiters() {
				t.Errorf("%s: ended %v, a timer is left: %v", test.name, lingers.Err(), clock.HasWaiters())
			}
			end()
		})
	}
}

// A conflict is no error, so it is logged only with verbosity 2.
func TestConflictsAreNotLoggedAsErrors(t *testing.T) {
	for _, test := range []struct {
		err            error
		verbosity      int
		severity, text string
	}{
		{errOutdated, 0, "", ""},
		{errOutdated, 2, "I", "trying again with a newer Job"},
		{errors.New("no quota"), 0, "E", "trying again"},
	} {
		got := logged(test.verbosity, func(ctx context.Context) { logFailure(ctx, "ns/a", fmt.Errorf("the pass: %w", test.err)) })
		if (got == "") != (test.text == "") || !strings.HasPrefix(got, test.severity) || !strings.Contains(got, test.text) {
			t.Errorf("%v with verbosity %d: %q", test.err, test.verbosity, got)
		}
	}
}
