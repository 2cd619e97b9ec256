package interrupt

import (
	"syscall"
	"testing"
	"time"
)

// Signals that do not come together are told each. (That others are one is tested
// with whole programs, which can be stopped while both are sent.)
func TestSignalsApartAreTwo(t *testing.T) {
	told := Notify(syscall.SIGUSR1, syscall.SIGUSR2)
	send := func(sig syscall.Signal) {
		if err := syscall.Kill(syscall.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
	}
	send(syscall.SIGUSR1)
	if got := <-told; got != syscall.SIGUSR1 {
		t.Errorf("told of %v", got)
	}
	time.Sleep(2 * Same)
	send(syscall.SIGUSR2)
	if got := <-told; got != syscall.SIGUSR2 {
		t.Errorf("told of %v", got)
	}
}
