package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/restartkit/restart/examples/internal/printer"
	"github.com/restartkit/restart/pleg"
)

// heap returns the memory in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The runtime is gone for half an hour. Containers that waited when it went, and those
// that exit meanwhile, are started once, when their delay is over and it is back. Until
// then criwatch looks for it at a steady pace, and neither log nor memory grow.
func TestRuntimeThatIsGoneForLongMissesNoExit(t *testing.T) {
	const gone = 30 * time.Minute
	const delay = 20 * time.Second
	dir := filepath.Join(t.TempDir(), "state")
	s, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.folder.Close()
	p, _, err := readPolicy(policyOf(t, fmt.Sprintf("containers: [{curve: {initial: %v, max: %v}}]", delay, delay)))
	if err != nil {
		t.Fatal(err)
	}
	var table, log logBuffer
	out := printer.New() // outside, since its goroutine does not end
	synctest.Test(t, func(t *testing.T) {
		f := fakeAt(t, "")
		defer f.down()
		conn, err := dial("passthrough:///fake", grpc.WithContextDialer(f.connect))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		begun := time.Now()
		ends := map[string]time.Duration{} // of containers that exit, since then
		for i := range 10 {
			pod := fmt.Sprint("p", i)
			f.runPod(pod)
			for j := range 5 {
				f.run(pod, containerConfig(fmt.Sprint("c", j)))
			}
			ends[pod+"-c0"] = time.Minute - time.Second*time.Duration(1+2*i)                  // before it goes: some are started at once, others wait
			ends[pod+"-c1"] = time.Minute + gone/10*time.Duration(i) + 5*time.Second          // meanwhile
			ends[pod+"-c2"] = time.Minute + gone - time.Duration(i)*time.Second               // shortly before it is back
			ends[pod+"-c3"] = time.Minute + gone + time.Minute + time.Duration(i)*time.Second // when it is back
		}
		w, err := newWatch(newNode(conn), &options{relist: time.Second, evented: 5 * time.Minute}, pleg.ExitOptions[string]{Earlier: true}, nil, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		rows := newRowWriter("json", out.To(&table), false)
		l, err := newCrashLoop(w, p, rows, s, stillAbout, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.run(ctx)
		}()
		for id, at := range ends {
			time.AfterFunc(at, func() {
				if at > time.Minute && at <= time.Minute+gone {
					f.exitQuietly(id+"-0", 1)
				} else {
					f.exit(id+"-0", 1)
				}
			})
		}
		time.Sleep(time.Minute - time.Since(begun))
		f.down()
		time.Sleep(time.Minute)
		synctest.Wait()
		memory, goroutines, connects, lines := heap(), runtime.NumGoroutine(), f.count("connect"), log.count("\n")
		time.Sleep(gone - 2*time.Minute)
		synctest.Wait()
		if more := f.count("connect") - connects; more > int(6*gone/time.Second) || more < int(gone/time.Second/4) {
			t.Errorf("it tried to connect %d times in %v", more, gone-2*time.Minute)
		}
		if more := log.count("\n") - lines; more > 0 || lines > 5+mostStarts {
			t.Errorf("%d lines of log, then %d", lines, more)
		}
		if now := heap(); now > memory+1<<20 || runtime.NumGoroutine() > goroutines+2 || len(l.tasks) != 50 || l.cache.Len() != 10 {
			t.Errorf("%d bytes of memory, then %d; %d goroutines, then %d; %d tasks, %d pods", memory, now, goroutines, runtime.NumGoroutine(), len(l.tasks), l.cache.Len())
		}
		time.Sleep(time.Minute)
		f.up()
		time.Sleep(5 * time.Minute)
		stop()
		<-ended
		for id, end := range ends {
			var attempt uint32
			pod, name, _ := strings.Cut(id, "-")
			if got := f.all(pod, name); len(got) != 2 {
				t.Errorf("%s: attempts %v", id, got)
				continue
			}
			attempt = 1
			next, _ := f.attempt(pod, name, attempt)
			due := end + delay
			if back := time.Minute + gone; due > time.Minute && due < back { // a time without a runtime is no time
				due = back
			}
			if start := time.Unix(0, f.container(next).status.StartedAt).Sub(begun); start < due || start > due+3*time.Second {
				t.Errorf("%s was started after %v, its exit was at %v and its delay over at %v", id, start, end, due)
			}
		}
		if list := f.doubled(); list != nil || f.count("StopContainer") > 0 {
			t.Error(list)
		}
	})
	if t.Failed() {
		t.Logf("%s%s", &table, &log)
	}
}
