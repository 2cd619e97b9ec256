package backoff

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A reader and a writer that meet a writer wait for it.
func TestSlotWaits(t *testing.T) {
	s := newShards[string]()
	was := entry{failures: 1, delay: 2, updated: 3}
	s.put("a", was)
	hash := s.hash("a")
	slot := s.of(hash).find(hash, "a")
	slot.failures.Store(busy) // a writer is halfway through
	slot.updated.Store(99)
	read, delay, wrote := make(chan entry, 1), make(chan time.Duration, 1), make(chan entry, 1)
	go func() { read <- s.load("a") }()
	go func() { delay <- s.delay("a") }()
	go func() { s.update("a", func(was entry) entry { wrote <- was; return was }) }()
	for range 1000 { // time enough, were they not to wait
		runtime.Gosched()
	}
	if len(read)+len(delay)+len(wrote) > 0 {
		t.Error("somebody did not wait")
	}
	slot.updated.Store(3)
	slot.failures.Store(1)
	if e, d, w := <-read, <-delay, <-wrote; e != was || d != was.delay || w != was {
		t.Errorf("read %+v, delay %d, wrote after %+v", e, d, w)
	}
}

// What was read is only replaced while all of it still holds.
func TestSlotReplace(t *testing.T) {
	was := entry{failures: 1, delay: 2, updated: 3}
	next := entry{failures: 2, delay: 4, updated: 6}
	for _, now := range []entry{{2, 2, 3}, {1, 5, 3}, {1, 2, 5}, {}} {
		var s slot[string]
		s.put(was)
		s.put(now)
		if s.replace(was, next) {
			t.Errorf("%+v was taken for %+v", now, was)
		}
		if e, _ := s.load(); e != now {
			t.Errorf("%+v has become %+v", now, e)
		}
	}
	var s slot[string]
	s.put(was)
	if e := s.freeze(); e != was || s.replace(was, next) {
		t.Errorf("frozen %+v was replaced", e)
	}
	if e, open := s.load(); e != was || open {
		t.Errorf("frozen: %+v, %t", e, open)
	}
}

// Who takes a slot has its last entry and is alone: nobody else takes or writes it.
func TestSlotTake(t *testing.T) {
	var s slot[string]
	if e, ok := s.take(); ok || e != (entry{}) {
		t.Errorf("took %+v from an empty slot", e)
	}
	was := entry{failures: 1, delay: 2, updated: 3}
	s.put(was)
	if e, ok := s.take(); !ok || e != was {
		t.Errorf("took %+v, %t, want %+v", e, ok, was)
	}
	if _, ok := s.take(); ok || s.replace(was, entry{}) || s.failures.Load() != busy {
		t.Error("a slot is taken twice")
	}
	s.put(was)
	if e := s.freeze(); e != was {
		t.Errorf("frozen as %+v", e)
	}
	if _, ok := s.take(); ok {
		t.Error("took a frozen slot")
	}
}

// A freeze that meets a writer returns the writer's last entry. The writes leave
// the count as it was, as Next does after an expiry; the writer follows from slot
// to slot and never gets to write a frozen one.
func TestFreezeLosesNoWrite(t *testing.T) {
	slots := make([]slot[int], 100_000)
	wrote, frozen := make([]entry, len(slots)), make([]entry, len(slots))
	for i := range slots {
		wrote[i] = entry{failures: 1}
		slots[i].put(wrote[i])
	}
	var at atomic.Int64
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := at.Load(); i >= 0; i = at.Load() {
			next := wrote[i]
			if next.updated++; slots[i].replace(wrote[i], next) {
				wrote[i] = next
			}
		}
	})
	for i := range slots {
		at.Store(int64(i))
		for range 20 { // let the writer come to it
			slots[i].load()
		}
		frozen[i] = slots[i].freeze()
	}
	at.Store(-1)
	writer.Wait()
	met := 0
	for i, e := range frozen {
		if e != wrote[i] {
			t.Fatalf("slot %d: frozen as %+v, the last write was %+v", i, e, wrote[i])
		}
		met += int(min(e.updated, 1))
	}
	t.Logf("%d of %d freezes met the writer", met, len(slots))
}
