package lockfile

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestOneHoldsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	var held, taken atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for taken.Load() < 100 {
				lock, err := Take(path)
				if err != nil { // another one holds it
					continue
				}
				if held.Add(1) > 1 {
					t.Error("two hold the lock")
				}
				taken.Add(1)
				held.Add(-1)
				lock.Release()
			}
		})
	}
	all.Wait()
	if _, err := os.Stat(path + ".lock"); !os.IsNotExist(err) {
		t.Errorf("the lock is left: %v", err)
	}
}

// The lock of a program that was killed is taken over.
func TestLeftLockIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path); err == nil {
		t.Error("it is taken twice")
	}
	lock.Release()
	lock.Release()
}
