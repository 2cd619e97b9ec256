//go:build unix

package jobrun

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile creates and locks a file, which its owner removes at the end. After a kill it
// stays, and the next one takes it over.
func lockFile(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			file.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, fmt.Errorf("%s is locked: another run uses the state", path)
			}
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		// The owner before may have removed the file in between.
		mine, errMine := file.Stat()
		present, errPresent := os.Lstat(path)
		if errMine == nil && errPresent == nil && os.SameFile(mine, present) {
			return file, nil
		}
		file.Close()
	}
}
