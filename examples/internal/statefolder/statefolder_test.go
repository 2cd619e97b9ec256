package statefolder

import (
	"path/filepath"
	"testing"
	"time"
)

// A folder has one user at a time; one that is just ending is waited for.
func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	first, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || err.Error() != dir+" is in use by another run" {
		t.Errorf("a second user: %v", err)
	}
	time.AfterFunc(lockWait/10, func() { first.Close() })
	next, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	next.Close()
	if _, err := Open("/dev/null/x"); err == nil {
		t.Error("no folder")
	}
}
