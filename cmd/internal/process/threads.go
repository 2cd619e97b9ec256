//go:build unix

package process

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// threadsNeeded returns how many threads this program needs at most: for running Go code,
// for the few calls that block, and for the runtime itself.
func threadsNeeded() int { return runtime.GOMAXPROCS(0) + 12 }

// reserveThreads makes sure that this process has that many threads, for good: the Go
// runtime keeps those that it does not need now. Commands may use up the processes that a
// user or a container may have, and a Go program that cannot start a thread crashes.
// reserveThreads also starts and ends spare threads, as many as another process needs.
func reserveThreads(keep, spare int) {
	most := countThreads() + keep
	var ready, over sync.WaitGroup
	ready.Add(keep + spare)
	for i := range keep + spare {
		over.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			ready.Wait() // all have a thread
			if i < keep {
				runtime.UnlockOSThread() // else the thread ends with its goroutine
			}
		})
	}
	over.Wait()
	for range 1000 { // a thread ends a little later than its goroutine
		if spare == 0 || countThreads() <= most {
			break
		}
		time.Sleep(time.Millisecond)
	}
}

// countThreads returns the number of threads of this process, 0 if it is unknown.
func countThreads() int {
	threads, _ := os.ReadDir("/proc/self/task")
	return len(threads)
}
