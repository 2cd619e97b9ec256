package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Inside testing/synctest, waits of minutes pass at once, by the real clock of the
// package. This is the test of a program that restarts a task until it has succeeded.
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for range 3 {
			r.Exited("task", backoff.ExitPolicy{}, backoff.Exit{Code: 1})
			if err := r.Wait(context.Background(), "task"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 70*time.Second {
			t.Errorf("three restarts took %v, not 10s + 20s + 40s", took)
		}
	})
}
