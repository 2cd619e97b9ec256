package statuscache

import (
	"context"
	"slices"
	"testing"
	"time"
)

// A global time or a write between a wait's lookup and its registration ends it.
func TestGlobalTimeBeforeTheWaitEndsIt(t *testing.T) {
	t1, t2 := second(1), second(2)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	c := New[string](Options[string]{MaxSkew: -1})
	c.Set("old", "x", nil, t1)
	for _, key := range []string{"absent", "old"} {
		r, global := c.lookup(key)
		w := &waiter[string]{key: key, min: max(r.when(), global)}
		if err := c.wait(over, w, r); err != context.Canceled {
			t.Errorf("%s: nothing has happened: %v", key, err)
		}
	}
	r, global := c.lookup("old")
	missing, _ := c.lookup("absent")
	c.Writer().UpdateTime(t2)
	if err := c.wait(over, &waiter[string]{key: "absent", min: global}, missing); err != nil {
		t.Errorf("absent: %v", err)
	}
	if err := c.wait(over, &waiter[string]{key: "old", min: r.when()}, r); err != nil {
		t.Errorf("old: %v", err)
	}
	r, global = c.lookup("old")
	c.Set("old", "y", nil, t2)
	if err := c.wait(over, &waiter[string]{key: "old", min: global, any: true}, r); err != nil {
		t.Errorf("written: %v", err)
	}
}

// A wait for data newer than a time does not end at that time and is not overdue before
// it.
func TestWaitEndsStrictlyAfterItsTime(t *testing.T) {
	t0, t2, t3, t4 := second(0), second(2), second(3), second(4)
	c := New[string](Options[string]{MaxSkew: -1})
	w := &waiter[string]{key: "a", min: c.instant(t2), done: make(chan struct{}), asked: t0}
	c.waits.add(w)
	if freed := c.waits.written("a", w.min); freed != nil || !w.waiting() {
		t.Error("freed by a write of that time")
	}
	if freed, more := c.waits.upTo(w.min); freed != nil || more || !w.waiting() {
		t.Error("freed by a global time of that time")
	}
	if keys, next, _ := c.Writer().Overdue(t2, time.Second); len(keys) > 0 || !next.Equal(t3) {
		t.Errorf("overdue at that time: %v, next %v", keys, next)
	}
	if keys, next, _ := c.Writer().Overdue(t3.Add(-1), time.Second); len(keys) > 0 || !next.Equal(t3) {
		t.Errorf("overdue before its limit: %v, next %v", keys, next)
	}
	if keys, next, _ := c.Writer().Overdue(t3, time.Second); !slices.Equal(keys, []string{"a"}) || !next.Equal(t4) {
		t.Errorf("overdue at its limit: %v, next %v", keys, next)
	}
	c.Delete("b", t3)
	c.waits.add(&waiter[string]{key: "b", any: true, done: make(chan struct{})})
	if c.Delete("b", t3); len(c.waits.byTime) != 2 {
		t.Error("a deletion that says nothing new frees a wait")
	}
	if freed, _ := c.waits.upTo(w.min + 1); freed == nil {
		t.Error("not freed by a later time")
	}
}

func second(seconds int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)
}
