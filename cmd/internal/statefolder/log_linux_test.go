package statefolder

import (
	"os/signal"
	"syscall"
	"testing"
)

// A record that a full disk has cut off hides none that is written when there is
// room again.
func TestCutRecordHidesNoOther(t *testing.T) {
	f := open(t, t.TempDir())
	log, err := f.OpenLog("log")
	if err == nil {
		err = log.Append([]byte("first"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	full := before
	full.Cur = uint64(log.Size()) + 5
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	err = log.Append([]byte("second"))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		t.Error("there was room for the second")
	}
	if err := log.Append([]byte("third")); err != nil {
		t.Error(err)
	}
	if got, err := f.ReadLog("log"); err != nil || len(got) != 2 || string(got[1]) != "third" {
		t.Errorf("%q, %v", got, err)
	}
}
