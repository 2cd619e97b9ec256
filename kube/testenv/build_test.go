package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCacheWithoutAHomeIsForTheUserAlone(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("TMPDIR", temporary)
	for range 2 { // makes it, finds it
		dir, err := cacheDir()
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(dir); err != nil || filepath.Dir(dir) != temporary || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	dir, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := cacheDir(); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder that others can read: %v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := cacheDir(); err == nil {
		t.Error("a file is taken")
	}
}
