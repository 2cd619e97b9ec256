package pleg

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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
// the runtime returns.
type podView [2]phase

func (v podView) there(c int) bool         { return v[c] > noPhase && v[c] < inRemoved }
func (v podView) ended(c int) bool         { return v[c] >= inExited }
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

func (v podView) String() string {
	if !v.present() {
		return "no pod"
	}
	var b strings.Builder
	for c := range v {
		if v.there(c) {
			fmt.Fprintf(&b, " %s %v", exploredIDs[c], StateCreated+State(v[c]-inCreated))
		}
	}
	return b.String()[1:]
}

const exploredPod = "p"

var (
	exploredIDs = [2]string{"a", "b"}
	errExplored = errors.New("injected")
)

// exploredOptions are the settings of the explored Generator, whose clock counts in
// seconds.
var exploredOptions = GeneratorOptions[string]{
	RelistPeriod: time.Second, EventedPeriod: 300 * time.Second, WaitLimit: 2 * time.Second,
}

// A podVersion is the truth about the pod during a time.
type podVersion struct {
	is    podView
	until time.Time // of all versions but the last
}

// A flight is a call in progress.
type explorerCall struct {
	question question[string]
	from     int // the version when it began
}

// A podWorld is a Generator in an explored world, at one moment of one history. It
// does by hand the work of an caller and its goroutines.
type podWorld struct {
	exploration
	clock.WithTicker
	now    time.Time
	cache  *statuscache.Cache[string, podView]
	g      *Generator[string, podView]
	reader *subscriber[string]
	exits  *ExitReader[string]

	versions  []podVersion // the last is the one in answers now
	finished  [2]time.Time
	pending   []phaseOf // changes whose events are ahead of the answers
	calls     []explorerCall
	streaming bool // the stream is open
	events    []RuntimeEvent[string]
	waits     bool // for a status newer than waitMin
	waitMin   time.Time
	asked     time.Time // begin of the wait, or its last inspection
	wake      wakeup
	next      []podStep // the possible steps, if known

	observed
}

// A phaseOf is a change that answers do not show yet.
type phaseOf struct {
	c  int
	to phase
}

// newPodWorld returns the beginning of all histories.
func newPodWorld(x exploration) *podWorld {
	w := &podWorld{exploration: x, now: time.Unix(1e9, 0).UTC(), versions: []podVersion{{}}}
	w.ticksLeft, w.faultsLeft = x.ticks, x.faults
	w.begin(ExitOptions[string]{})
	w.model = NewModel(w.now)
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
	options := exploredOptions
	if w.stream {
		options.Stream = silent{}
	}
	g, err := NewGenerator(silent{}, w.cache, options)
	if err != nil {
		panic(err)
	}
	w.g = g
	w.reader = g.subscribe()
	w.open(o)
}

// silent is a Runtime and a Streamer that are never called.
type silent struct {
	Runtime[string, podView]
	Streamer[string]
}

func (w *podWorld) truth() podView { return w.versions[len(w.versions)-1].is }

// containers returns the containers of a view, as answers show them. Exits of the first
// container have no time.
func (w *podWorld) containers(v podView) (list []Container) {
	for c, p := range v {
		if !v.there(c) {
			continue
		}
		s := Container{ID: exploredIDs[c], State: StateCreated + State(p-inCreated)}
		if p == inExited {
			s.Exit = w.exit(c)
		}
		list = append(list, s)
	}
	return list
}

// exit returns the details of the exit of container c.
func (w *podWorld) exit(c int) *ExitDetails {
	d := &ExitDetails{Name: exploredIDs[c], Code: int32(c + 1)}
	if c > 0 {
		d.Finished = w.finished[c]
	}
	return d
}

// change changes the truth of container c.
func (w *podWorld) change(c int, to phase) {
	last := &w.versions[len(w.versions)-1]
	last.until = w.now
	is := last.is
	is[c] = to
	if is.ended(c) && w.finished[c].IsZero() {
		w.finished[c] = w.now
	}
	w.versions = append(w.versions, podVersion{is: is})
}

// send sends the events of a change, if the stream is open.
func (w *podWorld) send(c int, from, to phase) {
	if !w.streaming {
		return
	}
	if from == inRunning && to == inRemoved {
		w.events = append(w.events, RuntimeEvent[string]{Pod: exploredPod, Container: exploredIDs[c], Type: RuntimeEventStopped})
	}
	e := RuntimeEvent[string]{Pod: exploredPod, Container: exploredIDs[c], Type: RuntimeEventCreated + RuntimeEventType(to-inCreated)}
	if to == inExited {
		e.Exit = &ExitDetails{Name: exploredIDs[c], Code: int32(c + 1)}
	}
	w.events = append(w.events, e)
}

