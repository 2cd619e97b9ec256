//go:build unix

package lockfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Take locks a file by creating path.lock, and returns an error if another program holds
// that lock. If this program is killed the file stays, and the next Take takes it over.
func Take(path string) (*File, error) {
	path += ".lock"
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
		// Its holder may have removed the file in between.
		mine, errMine := file.Stat()
		present, errPresent := os.Lstat(path)
		if errMine == nil && errPresent == nil && os.SameFile(mine, present) {
			return &File{file}, nil
		}
		file.Close()
	}
}
