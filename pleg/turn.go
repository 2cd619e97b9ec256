package pleg

import "time"

// A core is a Generator without goroutines, calls and clock: what is known and to be done
// (relister), the state of the event stream, and which of the two to rely on. Its owner
// locks it and carries out what turn says.
type core[K comparable, S any] struct {
	*relister[K, S]
	stream    streamState
	streaming bool      // there is a stream to open
	relying   bool      // on the stream, at the last look
	changed   time.Time // when relying changed, or the core was made
	ending    bool      // the last turn said that a full relist has ended
}

// A turn is what to do now.
type turn[K comparable] struct {
	calls   []call[K] // to make
	connect bool      // open the stream
	ended   bool      // a full relist has ended, and another turn is due once its start is the global time
	start   time.Time // of that full relist
	wake    wakeup    // when another turn is due at the latest
}

// turn returns what to do at now. running is false outside Run, where only full lists for
// Relist begin; overdue are the pods that somebody has waited too long for.
func (c *core[K, S]) turn(now time.Time, running bool, overdue []K) (t turn[K]) {
	if running && c.streaming {
		t.connect = c.stream.connect(now)
		if c.stream.prove(now) {
			c.stats.Connections++
		}
		t.wake = c.stream.next()
	}
	for _, key := range overdue {
		c.request(key, true)
	}
	c.expectEvents = running && c.streaming && !c.stream.unsupported
	c.streamYoung = c.stream.open && !c.stream.resynced
	if c.ending {
		c.ending = false
		c.stream.listed(c.finish(now))
	}
	c.rely(now)
	c.retries(now)
	t.calls = c.calls(now, running, c.period())
	t.start, t.ended = c.done()
	c.ending = t.ended
	t.wake = t.wake.or(c.retries(now))
	if running {
		t.wake = t.wake.or(c.wake(c.period()))
	}
	return t
}

// takeEvents takes what came in.
func (c *core[K, S]) takeEvents(q *eventQueue[K, S]) {
	if c.relister.takeEvents(q) {
		c.stream.received = true
	}
}

// streamEnded notes that the stream has ended, and why.
func (c *core[K, S]) streamEnded(err error, now time.Time) {
	c.stats.ConnectionErrors++
	if c.stream.ended(now, err) {
		c.listNow = true
	}
	c.rely(now)
}

// abandon forgets the calls and the stream, which were given up.
func (c *core[K, S]) abandon(now time.Time) {
	c.relister.abandon()
	c.stream.reset()
	c.rely(now)
}

// rely notes whether the stream is relied upon.
func (c *core[K, S]) rely(now time.Time) {
	if reliable := c.stream.reliable(); reliable != c.relying {
		c.relying, c.changed = reliable, now
	}
}

// period is the one in force between full relists.
func (c *core[K, S]) period() time.Duration {
	if c.relying {
		return c.o.EventedPeriod
	}
	return c.o.RelistPeriod
}
