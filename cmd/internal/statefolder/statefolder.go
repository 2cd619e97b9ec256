//go:build unix

// Package statefolder keeps a program's state in a folder.
//
// The folder must belong to this user and deny others write access. It must be empty or
// made by the same program, whose name begins the lock file. The package uses only
// regular files with known names, follows no symbolic links, and removes no other
// files.
//
// Files are replaced atomically. A failure of the program or the machine leaves the old
// or the new content, but may cost the last records of a Log.
package statefolder

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/restartkit/restart/statefile"
)

// Largest is the size limit in bytes of a file to read.
const Largest = 64 << 20

// Files of every folder, in addition to the program's.
const (
	lockName  = "lock"       // held by the program
	guardName = "lock.guard" // held by a process that briefly outlives the program
)

// Folder is a state folder. It is safe for concurrent use of different files.
type Folder struct {
	dir  string
	root *os.Root
	lock *os.File // held while the program runs

	// Guard is a file to be inherited by a process that outlives the program. The next
	// Open waits for the end of that process. Guard is nil after At.
	Guard *os.File
}

// How long Open waits for a killed run to release its lock, and for its guard to end.
const (
	lockWait  = time.Second
	guardWait = time.Minute
)

// Open opens and locks the folder, creating it if necessary. program identifies the
// program's folders. state is the name of its state file.
func Open(dir, program, state string) (*Folder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	f, err := At(dir)
	if err != nil {
		return nil, err
	}
	if err := f.take(program, state); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// At returns a folder without locking it, even while another process holds it.
func At(dir string) (*Folder, error) {
	named, err := os.Lstat(dir)
	switch {
	case err != nil:
		return nil, err
	case named.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a symbolic link: name the folder itself", dir)
	case !named.IsDir():
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{dir: dir, root: root}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s is being replaced", dir)
	}
	if err == nil {
		err = checkOwner(dir, opened)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return f, nil
}

// checkOwner returns an error if other users can change the folder's files.
func checkOwner(dir string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, not to user %d, who runs this", dir, s.Uid, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("others may write to %s, its mode is %04o: chmod go-w it, or name another folder", dir, mode)
	}
	return nil
}

// Close releases the folder.
func (f *Folder) Close() {
	for _, file := range []*os.File{f.lock, f.Guard} {
		if file != nil {
			file.Close()
		}
	}
	f.root.Close()
}

// Path returns the path of a file in the folder, for messages.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, name) }

// Dir returns the absolute path of the folder.
func (f *Folder) Dir() string { return f.dir }

// take locks the folder if it belongs to the program. It does not change folders of
// other programs.
func (f *Folder) take(program, state string) (err error) {
	mark := program + " state\n"
	if f.lock, err = f.open(lockName, os.O_RDWR); errors.Is(err, fs.ErrNotExist) {
		if err := f.unused(program); err != nil {
			return err
		}
		f.lock, err = f.open(lockName, os.O_RDWR|os.O_CREATE)
	}
	if err != nil {
		return err
	}
	if busy, err := lockFile(f.lock, lockWait); err != nil || busy {
		return f.inUse(err, f.dir+" is in use by another run")
	}
	found, err := io.ReadAll(io.NewSectionReader(f.lock, 0, int64(len(mark))+1))
	switch {
	case err != nil:
		return err
	case len(found) == 0: // the program was killed before writing the lock
		if err := f.unused(program); err != nil {
			return err
		}
		if _, err := f.lock.WriteAt([]byte(mark), 0); err != nil {
			return err
		}
	case string(found) != mark:
		return f.foreign(program, lockName)
	}
	if f.Guard, err = f.open(guardName, os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	if busy, err := lockFile(f.Guard, guardWait); err != nil || busy {
		return f.inUse(err, f.dir+" is in use: the processes of the previous run do not end")
	}
	return nil
}

// unused returns an error if the folder has files other than the lock.
func (f *Folder) unused(program string) error {
	folder, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(2)
	for _, name := range names {
		if name != lockName {
			return f.foreign(program, name)
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func (f *Folder) foreign(program, name string) error {
	return fmt.Errorf("%s is not empty (it has %q) and was not made by %s: nothing in it was touched; name another folder", f.dir, name, program)
}

func (f *Folder) inUse(err error, text string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path(lockName), err)
	}
	return errors.New(text)
}

// lockFile locks the file. It reports whether another process still holds the lock
// after waiting.
func lockFile(file *os.File, wait time.Duration) (busy bool, err error) {
	for until := time.Now().Add(wait); ; time.Sleep(10 * time.Millisecond) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return false, nil
		case err == syscall.EINTR:
		case err != syscall.EWOULDBLOCK:
			return false, err
		case time.Now().After(until):
			return true, nil
		}
	}
}

// open opens a regular file in the folder.
func (f *Folder) open(name string, flags int) (*os.File, error) {
	if info, err := f.root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", f.Path(name))
	}
	// With O_NONBLOCK, open does not wait for the other end of a FIFO that replaced the
	// file.
	file, err := f.root.OpenFile(name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.dir, err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", f.Path(name)))
	}
	return file, nil
}

// Read returns the content of a file. A missing file is an error wrapping
// fs.ErrNotExist.
func (f *Folder) Read(name string) ([]byte, error) {
	file, err := f.open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tooLarge := fmt.Errorf("%s is larger than %d bytes", f.Path(name), Largest)
	if info, err := file.Stat(); err != nil || info.Size() > Largest {
		return nil, cmp.Or(err, tooLarge)
	}
	text, err := io.ReadAll(io.LimitReader(file, Largest+1)) // it may be growing
	if err == nil && len(text) > Largest {
		err = tooLarge
	}
	return text, err
}

// Replace replaces a file atomically, and returns when it is on disk.
func (f *Folder) Replace(name string, text []byte) error {
	return statefile.Replace(f.root, name, text)
}
