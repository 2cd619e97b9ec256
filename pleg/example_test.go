package pleg_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// A node runs one container in each pod: whatever has pods can be a Runtime.
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

// A generator keeps a cache of every pod's status and tells what has changed. Here
// each relist is asked for; usually Run makes them, in a goroutine of the caller's.
func Example() {
	ctx := context.Background()
	n := node{"web-0": pleg.StateRunning}
	cache := pleg.NewCache[string](pleg.CacheOptions[string]{})
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

// What is known can only be replaced by what was seen later.
func ExampleCache() {
	cache := pleg.NewCache[string, string](pleg.CacheOptions[string]{})
	seen := time.Now()
	later := seen.Add(time.Millisecond)

	fmt.Println(cache.Get("web-0").Present)
	fmt.Println(cache.Set("web-0", "running", nil, later))
	fmt.Println(cache.Set("web-0", "pending", nil, seen), cache.Get("web-0").Status)

	fmt.Println(cache.Delete("web-0", later))
	fmt.Println(cache.Set("web-0", "running", nil, later), cache.Get("web-0").Present)
	// Output:
	// false
	// true
	// false running
	// true
	// false false
}

// Who wants what is newer than a time, now or not at all, compares; and who has seen
// that nothing has changed says so.
func ExampleCache_Confirm() {
	cache := pleg.NewCache[string, string](pleg.CacheOptions[string]{})
	seen := time.Now()
	cache.Set("web-0", "running", nil, seen)

	fresh := func(min time.Time) (string, bool) {
		e := cache.Get("web-0")
		return e.Status, e.Modified.After(min)
	}
	fmt.Println(fresh(seen))
	fmt.Println(cache.Confirm("web-0", seen.Add(time.Millisecond)))
	fmt.Println(fresh(seen))
	// Output:
	// running false
	// true
	// running true
}

// Whoever has just changed something waits for a status that shows it.
func ExampleCache_GetNewerThan() {
	cache := pleg.NewCache[string, string](pleg.CacheOptions[string]{})
	defer cache.Close()
	cache.Set("web-0", "running", nil, time.Now())

	stopped := time.Now()
	go cache.Set("web-0", "exited", nil, time.Now().Add(time.Millisecond))
	entry, err := cache.GetNewerThan(context.Background(), "web-0", stopped)
	fmt.Println(entry.Status, err)
	// Output:
	// exited <nil>
}

// Whoever waits for a state says what it looks like.
func ExampleCache_WaitFor() {
	cache := pleg.NewCache[string, string](pleg.CacheOptions[string]{})
	defer cache.Close()
	go func() {
		cache.Set("web-0", "running", nil, time.Now())
		cache.Set("web-0", "exited", nil, time.Now().Add(time.Millisecond))
	}()
	entry, err := cache.WaitFor(context.Background(), "web-0", func(e pleg.Entry[string]) bool {
		return e.Status == "exited"
	})
	fmt.Println(entry.Status, err)
	// Output:
	// exited <nil>
}

// A loop over Watch begins with what is there and goes on with what changes.
func ExampleCache_Watch() {
	cache := pleg.NewCache[string, string](pleg.CacheOptions[string]{})
	at := time.Now()
	cache.Set("web-0", "running", nil, at)
	for pod, e := range cache.Watch(context.Background()) {
		fmt.Printf("%s: %q present: %v\n", pod, e.Status, e.Present)
		switch {
		case e.Status == "running":
			cache.Set(pod, "exited", nil, at.Add(1))
		case e.Status == "exited" && e.Present:
			cache.Delete(pod, at.Add(2))
		default:
			cache.Close() // ends the loop
		}
	}
	// Output:
	// web-0: "running" present: true
	// web-0: "exited" present: true
	// web-0: "" present: false
}

// Run does the work in a goroutine of the caller's, and ends with its context. Here a
// fake runtime has the pods.
func ExampleGenerator() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rt := plegtest.New[string](1, plegtest.Faults{})
	cache := pleg.NewCache[string](pleg.CacheOptions[*plegtest.Status]{})
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

// A program stores its position with what it has done about the exits. The program
// that is started in its place gets the exits that it has not, however long nobody
// looked.
func ExampleExitReader() {
	ctx := context.Background()
	rt := plegtest.New[string](1, plegtest.Faults{})
	newReader := func(o pleg.ExitOptions[string]) (*pleg.ExitReader[string], *pleg.Generator[string, *plegtest.Status]) {
		cache := pleg.NewCache[string](pleg.CacheOptions[*plegtest.Status]{})
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

	rt.ExitCode("web-0", "b", 2) // while nobody looks
	var position pleg.ExitPosition[string]
	if err := json.Unmarshal(stored, &position); err != nil {
		panic(err)
	}
	reader, gen = newReader(pleg.ExitOptions[string]{After: &position})
	gen.Relist(ctx)
	next(reader)
	// Output:
	// web-0 a exit code 1 <nil>
	// web-0 b exit code 2 <nil>
}
