package pleg

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
	"k8s.io/utils/clock"
)

// A phase is the point in the life of a container of the explored pod.
type phase uint8

const (
	noPhase phase = iota // not created yet
	inCreated
	inRunning
	inExited
	inRemoved
)

// A podView is the explored pod at one moment, by container. It is also the status that
// the runtime returns, which lists the containers and their exits.
type podView [2]phase

func (v podView) there(c int) bool         { return v[c] > noPhase && v[c] < inRemoved }
func (v podView) present() bool            { return v.there(0) || v.there(1) }
func (v podView) looksLike(u podView) bool { return v.visible() == u.visible() }

// visible returns v without the difference between containers to come and removed ones.
func (v podView) visible() podView {
	for c := range v {
		if !v.there(c) {
			v[c] = noPhase
		}
	}
	return v
}

func (v podView) Containers() (list []Container) {
	for c, p := range v {
		if v.there(c) {
			list = append(list, Container{ID: exploredIDs[c], State: StateCreated + State(p-inCreated)})
		}
	}
	return list
}

func (v podView) Exits() iter.Seq2[string, ExitDetails] {
	return func(yield func(string, ExitDetails) bool) {
		for c, p := range v {
			if p == inExited && !yield(exploredIDs[c], exploredExit(c)) {
				return
			}
		}
	}
}

func (v podView) String() string {
	if !v.present() {
		return "no pod"
	}
	var b strings.Builder
	for _, c := range v.Containers() {
		fmt.Fprintf(&b, " %s %v", c.ID, c.State)
	}
	return b.String()[1:]
}

const exploredPod = "p"

var (
	exploredIDs    = [2]string{"a", "b"}
	errExplored    = errors.New("injected")
	exploredClocks = [...]time.Duration{time.Hour, -5 * time.Second, -24 * time.Hour}
)

// exploredExit returns the details of the exit of container c.
func exploredExit(c int) ExitDetails { return ExitDetails{Name: exploredIDs[c], Code: int32(c + 1)} }

// exploredOptions are the settings of the explored Generator, whose clock counts in
// seconds.
var exploredOptions = GeneratorOptions{
	RelistPeriod: time.Second, EventedPeriod: 300 * time.Second, WaitLimit: 2 * time.Second,
}

// An exploration is a small world of which every history is tried.
type exploration struct {
	name   string
	stream bool
	look   string  // at a pod: by full "lists" and a status, by "pods" and a status, or by "statuses" alone
	pods   podView // the last phase that each container may reach
	slow   bool    // readers take at any moment; otherwise at once
	behind int     // events of another container that are pending at the beginning
	lazy   bool    // several events may arrive before the Generator's turn
	ticks  int     // seconds that pass before the runtime becomes quiet
	faults int     // of these kinds
	kinds  string  // of faults
}

// The kinds of faults and interruptions.
const (
	faultError   = 'E' // a call fails
	faultLose    = 'L' // an event is lost
	faultRepeat  = 'R' // an event arrives and stays under way
	faultDelay   = 'D' // an event is overtaken
	faultBreak   = 'B' // the stream ends
	faultClock   = 'C' // the runtime's clock steps
	faultRun     = 'S' // Run ends and another begins
	faultProgram = 'P' // the program starts again, and its reader of exits resumes
	faultWait    = 'W' // a wait begins
	faultSync    = 'Y' // RequestSync
	faultVanish  = 'V' // a container is removed while it runs
)

// A version is the truth about the pod during a time.
type podVersion struct {
	is    podView
	until time.Time // of all versions but the last
}

// A flight is a call in progress.
type flight struct {
	call call[string]
	from int // the version when it began
}

// A podWorld is a Generator in an explored world, at one moment of one history. It
// does by hand what a runner does with goroutines.
type podWorld struct {
	exploration
	clock.WithTicker
	now    time.Time
	cache  *statuscache.Cache[string, podView]
	g      *Generator[string, podView]
	reader *subscriber[string]
	exits  *ExitReader[string]

	versions  []podVersion // the last is now
	calls     []flight
	streaming bool // the stream is open
	events    []RuntimeEvent[string, podView]
	ahead     time.Duration // the runtime's clock
	waits     bool          // for a status newer than waitMin
	waitMin   time.Time
	asked     time.Time // begin of the wait, or its last relist
	wake      wakeup
	next      []podStep // the possible steps, if known

	observed
}

// newPodWorld returns the beginning of all histories.
func newPodWorld(x exploration) *podWorld {
	w := &podWorld{exploration: x, now: time.Unix(1e9, 0).UTC(), versions: []podVersion{{}}}
	w.ticksLeft, w.faultsLeft = x.ticks, x.faults
	w.begin(ExitOptions[string]{})
	for range x.behind {
		w.reader.put(exploredPod, []Event[string]{{exploredPod, ContainerChanged, "former"}})
	}
	w.advance()
	return w
}

