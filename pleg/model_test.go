package pleg

import (
	"errors"
	"fmt"
	"time"
)

// model is the cache as the text of KEP-3386 and the Cache comment describe it:
// two maps and a time, nothing concurrent, nothing fast.
type model struct {
	acceptEqual bool
	maxSkew     time.Duration // negative: no check
	merge       func(old, new string) string
	closed      bool
	global      time.Time
	entries     map[string]Entry[string]
	tombstones  map[string]time.Time
	base        map[string]string // the last status written without an error
}

func newModel() *model {
	return &model{maxSkew: -1, entries: map[string]Entry[string]{}, tombstones: map[string]time.Time{}, base: map[string]string{}}
}

func (m *model) refuses(at, now time.Time) bool {
	return m.closed || at.IsZero() || m.maxSkew >= 0 && at.Sub(now) > m.maxSkew
}

func (m *model) set(key, status string, err error, at, now time.Time) bool {
	if m.refuses(at, now) {
		return false
	}
	if old, ok := m.entries[key]; ok {
		if !at.After(old.Modified) && !(m.acceptEqual && at.Equal(old.Modified)) {
			return false
		}
	} else if !at.After(m.global) || !at.After(m.tombstones[key]) {
		return false
	}
	if err == nil {
		if base, ok := m.base[key]; ok && m.merge != nil {
			status = m.merge(base, status)
		}
		m.base[key] = status
	}
	delete(m.tombstones, key)
	m.entries[key] = Entry[string]{Status: status, Err: err, Modified: at, Present: true}
	return true
}

func (m *model) delete(key string, at, now time.Time) bool {
	if m.refuses(at, now) || m.entries[key].Modified.After(at) {
		return false
	}
	if at.After(m.known(key)) || m.entries[key].Present {
		m.tombstones[key] = at
	}
	delete(m.entries, key)
	delete(m.base, key)
	return true
}

func (m *model) updateTime(at, now time.Time) {
	if !m.refuses(at, now) && at.After(m.global) {
		m.global = at
	}
}

// known is the time of what is known of key.
func (m *model) known(key string) time.Time {
	latest := m.global
	for _, t := range []time.Time{m.entries[key].Modified, m.tombstones[key]} {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

func (m *model) get(key string) Entry[string] {
	e := m.entries[key]
	e.Modified = m.known(key)
	return e
}

// alike reports whether two entries are equal; times are compared as times.
func alike(a, b Entry[string]) bool {
	return a.Status == b.Status && errors.Is(a.Err, b.Err) && errors.Is(b.Err, a.Err) && a.Modified.Equal(b.Modified) && a.Present == b.Present
}

// valid checks what the type comment of Cache numbers, as far as one moment
// shows it, and that its indexes agree.
func (c *Cache[K, S]) valid() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	present, graves := 0, 0
	length := 0
	for n := range c.nodes.all() {
		length++
		r := n.last.Load()
		_, deleted := c.deleted[n.key]
		switch {
		case c.nodes.find(n.key) != n:
			return fmt.Errorf("%v: not found", n.key)
		case r.at == never:
			return fmt.Errorf("%v: written at no time", n.key)
		case r.entry.Present:
			present++
		case r.at <= c.globalTime():
			return fmt.Errorf("5: %v: tombstone at %d, global time %d", n.key, r.at, c.globalTime())
		case !deleted:
			return fmt.Errorf("%v: tombstone without a grave", n.key)
		}
		if deleted {
			graves++
		}
	}
	if present != c.Len() || graves != len(c.deleted) || length != c.nodes.len {
		return fmt.Errorf("%d present, counted %d; %d graves, counted %d; %d nodes, counted %d", present, c.Len(), graves, len(c.deleted), length, c.nodes.len)
	}
	waiting := 0
	for key, first := range c.waits.byKey {
		for w := first; w != nil; w = w.next {
			waiting++
			if known := max(c.globalTime(), c.last(key).when()); !w.any && known > w.min {
				return fmt.Errorf("4: %v: waits for newer than %d, known as of %d", key, w.min, known)
			}
			if w.place == 0 || c.waits.byTime[w.place-1] != w {
				return fmt.Errorf("%v: waiter misplaced", key)
			}
		}
	}
	if waiting != len(c.waits.byTime) {
		return fmt.Errorf("%d waiters by key, %d by time", waiting, len(c.waits.byTime))
	}
	return nil
}
