package pleg_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A node is a Runtime of pods with one container each.
type node struct {
	mu   sync.Mutex
	pods map[string]pleg.Container
}

// set changes the container of a pod.
func (n *node) set(pod string, c pleg.Container) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods[pod] = c
}

func (n *node) Pods(context.Context) ([]pleg.Pod[string], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []pleg.Pod[string]
	for id, c := range n.pods {
		list = append(list, pleg.Pod[string]{ID: id, Containers: []pleg.Container{c}})
	}
	return list, nil
}

func (n *node) Pod(_ context.Context, id string) (pleg.Pod[string], string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, ok := n.pods[id]
	if !ok {
		return pleg.Pod[string]{}, "", pleg.ErrNotFound
	}
	return pleg.Pod[string]{ID: id, Containers: []pleg.Container{c}}, fmt.Sprint("app is ", c.State), nil
}

// The reader of exits is made before Run starts, so that it misses no exit. By then the
// cache has the status of the pod.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := &node{pods: map[string]pleg.Container{"web-0": {ID: "app-1", State: pleg.StateRunning}}}
	cache := statuscache.New[string](statuscache.Options[string]{})
	defer cache.Close()
	gen, err := pleg.NewGenerator(n, cache, pleg.GeneratorOptions[string]{RelistPeriod: 10 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	exits, err := gen.ExitReader(pleg.ExitOptions[string]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer exits.Close()

	// The container may end at any time, here before the first list of Run.
	n.set("web-0", pleg.Container{ID: "app-1", State: pleg.StateExited, Exit: &pleg.ExitDetails{Code: 3, Finished: time.Now()}})
	go gen.Run(ctx)
	e, err := exits.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s of %s: exit code %d; %s\n", e.Container, e.Pod, e.Details.Code, cache.Get(e.Pod).Status)
	// Output:
	// app-1 of web-0: exit code 3; app is exited
}

// Events are the changes of pods, exits included. Run does the work in a goroutine and
// ends with its context. The pods are those of a fake runtime.
func ExampleGenerator() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rt := plegtest.New[string](1, plegtest.Faults{})
	cache := statuscache.New[string](statuscache.Options[*plegtest.Status]{})
	gen, err := pleg.NewGenerator(rt, cache, pleg.GeneratorOptions[string]{Stream: rt, RelistPeriod: 10 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- gen.Run(ctx) }()

	rt.Create("web-0", "app")
	for e := range gen.Events(ctx) {
		switch e.Type {
		case pleg.ContainerStarted:
			fmt.Println(e.Pod, e.Type)
			rt.Exit("web-0", "app")
		case pleg.ContainerDied:
			fmt.Println(e.Pod, e.Type)
			cancel() // ends Run and the loop
		default: // it was created
			rt.Start("web-0", "app")
		}
	}
	fmt.Println("Run:", <-ended)
	// Output:
	// web-0 ContainerStarted
	// web-0 ContainerDied
	// Run: context canceled
}

// A program stores its position with the outcome of each exit. After a restart, it gets
// the exits since.
func ExampleExitReader() {
	ctx := context.Background()
	rt := plegtest.New[string](1, plegtest.Faults{})
	newReader := func(o pleg.ExitOptions[string]) (*pleg.ExitReader[string], *pleg.Generator[string, *plegtest.Status]) {
		cache := statuscache.New[string](statuscache.Options[*plegtest.Status]{})
		gen, err := pleg.NewGenerator(rt, cache, pleg.GeneratorOptions[string]{})
		if err != nil {
			panic(err)
		}
		reader, err := gen.ExitReader(o)
		if err != nil {
			panic(err)
		}
		return reader, gen
	}
	next := func(r *pleg.ExitReader[string]) {
		e, err := r.Next(ctx)
		fmt.Println(e.Pod, e.Container, "exit code", e.Details.Code, err)
	}

	reader, gen := newReader(pleg.ExitOptions[string]{})
	for _, container := range []string{"a", "b"} {
		rt.Create("web-0", container)
		rt.Start("web-0", container)
	}
	gen.Relist(ctx)
	rt.ExitCode("web-0", "a", 1)
	gen.Relist(ctx)
	next(reader)
	stored, err := json.Marshal(reader.Position())
	if err != nil {
		panic(err)
	}

	rt.ExitCode("web-0", "b", 2) // while the program is down
	var position pleg.ExitPosition[string]
	if err := json.Unmarshal(stored, &position); err != nil {
		panic(err)
	}
	reader, gen = newReader(pleg.ExitOptions[string]{Resume: &position})
	gen.Relist(ctx)
	next(reader)
	// Output:
	// web-0 a exit code 1 <nil>
	// web-0 b exit code 2 <nil>
}
