//go:build !unix

package jobrun

import "os"

// lockFile creates a file, which its owner removes at the end.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}
