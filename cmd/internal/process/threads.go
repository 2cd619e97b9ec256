//go:build unix

package process

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// threadsNeeded returns the most threads this program needs to run Go code, for the few
// blocking calls, and for the runtime itself.
func threadsNeeded() int { return runtime.GOMAXPROCS(0) + 12 }

// reserveThreads makes this process own keep more threads for good, since the Go
// runtime keeps idle threads. Commands may use up the processes allowed for a user or a
// container, and a Go program crashes if it cannot start a thread. reserveThreads also
// starts and ends spare threads, to reserve them for another process.
func reserveThreads(keep, spare int) {
	most := countThreads() + keep
	var ready, over sync.WaitGroup
	ready.Add(keep + spare)
	for i := range keep + spare {
		over.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			ready.Wait() // until each has a thread
			if i < keep {
				runtime.UnlockOSThread() // other threads end with their goroutines
			}
		})
	}
	over.Wait()
	for range 1000 { // a thread ends a little after its goroutine
		if spare == 0 || countThreads() <= most {
			break
		}
		time.Sleep(time.Millisecond)
	}
}

// countThreads returns the number of threads of this process, or 0 if unknown.
func countThreads() int {
	threads, _ := os.ReadDir("/proc/self/task")
	return len(threads)
}
