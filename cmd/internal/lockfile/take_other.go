//go:build !unix

package lockfile

import "os"

// Take locks a file by creating path.lock, and returns an error if that exists. If this
// program is killed the file stays, and has to be removed by hand.
func Take(path string) (*File, error) {
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{file}, nil
}
