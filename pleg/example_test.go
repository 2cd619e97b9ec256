package pleg_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A node is a Runtime with one container per pod.
type node map[string]pleg.State

func (n node) Pods(context.Context) ([]pleg.Pod[string], error) {
	var pods []pleg.Pod[string]
	for pod, state := range n {
		pods = append(pods, pleg.Pod[string]{ID: pod, Containers: []pleg.Container{{ID: pod + "/app", State: state}}})
	}
	return pods, nil
}

func (n node) Status(_ context.Context, pod string) (string, time.Time, error) {
	state, ok := n[pod]
	if !ok {
		return "", time.Time{}, pleg.ErrNotFound
	}
	return fmt.Sprint("app is ", state), time.Time{}, nil
}

// A Generator fills a cache with the status of every pod and reports changes. Here
// Relist requests each relist; usually Run makes them.
func Example() {
	ctx := context.Background()
	n := node{"web-0": pleg.StateRunning}
	cache := statuscache.New[string](statuscache.Options[string]{})
	defer cache.Close()
	gen, err := pleg.NewGenerator(n, nil, cache, pleg.GeneratorOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := gen.Relist(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for e := range gen.Events(ctx) {
		fmt.Printf("%s of %s: %s\n", e.Type, e.Pod, cache.Get(e.Pod).Status)
		if e.Type == pleg.ContainerDied {
			break
		}
		n["web-0"] = pleg.StateExited
		if err := gen.Relist(ctx); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// PodSync of web-0: app is running
	// ContainerDied of web-0: app is exited
}

// Run does the work in a goroutine and ends with its context. The pods are those of a
// fake runtime.
func ExampleGenerator() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rt := plegtest.New[string](1, plegtest.Faults{})
	cache := statuscache.New[string](statuscache.Options[*plegtest.Status]{})
	gen, err := pleg.NewGenerator(rt, rt, cache, pleg.GeneratorOptions{RelistPeriod: 10 * time.Millisecond})
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
		gen, err := pleg.NewGenerator(rt, nil, cache, pleg.GeneratorOptions{})
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
