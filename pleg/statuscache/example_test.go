package statuscache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// Only later observations replace an entry. An observation is as old as its question.
func ExampleCache() {
	cache := statuscache.New[string, string](statuscache.Options[string]{})
	inspect := func() string { return "running" }

	at := time.Now() // before asking
	status := inspect()
	fmt.Println(cache.Get("web-0").Present)
	fmt.Println(cache.Set("web-0", status, nil, at))
	fmt.Println(cache.Set("web-0", "pending", nil, at.Add(-time.Second)), cache.Get("web-0").Status)

	fmt.Println(cache.Delete("web-0", at))
	fmt.Println(cache.Set("web-0", "running", nil, at), cache.Get("web-0").Present)
	// Output:
	// false
	// true
	// false running
	// true
	// false false
}

// After a change, a program waits for a status that shows it.
func ExampleCache_GetNewerThan() {
	cache := statuscache.New[string, string](statuscache.Options[string]{})
	defer cache.Close()
	cache.Set("web-0", "running", nil, time.Now())

	stopped := time.Now()
	go cache.Set("web-0", "exited", nil, time.Now().Add(time.Millisecond))
	entry, err := cache.GetNewerThan(context.Background(), "web-0", stopped)
	fmt.Println(entry.Status, err)
	// Output:
	// exited <nil>
}

// WaitFor waits for a state described by a function.
func ExampleCache_WaitFor() {
	cache := statuscache.New[string, string](statuscache.Options[string]{})
	defer cache.Close()
	go func() {
		cache.Set("web-0", "running", nil, time.Now())
		cache.Set("web-0", "exited", nil, time.Now().Add(time.Millisecond))
	}()
	entry, err := cache.WaitFor(context.Background(), "web-0", func(e statuscache.Entry[string]) bool {
		return e.Status == "exited"
	})
	fmt.Println(entry.Status, err)
	// Output:
	// exited <nil>
}

// Watch yields the present entries and then the changes.
func ExampleCache_Watch() {
	cache := statuscache.New[string, string](statuscache.Options[string]{})
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
