// Package lockfile keeps two programs from using the same file of a state.
package lockfile

import "os"

// File is a lock that this program holds. Create one with Take.
type File struct{ file *os.File }

// Release removes the lock. Calling it again is a no-op.
func (f *File) Release() {
	if f.file == nil {
		return
	}
	_ = os.Remove(f.file.Name()) // before another program can take it
	_ = f.file.Close()
	f.file = nil
}
