// Package lockfile keeps a file for one program at a time.
package lockfile

import (
	"errors"
	"fmt"
	"os"
)

// ErrLocked is wrapped by the error of New if another program has the lock.
var ErrLocked = errors.New("is locked: another run uses the state")

// A Lock is held from New until Unlock, or until the program ends, however it ends.
type Lock struct {
	file *os.File
}

// New locks path, which need not exist, by means of the file path.lock beside it. If another
// program has the lock, New does not wait, and its error wraps ErrLocked. A lock file that a
// killed program has left behind is taken over.
func New(path string) (*Lock, error) {
	name := path + ".lock"
	file, err := lock(name)
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	if err != nil {
		return nil, err
	}
	return &Lock{file}, nil
}

// Unlock removes the lock file. Further calls are no-ops, and so is Unlock of a nil Lock.
func (l *Lock) Unlock() {
	if l == nil || l.file == nil {
		return
	}
	_ = os.Remove(l.file.Name()) // before the unlocking, or it might be the next owner's
	_ = l.file.Close()
	l.file = nil
}