// advance does the work of caller.advance.
func (w *podWorld) advance() {
	a := &caller[string, podView]{g: w.g, running: true}
	select {
	case <-w.g.wake:
	default:
	}
	for {
		if w.waits && !w.asked.Add(exploredOptions.WaitLimit).After(w.now) {
			w.g.record(exploredPod)
			w.g.sched.want(exploredPod, true)
			w.asked = w.now
		}
		p := a.plan()
		if p.listDone {
			w.g.writer.UpdateTime(p.listStart)
			a.finishList()
			continue
		}
		w.streaming = w.streaming || p.connect
		for _, q := range p.calls {
			w.calls = append(w.calls, explorerCall{q, len(w.versions) - 1})
			if q.list {
				w.lists++
			} else {
				w.inspections++
			}
		}
		w.wake = p.next
		if w.waits {
			w.wake = w.wake.or(wakeAt(w.asked.Add(exploredOptions.WaitLimit)))
		}
		return
	}
}

// answer answers a call as of a version, or with an error. An empty list shows nothing.
func (w *podWorld) answer(i int, as podView, empty bool, err error) {
	q := w.calls[i].question
	w.calls = append(w.calls[:i:i], w.calls[i+1:]...)
	seen := w.containers(as)
	if empty {
		seen = nil
	}
	if err == nil && !w.closed {
		w.model.Answer(q.list, seen)
	}
	w.showAnswer(seen)
	pods := []Pod[string]{{exploredPod, seen}}
	if q.list {
		if len(seen) == 0 {
			pods = nil
		}
		w.g.listAnswered(pods, err, w.now)
		return
	}
	if err == nil && len(seen) == 0 {
		err = ErrNotFound
	}
	w.g.inspectionAnswered(answer[string, podView]{question: q, pods: pods, status: as, err: err}, w.now)
}

// deliver passes an event to the Generator.
func (w *podWorld) deliver(i int) {
	e := w.events[i]
	if w.plant && w.resumed && e.Type == RuntimeEventDeleted && !w.known[strings.Index("ab", e.Container)] {
		w.exits.log.forget(ref[string]{e.Pod, e.Container})
	}
	w.g.event(e)
}

func (w *podWorld) dropEvent(i int) { w.events = append(w.events[:i:i], w.events[i+1:]...) }

// breakStream ends the stream, with its events under way.
func (w *podWorld) breakStream() {
	w.streaming, w.events = false, nil
	a := &caller[string, podView]{g: w.g, running: true}
	a.streamEnded(streamEnd{err: errExplored})
}

// endRun ends Run, with its calls and its stream, and begins another.
func (w *podWorld) endRun() {
	w.calls, w.streaming, w.events = nil, false, nil
	w.g.abandon()
}

// endProgram starts the program again. Only the position of its reader of exits stays.
func (w *podWorld) endProgram() {
	p := w.exits.Position()
	w.calls, w.streaming, w.events, w.waits = nil, false, nil, false
	w.model = w.model.Copy()
	w.closed = false
	w.restarted()
	w.begin(ExitOptions[string]{Resume: &p})
}

// newReader replaces the reader of exits.
func (w *podWorld) newReader() {
	w.closeReader()
	w.closed = false
	w.open(ExitOptions[string]{})
	w.model = NewModel(w.now)
	w.model.Full = w.g.sched.answered
	w.model.Begin(w.answers(), w.isGone, false)
	w.yielded = [2]int{}
}

// closeReader closes the reader, whose position must stay the same.
func (w *podWorld) closeReader() {
	before := w.exits.Position()
	w.exits.Close()
	if after := w.exits.Position(); !reflect.DeepEqual(before, after) {
		w.fail("the position %+v becomes %+v by Close", before, after)
	}
	w.closed = true
}

// reopen continues from the position of the closed reader. It owes what that one owed, and
// the exits of the containers that have come since and are still there.
func (w *podWorld) reopen() {
	p := w.exits.Position()
	w.closed = false
	w.open(ExitOptions[string]{Resume: &p})
	w.model = w.model.Copy()
	since := w.answers()
	for id := range since {
		if w.model.owed[id] || w.model.past[id] || w.model.perhaps[id] {
			delete(since, id)
		}
	}
	w.model.Begin(since, w.isGone, true)
}

// open makes the reader of exits.
func (w *podWorld) open(o ExitOptions[string]) {
	var err error
	if w.exits, err = w.g.ExitReader(o); err != nil {
		panic(err)
	}
}

// answers returns the containers that answers have shown to this Generator.
func (w *podWorld) answers() map[string]Container {
	known := map[string]Container{}
	for c, id := range exploredIDs {
		if w.known[c] {
			known[id] = Container{ID: id, State: w.seen[c]}
		}
	}
	return known
}

func (w *podWorld) isGone(id string) bool { return w.truth()[strings.Index("ab", id)] == inRemoved }

// answered reports whether a wait has ended.
func (w *podWorld) answered() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := w.cache.GetNewerThan(ctx, exploredPod, w.waitMin)
	return err == nil
}
