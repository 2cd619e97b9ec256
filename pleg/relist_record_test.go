package pleg

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var brief = Container{ID: "brief", State: StateRunning}

// A container shown only by an unrecorded observation causes a PodSync when the next
// look does not show it.
func TestBriefContainerIsReported(t *testing.T) {
	running, exited := Container{ID: "p", State: StateRunning}, Container{ID: "p", State: StateExited}
	no := errors.New("no")
	for name, seen := range map[string]func(b *bench){
		"the status does not show it": func(b *bench) {
			b.lists(b.asks("Pods")[0], exited, brief)
			b.status(b.asks("Status p")[0], nil, exited)
		},
		"its status failed": func(b *bench) {
			b.lists(b.asks("Pods")[0], running, brief)
			b.status(b.asks("Status p")[0], no)
		},
		"its status came with an error": func(b *bench) {
			b.lists(b.asks("Pods")[0], exited)
			b.status(b.asks("Status p")[0], no, exited, brief)
		},
		"its pod backed off": func(b *bench) {
			b.lists(b.asks("Pods")[0], exited)
			b.status(b.asks("Status p")[0], no)
			b.settled()
			b.listNow = true
			b.lists(b.asks("Pods")[0], exited, brief)
		},
		"something newer refused it": func(b *bench) {
			b.cache.Set("p", nil, nil, t2)
			b.lists(b.asks("Pods")[0], exited, brief)
			b.status(b.asks("Status p")[0], nil, exited, brief)
		},
		"a later list replaced it": func(b *bench) {
			b.o.MaxConcurrent, b.listNow = 1, false
			b.request("p", false)
			b.request("q", false)
			b.lists(b.asks("Pod p")[0], exited, brief)
			q := b.asks("Pod q")[0]
			b.listNow = true
			b.lists(b.asks("Pods")[0], exited)
			b.fails(q, ErrNotFound)
		},
		"the clock was set back before the look": func(b *bench) {
			b.listNow = false
			b.now = t3
			b.request("p", false)
			b.lists(b.asks("Pod p")[0], running)
			b.status(b.asks("Status p")[0], nil, running)
			b.now = t1
			b.request("p", false)
			b.lists(b.asks("Pod p")[0], exited, brief)
			b.asks("") // not before the clock has caught up
		},
		"another look was under way": func(b *bench) {
			b.request("p", false)
			list := b.asks("Pod p, Pods")
			b.lists(list[1], running, brief)
			b.lists(list[0], running)
			b.status(b.asks("Status p")[0], nil, running)
			if b.drain(); strings.Contains(b.told, "PodSync") {
				b.Error("the look that began before concludes from the list")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, true)
			b.relisted("p")
			b.now, b.listNow = t1, true
			b.reader = b.subscribe()
			b.reader.take()
			seen(b)
			b.drain()
			for range 10 { // until all is quiet
				b.now = b.now.Add(time.Minute)
				b.retries(b.now)
				for _, c := range b.calls(b.now, b.running, b.period) {
					switch c.kind {
					case callStatus:
						b.status(c, nil, exited)
					case callPod:
						if c.pod == "p" {
							b.lists(c, exited)
						} else {
							b.fails(c, ErrNotFound)
						}
					case callPods:
						b.lists(c, exited)
					}
				}
				if _, ok := b.done(); ok {
					b.settled()
				}
				b.drain()
			}
			if b.told != "ContainerDied p, PodSync" {
				t.Errorf("told %s", b.told)
			}
		})
	}
}

// If the cache refuses a deletion, because an entry is stamped ahead, the removal is
// not reported before the cache accepts it.
func TestDeletionWaitsForTheCache(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	b.now, b.listNow = t1, true
	b.reader = b.subscribe()
	b.reader.take()
	b.cache.Set("p", nil, nil, t3)
	b.answer(b.asks("Pods")[0])
	if b.drain(); b.told != "" || !b.cache.Get("p").Present {
		t.Errorf("told %s; present %v", b.told, b.cache.Get("p").Present)
	}
	b.now = t4
	b.retries(b.now)
	b.answer(b.asks("Pod p")[0])
	if b.drain(); b.told != "ContainerDied p, ContainerRemoved p" || b.cache.Get("p").Present {
		t.Errorf("told %s; present %v", b.told, b.cache.Get("p").Present)
	}
}

