package pleg_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
	"pgregory.net/rapid"
)

// Several writers feed a cache with late, unordered observations of the truth. Watch
// and GetNewerThan must still end with it.
func TestLateWritesHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h history
		rapid.SyncTest(t, func(t *rapid.T) { h = simulateCache(t) })
		for _, v := range h.check().violations {
			t.Errorf("%v", v)
		}
	})
}

func simulateCache(t *rapid.T) history {
	w := &simulation{
		rt:    record(1, plegtest.Faults{}),
		cache: statuscache.New[string](statuscache.Options[*plegtest.Status]{}),
		live:  map[string][]string{}, removed: map[string][]string{},
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.ctx = ctx
	defer w.all.Wait()
	defer w.cache.Close()
	defer cancel()
	for i := range 3 {
		name := fmt.Sprintf("watcher %d", i)
		w.names = append(w.names, name)
		w.all.Go(func() { w.rt.Watch(ctx, name, w.cache, time.Duration(i)*time.Second) })
	}
	var writes sync.WaitGroup
	for range rapid.IntRange(1, 50).Draw(t, "steps") {
		time.Sleep(time.Duration(rapid.IntRange(1, 1000).Draw(t, "ms")) * time.Millisecond)
		switch rapid.SampledFrom([]string{"change", "observe", "observe", "list", "wait"}).Draw(t, "action") {
		case "change":
			w.change(t)
		case "observe":
			id, late := w.pod(t), time.Duration(rapid.IntRange(0, 4000).Draw(t, "late"))*time.Millisecond
			writes.Go(func() { w.observe(id, late) })
		case "list":
			// A relist that begins now ends when everything was written.
			start := time.Now()
			time.Sleep(time.Millisecond)
			for _, id := range []string{"p", "q", "r", "s"} {
				w.observe(id, 0)
			}
			w.cache.UpdateTime(start)
		case "wait":
			w.wait(t)
		}
	}
	writes.Wait()
	time.Sleep(time.Second)
	for _, id := range []string{"p", "q", "r", "s"} {
		w.observe(id, 0)
	}
	time.Sleep(time.Minute)
	w.rt.Compare(w.cache, 4, w.names...)
	cancel()
	w.cache.Close()
	w.all.Wait()
	return w.rt.History()
}

// observe writes the present truth of a pod later.
func (w *simulation) observe(id string, late time.Duration) {
	now, s := time.Now(), w.rt.Truth()[id]
	time.Sleep(late)
	if s == nil {
		w.cache.Delete(id, now)
	} else {
		w.cache.Set(id, s, nil, now)
	}
}
