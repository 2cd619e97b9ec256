//go:build !unix

package lockfile

import (
	"errors"
	"io/fs"
	"os"
)

// lock creates a file. It stays if the program is killed, and somebody must remove it then.
func lock(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrLocked
	}
	return file, err
}