// Beyond the limit, an unknown container only requests a full list, which forgets the
// others.
func TestUnknownContainersAreRememberedUpToABound(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p", "q")
	b.o.MaxConcurrent = 0
	bound := maxOrphans + 2*(b.present+b.live)
	for i := range bound + 1 {
		if b.crowded() || b.listForPods {
			t.Fatalf("crowded with %d of %d", i, bound)
		}
		b.noteEvents("p", map[string]rank{fmt.Sprint(i): created})
	}
	if b.remembered() != bound+1 || !b.crowded() || b.listForPods {
		t.Errorf("%d are held, crowded %v, a list wanted %v", b.remembered(), b.crowded(), b.listForPods)
	}
	b.noteEvents("p", map[string]rank{"more": created, "p": running})
	if p := b.pods["p"]; !b.listForPods || p.containers["more"] != nil || p.containers["p"].reported != running {
		t.Error("one more container is remembered, or one that is there is not told of")
	}
	b.listForPods = false
	if b.noteEvents("unknown", nil); b.pods["unknown"] != nil || !b.listForPods {
		t.Error("one more pod is remembered")
	}
	o := &observation{serial: b.serial}
	if b.noteUnrecorded(b.pods["p"], o, []Container{{ID: "more", State: StateRunning}}); b.remembered() != bound+1 {
		t.Error("one more container is remembered for having been seen")
	}
}

// A step found by a look counts as reported if its event arrives before the next full
// relist, and otherwise as missed, once.
func TestLateEventReducesMissedSteps(t *testing.T) {
	b := newBench(t, true)
	b.relisted()
	b.expectEvents = true
	counts := func(transitions, told, missed uint64) {
		t.Helper()
		s := b.relister.stats
		if s.Transitions != transitions || s.ReportedEvents != told || s.MissedEvents != missed {
			t.Errorf("%d steps, %d told, %d missed; want %d, %d, %d", s.Transitions, s.ReportedEvents, s.MissedEvents, transitions, told, missed)
		}
	}
	for _, state := range []State{StateCreated, StateRunning, StateExited} {
		b.now = b.now.Add(time.Millisecond)
		b.request("p", false)
		b.lists(b.asks("Pod p")[0], Container{ID: "c", State: state})
		b.status(b.asks("Status p")[0], nil, Container{ID: "c", State: state})
	}
	counts(3, 0, 0)
	b.noteEvents("p", map[string]rank{"c": running})
	counts(3, 2, 0)
	b.noteEvents("p", map[string]rank{"c": running})
	counts(3, 2, 0)
	b.lists(b.asks("Pod p")[0], Container{ID: "c", State: StateExited})
	b.status(b.asks("Status p")[0], nil, Container{ID: "c", State: StateExited})
	period := time.Second + time.Millisecond // after the first of the steps was found
	for _, tt := range []struct {
		at     time.Duration
		missed uint64
	}{{period - 1, 0}, {period, 1}, {2 * period, 1}} {
		b.now = t0.Add(tt.at)
		b.listNow = true
		b.lists(b.asks("Pods")[0], Container{ID: "c", State: StateExited})
		b.settled()
		counts(3, 2, tt.missed)
	}
	b.noteEvents("p", map[string]rank{"c": exited}) // too late
	counts(3, 2, 1)
}

// Without a stream, no step counts as missed, neither by the first relist nor by an
// event.
func TestNothingIsMissedWithoutAStream(t *testing.T) {
	for name, expect := range map[string]struct{ told, first bool }{"no stream": {false, false}, "the first list": {true, true}} {
		b := newBench(t, true)
		if !expect.first {
			b.relisted()
		}
		b.expectEvents = expect.told
		b.now = t1
		b.relisted("p")
		if s := b.relister.stats; s.Transitions+s.MissedEvents+s.ReportedEvents != 0 {
			t.Errorf("%s: %d steps", name, s.Transitions)
		}
	}
}
