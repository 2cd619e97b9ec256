package pleg

import "time"

// A core is a Generator without goroutines, calls and clock. It consists of the
// relister and the state of the event stream, and decides which of the two to rely on.
// Its owner locks it and carries out its turns.
type core[K comparable, S any] struct {
	*relister[K, S]
	stream    streamState
	streaming bool      // a stream is available
	relying   bool      // the stream was relied upon at the last check
	changed   time.Time // when relying last changed, or the core was made
	ending    bool      // the last turn said that a full relist has ended
}

// A turn is the work to do now.
type turn[K comparable] struct {
	calls   []call[K] // to make
	connect bool      // open the stream
	ended   bool      // a full relist has ended; take another turn once its start is the global time
	start   time.Time // of that full relist
	wake    wakeup    // the latest time of the next turn
}

// turn returns the work to do at now. Outside Run, running is false, and the only full
// lists are those for Relist. overdue are the pods of overdue waits.
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

// takeEvents takes the pending events.
func (c *core[K, S]) takeEvents(q *eventQueue[K, S]) {
	if c.relister.takeEvents(q) {
		c.stream.received = true
	}
}

// streamEnded records the end of the stream with its error.
func (c *core[K, S]) streamEnded(err error, now time.Time) {
	c.stats.ConnectionErrors++
	if c.stream.ended(now, err) {
		c.listNow = true
	}
	c.rely(now)
}

// abandon drops the calls and the stream.
func (c *core[K, S]) abandon(now time.Time) {
	c.relister.abandon()
	c.stream.reset()
	c.rely(now)
}

// rely updates relying.
func (c *core[K, S]) rely(now time.Time) {
	if reliable := c.stream.reliable(); reliable != c.relying {
		c.relying, c.changed = reliable, now
	}
}

// period returns the period in force between full relists.
func (c *core[K, S]) period() time.Duration {
	if c.relying {
		return c.o.EventedPeriod
	}
	return c.o.RelistPeriod
}
