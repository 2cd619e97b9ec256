//go:build unix

package statefolder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func open(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := Open(dir, "test", "state.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// refused opens a folder, which must fail for that reason and change nothing.
func refused(t *testing.T, dir, want string) {
	t.Helper()
	before := listing(dir)
	f, err := Open(dir, "test", "state.json")
	if err == nil {
		f.Close()
		t.Errorf("%s is accepted, want %q", dir, want)
		return
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if after := listing(dir); after != before {
		t.Errorf("it has changed from %s to %s", before, after)
	}
}

func listing(dir string) string {
	entries, _ := os.ReadDir(dir)
	return fmt.Sprint(entries)
}

// A folder has one user at a time, and what guards the processes of the last one is
// waited for.
func TestOneUserAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	first, err := Open(dir, "test", "state.json")
	if err != nil {
		t.Fatal(err)
	}
	refused(t, dir, dir+" is in use by another run")
	first.lock.Close()
	inherited := first.Guard
	released := make(chan struct{})
	time.AfterFunc(lockWait/10, func() { // guardWait is much longer
		close(released)
		inherited.Close()
	})
	next := open(t, dir)
	select {
	case <-released:
	default:
		t.Error("the guard was not waited for")
	}
	for name, mode := range map[string]os.FileMode{".": 0o700, lockName: 0o600, guardName: 0o600} {
		if info, err := next.root.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
}

// A foreign folder is not used, and its files stay untouched.
func TestFolderOfAnotherProgramIsRefused(t *testing.T) {
	base := t.TempDir()
	folder := func(name string, mode os.FileMode, files ...string) string {
		dir := filepath.Join(base, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	refused(t, folder("used", 0o700, "thesis.txt"), `is not empty (it has "thesis.txt") and was not made by test`)
	refused(t, folder("locked", 0o700, "lock"), `(it has "lock")`)
	refused(t, folder("world", 0o777), "others may write")
	refused(t, folder("group", 0o720), "others may write")
	refused(t, "/dev/null/x", "not a directory")
	plain := filepath.Join(folder("files", 0o700, "plain"), "plain")
	refused(t, plain, "not a directory")
	link := filepath.Join(base, "link")
	if err := os.Symlink(folder("real", 0o700), link); err != nil {
		t.Fatal(err)
	}
	refused(t, link, "is a symbolic link")
	refused(t, link+"/", "is a symbolic link")
	if os.Geteuid() == 0 {
		other := folder("other", 0o700)
		switch err := os.Chown(other, 65534, 65534); {
		case err == nil:
			refused(t, other, "belongs to user 65534")
		case errors.Is(err, syscall.EINVAL):
			t.Log("not tried: another user's folder, as this user namespace has no user 65534")
		default:
			t.Fatal(err)
		}
	} else {
		refused(t, "/", "belongs to user 0")
	}
	// Another program's folder, and one that everybody may read.
	f, err := Open(folder("program", 0o755), "another", "state.json")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	refused(t, filepath.Join(base, "program"), "was not made by test")
}

// A file that is a link, a FIFO or too large is neither read nor written.
func TestOddFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, dir).Close()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Symlink(victim, at("link")), os.Symlink(victim, at("state.new")), os.Symlink("lock", at("inside")),
		syscall.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("folder"), 0o700),
		os.WriteFile(at("large"), nil, 0o600), os.Truncate(at("large"), 3<<30),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f := open(t, dir)
	for _, name := range []string{"link", "inside", "fifo", "folder", "../victim", "large"} {
		if _, err := f.Read(name); err == nil {
			t.Errorf("%s is read", name)
		}
		if _, err := f.OpenLog(name); err == nil && name != "large" {
			t.Errorf("%s is a log", name)
		}
	}
	if err := f.Replace("state", []byte("new")); err != nil {
		t.Error(err)
	}
	if err := f.Replace("link", []byte("new")); err != nil { // the link itself is replaced
		t.Error(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the victim has %q, %v", text, err)
	}
	for _, name := range []string{lockName, guardName} {
		f.Close()
		if err := os.Remove(at(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, at(name)); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, "is not a regular file")
		if err := os.Remove(at(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte("test state\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplaceKeepsTheOldFileOrTheNew(t *testing.T) {
	f := open(t, t.TempDir())
	if _, err := f.Read("state"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, text := range []string{"first", "", "a longer one"} {
		if err := f.Replace("state", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Read("state"); err != nil || string(got) != text {
			t.Errorf("read %q, %v, want %q", got, err, text)
		}
	}
	if info, err := os.Stat(f.Path("state")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A log keeps its whole records, wherever it was cut off or spoilt.
func TestTornLogKeepsWholeRecords(t *testing.T) {
	f := open(t, t.TempDir())
	records := [][]byte{[]byte(`{"a":1}`), []byte("two words"), nil, []byte("the last")}
	if err := f.ReplaceLog("log", records[:2]); err != nil {
		t.Fatal(err)
	}
	log, err := f.OpenLog("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records[2:] {
		if err := log.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	text, err := f.Read("log")
	if err != nil || int64(len(text)) != log.Size() {
		t.Fatalf("%d bytes, size %d, %v", len(text), log.Size(), err)
	}
	for cut := range len(text) + 1 {
		if err := f.Replace("cut", text[:cut]); err != nil {
			t.Fatal(err)
		}
		got, err := f.ReadLog("cut")
		if want := bytes.Count(text[:cut], []byte("\n")); err != nil || len(got) != want {
			t.Fatalf("cut at %d: %d records, %v, want %d", cut, len(got), err, want)
		}
		for i, r := range got {
			if !bytes.Equal(r, records[i]) {
				t.Fatalf("cut at %d: record %d is %q", cut, i, r)
			}
		}
		if cut < len(text) {
			spoilt := bytes.Clone(text)
			spoilt[cut] ^= 1
			if err := f.Replace("cut", spoilt); err != nil {
				t.Fatal(err)
			}
			if got, _ := f.ReadLog("cut"); len(got) > bytes.Count(text[:cut], []byte("\n")) {
				t.Fatalf("spoilt at %d: %d records", cut, len(got))
			}
		}
	}
	if err := log.Clear(); err != nil || log.Size() != 0 {
		t.Error(err)
	}
	if got, err := f.ReadLog("log"); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := f.ReadLog("none"); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Remove(f.Path("log")); err != nil {
		t.Fatal(err)
	}
	if err := log.Append([]byte("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("appended to a file that cannot be found: %v", err)
	}
}
