//go:build long && unix

package statefolder

import (
	"path/filepath"
	"testing"
	"time"
)

// A user that is just ending is waited for.
func TestEndingUserIsWaitedFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	first, err := Open(dir, "test", "state.json")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(lockWait/10, first.Close)
	open(t, dir)
}
