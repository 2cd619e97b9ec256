//go:build long

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

	"github.com/restartkit/restart/cmd/internal/printer"
	"github.com/restartkit/restart/cmd/internal/statefolder"
	"github.com/restartkit/restart/pleg"
)

// heap returns the memory in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// An untimed is a crashLoop on a runtime without a socket, in a bubble of synctest.
type untimed struct {
	*crashLoop
	f          *fakeRuntime
	table, log logBuffer
}

// inBubble calls do in a bubble of synctest with a crashLoop that runs until do returns.
func inBubble(t *testing.T, policy string, do func(*testing.T, *untimed)) {
	s, err := statefolder.OpenStore(filepath.Join(t.TempDir(), "state"), "criwatch", stateVersion)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, _, err := readPolicy(policyOf(t, policy))
	if err != nil {
		t.Fatal(err)
	}
	out := printer.New() // outside, since its goroutine does not end
	var u untimed
	synctest.Test(t, func(t *testing.T) {
		u.f = fakeAt(t, "")
		defer u.f.down()
		conn, err := dial("passthrough:///fake", grpc.WithContextDialer(u.f.connect))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		w, err := newWatch(newNode(conn), &options{relist: time.Second, evented: 5 * time.Minute}, pleg.ExitOptions[string]{IncludePast: true}, nil, slog.New(slog.NewTextHandler(&u.log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if u.crashLoop, err = newCrashLoop(w, p, newRowWriter("json", out.To(&u.table), false), s, stillAbout, nil); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			u.run(ctx)
		}()
		do(t, &u)
		stop()
		<-ended
	})
	if t.Failed() {
		t.Logf("%s%s", &u.table, &u.log)
	}
}

// Starts that hang hold up no others for longer than slowStart.
func TestStartsThatHangHoldUpNoOthers(t *testing.T) {
	inBubble(t, "containers: [{curve: {initial: 1s, max: 1s}}]", func(t *testing.T, u *untimed) {
		f := u.f
		f.runPod("p")
		hang := make(chan struct{})
		for i := range mostStarts {
			f.exitQuietly(f.run("p", containerConfig(fmt.Sprint("hangs", i))), 1)
		}
		f.run("p", containerConfig("other"))
		f.with(func() { f.hooks["StartContainer"] = func() { <-hang } })
		time.Sleep(10 * time.Second)
		f.with(func() { delete(f.hooks, "StartContainer") })
		f.exit("p-other-0", 1)
		time.Sleep(5 * time.Second)
		if !f.runs("p", "other", 1) || f.runs("p", "hangs0", 1) {
			t.Error("it was not started")
		}
		close(hang)
		time.Sleep(time.Second)
		for i := range mostStarts {
			if name := fmt.Sprint("hangs", i); !f.runs("p", name, 1) {
				t.Errorf("%s was not started", name)
			}
		}
		synctest.Wait()
		if list := f.doubled(); list != nil || u.busy != 0 {
			t.Errorf("%d are being started; %v", u.busy, list)
		}
	})
}

// Starts keep to the rate when a runtime that hung in CreateContainer answers all calls at
// once.
func TestSlowStartsKeepToTheRate(t *testing.T) {
	const rate, burst, containers = 2, 3, 3 * mostStarts
	policy := fmt.Sprintf("rate: %d\nburst: %d\ncontainers: [{curve: {initial: 1s, max: 1s}}]", rate, burst)
	inBubble(t, policy, func(t *testing.T, u *untimed) {
		f := u.f
		f.runPod("p")
		var starts []time.Time
		hang := make(chan struct{})
		for i := range containers {
			f.run("p", containerConfig(fmt.Sprint("c", i)))
		}
		f.with(func() {
			f.hooks["CreateContainer"] = func() { <-hang }
			f.hooks["StartContainer"] = func() { f.with(func() { starts = append(starts, time.Now()) }) }
		})
		for i := range containers {
			f.exit(fmt.Sprintf("p-c%d-0", i), 1)
		}
		time.Sleep(25 * time.Second)
		close(hang)
		time.Sleep(containers * time.Second / rate)
		synctest.Wait()
		for i := range containers {
			if name := fmt.Sprint("c", i); !f.runs("p", name, 1) {
				t.Errorf("%s was not started", name)
			}
		}
		for i := burst; i < len(starts); i++ {
			if gap, least := starts[i].Sub(starts[i-burst]), time.Second/rate; gap < least {
				t.Errorf("starts %d to %d came within %v, must take %v", i-burst, i, gap, least)
			}
		}
		if list := f.doubled(); list != nil || u.busy != 0 || u.pace.reserved != 0 || len(starts) != containers {
			t.Errorf("%d starts; %d are being started, %d turns are reserved; %v", len(starts), u.busy, u.pace.reserved, list)
		}
	})
}

// The runtime is gone for half an hour. Containers that waited when it went, and those
// that exit meanwhile, are started once, when their delay is over and it is back. Until
// then criwatch looks for it at a steady pace, and neither log nor memory grow.
func TestRuntimeThatIsGoneForLongMissesNoExit(t *testing.T) {
	const gone = 30 * time.Minute
	const delay = 20 * time.Second
	policy := fmt.Sprintf("containers: [{curve: {initial: %v, max: %v}}]", delay, delay)
	inBubble(t, policy, func(t *testing.T, u *untimed) {
		f := u.f
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
		memory, goroutines, connects, lines := heap(), runtime.NumGoroutine(), f.count("connect"), u.log.count("\n")
		time.Sleep(gone - 2*time.Minute)
		synctest.Wait()
		if more := f.count("connect") - connects; more > int(6*gone/time.Second) || more < int(gone/time.Second/4) {
			t.Errorf("it tried to connect %d times in %v", more, gone-2*time.Minute)
		}
		if more := u.log.count("\n") - lines; more > 0 || lines > 5+mostStarts {
			t.Errorf("%d lines of log, then %d", lines, more)
		}
		if now := heap(); now > memory+1<<20 || runtime.NumGoroutine() > goroutines+2 || len(u.tasks) != 50 || u.cache.Len() != 10 {
			t.Errorf("%d bytes of memory, then %d; %d goroutines, then %d; %d tasks, %d pods", memory, now, goroutines, runtime.NumGoroutine(), len(u.tasks), u.cache.Len())
		}
		time.Sleep(time.Minute)
		f.up()
		time.Sleep(5 * time.Minute)
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
}
