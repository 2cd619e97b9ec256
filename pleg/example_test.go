package pleg_test

import (
	"context"
	"fmt"
	"time"

	"github.com/restartkit/restart/pleg"
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
