package interrupt

import (
	"syscall"
	"testing"
	"time"
)

// Signals that do not come together are reported each. (That others are one is tested
// with whole programs, which can be stopped while both are sent.)
func TestSignalsApartAreTwo(t *testing.T) {
	reported := Notify(syscall.SIGUSR1, syscall.SIGUSR2)
	send := func(sig syscall.Signal) {
		if err := syscall.Kill(syscall.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
	}
	send(syscall.SIGUSR1)
	if got := <-reported; got != syscall.SIGUSR1 {
		t.Errorf("got %v", got)
	}
	time.Sleep(2 * Same)
	send(syscall.SIGUSR2)
	if got := <-reported; got != syscall.SIGUSR2 {
		t.Errorf("got %v", got)
	}
}
