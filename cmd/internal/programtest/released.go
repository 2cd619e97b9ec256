package programtest

import (
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// Released is the folder with the states of released versions.
const Released = "../../testdata/released"

// Versions returns the recorded versions, as folders of Released.
func Versions(t testing.TB) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(Released, "v*"))
	if err != nil || len(folders) < 2 {
		t.Fatalf("recorded versions: %q, %v", folders, err)
	}
	for i := range folders {
		folders[i] = filepath.Base(folders[i])
	}
	return folders
}

var (
	timeInState = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	logLine     = regexp.MustCompile(`(?m)^[0-9a-f]{8} \{.*\}$`)
	sealedState = regexp.MustCompile(`(?s)("crc32":")([0-9a-f]{8}","state":)(\{.*\})\}\n$`)
)

// shifted returns the text of a state or a log with later times, and their checksums.
func shifted(t testing.TB, text []byte, later time.Duration) []byte {
	text = timeInState.ReplaceAllFunc(text, func(at []byte) []byte {
		then, err := time.Parse(time.RFC3339Nano, string(at))
		if err != nil {
			t.Fatal(err)
		}
		return []byte(then.Add(later).Format(time.RFC3339Nano))
	})
	text = logLine.ReplaceAllFunc(text, func(line []byte) []byte {
		return fmt.Appendf(nil, "%08x %s", crc32.ChecksumIEEE(line[9:]), line[9:])
	})
	if m := sealedState.FindSubmatchIndex(text); m != nil {
		copy(text[m[4]:], fmt.Sprintf("%08x", crc32.ChecksumIEEE(text[m[6]:m[7]])))
	}
	return text
}

// ReleasedFolder copies the state folder of a program and version. Its times are later
// by the duration.
func ReleasedFolder(t testing.TB, version, program string, later time.Duration) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), program)
	source := filepath.Join(Released, version, program)
	if err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Mkdir(filepath.Join(dir, name), 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if later != 0 {
			text = shifted(t, text, later)
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o600)
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ReleasedText returns a file of a version, or "" without one.
func ReleasedText(t testing.TB, version, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Released, version, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}
