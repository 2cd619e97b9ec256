// Command statuscache waits for a status newer than a given time, and shows that an
// older status does not replace a newer one.
//
// It prints:
//
//	Running <nil>
//	false
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

func main() {
	cache := statuscache.New[string, string](statuscache.Options[string]{})
	defer cache.Close()

	before := time.Now().Add(-time.Second)
	go func() {
		at := time.Now() // before asking
		cache.Set("web-0", inspect("web-0"), nil, at)
	}()
	entry, err := cache.GetNewerThan(context.Background(), "web-0", before) // waits for it
	fmt.Println(entry.Status, err)

	fmt.Println(cache.Set("web-0", "Pending", nil, before)) // too old: false
}

func inspect(pod string) (status string) { return "Running" }
