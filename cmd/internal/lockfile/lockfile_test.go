package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOneProgramAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	first, err := New(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(path); !errors.Is(err, ErrLocked) || !strings.HasPrefix(err.Error(), path+".lock is locked: ") {
		t.Errorf("while it is locked: %v", err)
	}
	if other, err := New(path + "2"); err != nil {
		t.Errorf("another file: %v", err)
	} else {
		other.Unlock()
	}
	first.Unlock()
	if _, err := os.Stat(path + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock file is left: %v", err)
	}
	second, err := New(path)
	if err != nil {
		t.Fatal(err)
	}
	first.Unlock() // a no-op, since the lock is the second's
	if _, err := New(path); !errors.Is(err, ErrLocked) {
		t.Errorf("after a second Unlock of the first: %v", err)
	}
	second.Unlock()
	(*Lock)(nil).Unlock()
}

func TestLockThatCannotBeMade(t *testing.T) {
	for name, path := range map[string]string{"no folder": "none/state", "a link": "link"} {
		dir := t.TempDir()
		if err := os.Symlink("elsewhere", filepath.Join(dir, "link.lock")); err != nil {
			t.Skip(err)
		}
		lock, err := New(filepath.Join(dir, path))
		if err == nil {
			lock.Unlock()
		}
		if err == nil || errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path+".lock") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
