// Package statefolder opens the folder in which a program keeps what is to outlive
// it.
package statefolder

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockWait is how long a run that was killed may still seem to be there: a process
// that it was about to start has its files until it becomes another program.
const lockWait = time.Second

// Open makes the folder if need be, and sees to it that no other run uses it. The
// file must be kept for as long as this one does.
func Open(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(lockWait); ; time.Sleep(lockWait / 100) {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return lock, nil
		case err != syscall.EWOULDBLOCK:
			lock.Close()
			return nil, fmt.Errorf("%s: %w", lock.Name(), err)
		case time.Now().After(until):
			lock.Close()
			return nil, fmt.Errorf("%s is in use by another run", dir)
		}
	}
}
