//go:build unix

package lockfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock creates and locks a file. The kernel unlocks it when it is closed or the program ends.
func lock(name string) (*os.File, error) {
	for {
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			file.Close()
			return nil, ErrLocked
		case err != nil:
			file.Close()
			return nil, fmt.Errorf("locking %s: %w", name, err)
		}
		// The owner before may have removed the file in between. Then it locks nothing.
		mine, errMine := file.Stat()
		present, errPresent := os.Lstat(name)
		if errMine == nil && errPresent == nil && os.SameFile(mine, present) {
			return file, nil
		}
		file.Close()
	}
}