func (w *podWorld) Now() time.Time { return w.now }

// begin makes a Generator and its readers.
func (w *podWorld) begin(o ExitOptions[string]) {
	w.cache = statuscache.New[string](statuscache.Options[podView]{Clock: w})
	g, err := NewGenerator(silent{}, nil, w.cache, exploredOptions)
	if err != nil {
		panic(err)
	}
	g.core.streaming = w.stream
	g.core.alone, g.core.single = w.look == "statuses", w.look != "lists"
	w.g = g
	w.reader = g.core.subscribe()
	if w.exits, err = g.ExitReader(o); err != nil {
		panic(err)
	}
}

// silent is a Runtime that is never called.
type silent struct{ Runtime[string, podView] }

func (w *podWorld) truth() podView { return w.versions[len(w.versions)-1].is }

// change changes the truth of container c.
func (w *podWorld) change(c int, to phase) {
	last := &w.versions[len(w.versions)-1]
	last.until = w.now
	is := last.is
	is[c] = to
	if last.is[c] == inRunning && to == inRemoved {
		w.send(c, RuntimeEventStopped, is)
	}
	w.versions = append(w.versions, podVersion{is: is})
	w.send(c, RuntimeEventCreated+RuntimeEventType(to-inCreated), is)
}

// send sends an event about container c, if the stream is open.
func (w *podWorld) send(c int, kind RuntimeEventType, is podView) {
	if w.streaming {
		w.events = append(w.events, RuntimeEvent[string, podView]{
			Pod: exploredPod, Container: exploredIDs[c], Type: kind, At: w.now.Add(w.ahead),
			Seen: &PodSnapshot[string, podView]{Pod[string]{exploredPod, is.Containers()}, is},
		})
	}
}

// advance does what runner.advance does.
func (w *podWorld) advance() {
	t := w.turn()
	for t.ended {
		w.cache.UpdateTime(t.start)
		t = w.turn()
	}
	w.wake = t.wake
}

func (w *podWorld) turn() turn[string] {
	var overdue []string
	var wait wakeup
	if w.waits {
		if !w.asked.Add(exploredOptions.WaitLimit).After(w.now) {
			overdue, w.asked = []string{exploredPod}, w.now
		}
		wait = wakeAt(w.asked.Add(exploredOptions.WaitLimit))
	}
	select {
	case <-w.g.events.wake:
	default:
	}
	w.g.core.takeEvents(&w.g.events)
	t := w.g.core.turn(w.now, true, overdue)
	w.streaming = w.streaming || t.connect
	for _, c := range t.calls {
		w.calls = append(w.calls, flight{c, len(w.versions) - 1})
		w.count(c)
	}
	t.wake = t.wake.or(wait)
	return t
}

// answer answers a call as of a version, or with an error.
func (w *podWorld) answer(i int, as podView, err error) {
	c := w.calls[i].call
	w.calls = append(w.calls[:i:i], w.calls[i+1:]...)
	r := result[string, podView]{call: c, err: err}
	if err == nil {
		w.show(as)
		switch {
		case c.kind == callPods && as.present():
			r.pods = []Pod[string]{{exploredPod, as.Containers()}}
		case c.kind == callPods:
		case !as.present():
			r.err = ErrNotFound
		case c.kind == callPod:
			r.pods = []Pod[string]{{exploredPod, as.Containers()}}
		default:
			r.status, r.stamp = as, w.now.Add(w.ahead)
		}
	}
	w.g.core.takeEvents(&w.g.events)
	w.g.core.handleResult(r, w.now)
}

// deliver passes an event to the Generator.
func (w *podWorld) deliver(i int) {
	e := w.events[i]
	w.showEvent(e.Container)
	w.g.events.event(e, w.now)
}

func (w *podWorld) dropEvent(i int) { w.events = append(w.events[:i:i], w.events[i+1:]...) }

// breakStream ends the stream, with its events under way.
func (w *podWorld) breakStream() {
	w.streaming, w.events = false, nil
	w.g.core.streamEnded(errExplored, w.now)
}

// endRun ends Run, with its calls and its stream, and begins another.
func (w *podWorld) endRun() {
	w.calls, w.streaming, w.events = nil, false, nil
	w.g.core.abandon(w.now)
}

// endProgram starts the program again. Only the position of its reader of exits stays.
func (w *podWorld) endProgram() {
	p := w.exits.Position()
	w.calls, w.streaming, w.events, w.waits = nil, false, nil, false
	w.restarted()
	w.begin(ExitOptions[string]{Resume: &p})
}

// answered reports whether a wait has ended.
func (w *podWorld) answered() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := w.cache.GetNewerThan(ctx, exploredPod, w.waitMin)
	return err == nil
}
