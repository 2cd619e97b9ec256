//go:build long

package main

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/restartkit/restart/cmd/internal/programtest"
	"github.com/restartkit/restart/pleg"
)

// Counts criwatch's calls to the runtime, and their CPU time, for each container that
// is created, starts, exits and is removed, one after the other.
func TestIntegrationCallsPerExit(t *testing.T) {
	d := newKubelet(t)
	const exits = 40
	var mu sync.Mutex
	calls := map[string]int{}
	conn, err := grpc.NewClient(d.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			mu.Lock()
			calls[path.Base(method)]++
			mu.Unlock()
			return invoke(ctx, method, req, reply, c, o...)
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p := d.runPod()
	lives := func(reported func(id string, event pleg.EventType) bool) {
		for range exits {
			id := d.start(p, "sleep 1000000")
			programtest.Eventually(t, "the start is reported", func() bool { return reported(id, pleg.ContainerStarted) })
			kill(t, d.containerPid(id))
			programtest.Eventually(t, "the exit is reported", func() bool { return reported(id, pleg.ContainerDied) })
			d.remove(id)
			programtest.Eventually(t, "the removal is reported", func() bool { return reported(id, pleg.ContainerRemoved) })
		}
	}

	r := &recorder{}
	w, stop := startWatchTo(t, conn, &options{relist: time.Second, evented: time.Hour}, r, testLog{t})
	programtest.Eventually(t, "the stream is in use", func() bool { return w.gen.Stats().Streaming })
	mu.Lock()
	clear(calls)
	mu.Unlock()
	lives(r.has)
	stop()
	all := 0
	fmt.Printf("\ncalls of the runtime for each container's life:")
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		all += calls[name]
		fmt.Printf(" %s %.1f,", name, float64(calls[name])/exits)
	}
	fmt.Printf(" together %.1f\n", float64(all)/exits)

	c := startChild(t, "-endpoint", d.endpoint)
	time.Sleep(5 * time.Second)
	daemon, _ := runtimeProcesses(t, d.endpoint)
	before, theirs := cpu(t, c.Process.Pid), cpu(t, daemon)
	lives(func(id string, event pleg.EventType) bool { return len(c.of(id, event)) > 0 })
	fmt.Printf("CPU time for each container's life: criwatch %.2f ms, containerd %.1f ms\n", milliseconds(cpu(t, c.Process.Pid)-before)/exits, milliseconds(cpu(t, daemon)-theirs)/exits)
	c.end(syscall.SIGINT)
}
