package statuscache

import "fmt"

// Valid checks the numbered invariants of Cache, as far as one moment shows them, and
// the consistency of its indexes.
func (c *Cache[K, S]) Valid() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	present, tombstones := 0, 0
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
			return fmt.Errorf("%v: tombstone that the table does not hold", n.key)
		}
		if deleted {
			tombstones++
		}
	}
	if present != c.Len() || tombstones != len(c.deleted) || length != c.nodes.len {
		return fmt.Errorf("%d present, counted %d; %d tombstones, counted %d; %d nodes, counted %d", present, c.Len(), tombstones, len(c.deleted), length, c.nodes.len)
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

// Held returns how many nodes, waits and loops over Watch c holds.
func (c *Cache[K, S]) Held() (nodes, waits, watchers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes.len, max(len(c.waits.byTime), len(c.waits.byKey), c.waits.byAge.Len()), len(c.watchers)
}
