package interrupt

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Signals within Same of the one that was reported are the same, a later one is not.
func TestSignalsTogetherAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, distinct := make(chan os.Signal), make(chan os.Signal, 8)
		go passOn(all, distinct)
		for _, pause := range []time.Duration{0, 0, Same, 1, Same} { // the first and the fourth are reported
			time.Sleep(pause)
			all <- syscall.SIGTERM
			synctest.Wait()
		}
		close(all)
		if n := len(distinct); n != 2 {
			t.Errorf("%d were reported", n)
		}
	})
}

// The first signal is reported at once.
func TestSignalIsReported(t *testing.T) {
	reported := Notify(syscall.SIGUSR1, syscall.SIGUSR2)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if got := <-reported; got != syscall.SIGUSR1 {
		t.Errorf("got %v", got)
	}
}
