package statuscache

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/restartkit/restart/internal/search"
	"k8s.io/utils/clock"
)

// An exploration is a small world of one key and two writers, of which every history is
// tried. The second writer makes full relists.
type exploration struct {
	name         string
	options      Options[int]
	inOrder      bool // the only writer uses SetInOrder, and changes take no time
	changes      int  // of the status, before the key is deleted
	observations int
	faults       int    // of these kinds
	kinds        string // E failed inspection, A time ahead, R repeated write, W wait for a newer status, F wait for any change, C Close, T time passes
}

var explorations = []exploration{
	{name: "two writers", changes: 2, observations: 4, faults: 2, kinds: "EAR"},
	{name: "waits", changes: 2, observations: 3, faults: 2, kinds: "WFC"},
	{name: "equal times accepted", options: Options[int]{AcceptEqual: true}, changes: 2, observations: 3, faults: 2, kinds: "EARW"},
	{name: "one writer in order", inOrder: true, changes: 3, observations: 4, faults: 2, kinds: "EARWFT"},
}

var mostStates = flag.Int("statuscache.states", 4000, "the number of states after which an exploration stops; 0: none")

// Every history of a small world keeps to the guarantees of package pleg. The default is
// the shortest ones; -statuscache.states=0 makes all.
func TestExplorations(t *testing.T) {
	var table strings.Builder
	tab := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "states\ttransitions\tdepth\ttime\tall\t  world")
	for _, x := range explorations {
		t.Run(x.name, func(t *testing.T) {
			h := search.NewHistories(func() search.World { return newWorld(x) })
			r := search.Run(t.Context(), h, search.Options{Workers: runtime.GOMAXPROCS(0), States: *mostStates})
			fmt.Fprintf(tab, "%d\t%d\t%d\t%v\t%v\t  %s\n", r.States, r.Transitions, r.Depth, r.Time.Round(time.Millisecond), r.Complete, x.name)
			if r.Broken != nil {
				t.Errorf("%v, after %d steps:\n%s", r.Broken, len(r.Story), h.Tell(r.Story))
			}
		})
	}
	tab.Flush()
	t.Logf("\n%s", &table)
}

const exploredKey = "p"

var (
	errExplored   = errors.New("injected")
	waitLimit     = 2 * time.Second
	deletedStatus = -1
)

// world is a cache at one moment of one history.
type world struct {
	exploration
	clock.WithTicker
	now     time.Time
	c       *Cache[string, int]
	reader  *watcher[string]
	truth   []truth // the last is now
	writers [2]observation
	wait    *waiter[string]
	before  Entry[int] // at the beginning of the wait
	written bool       // by the last step

	observationsLeft, faultsLeft int
	broken                       error
	cached, read                 int // the versions that the cache and the reader have shown
	modified                     time.Time
	shown                        bool // the reader has the key
	next                         []step
}

// truth is a version of the key's status, 0 before the key exists and deletedStatus at
// the end.
type truth struct {
	is    int
	until time.Time // of all versions but the last
}

// observation is what a writer has seen, and when.
type observation struct {
	stage stage
	start time.Time
	is    int
}

type stage int

const (
	resting stage = iota
	observing
	written // by a full relist, which has not ended
)

func newWorld(x exploration) *world {
	w := &world{exploration: x, now: time.Unix(1e9, 0).UTC(), truth: []truth{{}}, observationsLeft: x.observations, faultsLeft: x.faults}
	x.options.Clock = w
	w.c = New[string](x.options)
	w.reader = w.c.watch()
	return w
}

func (w *world) Now() time.Time { return w.now }

func (w *world) is() int { return w.truth[len(w.truth)-1].is }

// step is one step of a history.
type step struct {
	name string
	do   func()
}

// Steps implements search.World.
func (w *world) Steps() int {
	if w.next == nil {
		w.next = w.steps()
	}
	return len(w.next)
}

// Describe implements search.World.
func (w *world) Describe(i int) string {
	w.Steps()
	return w.next[i].name
}

// Take implements search.World.
func (w *world) Take(i int) {
	w.Steps()
	do := w.next[i].do
	w.next = nil
	do()
	w.check()
}

func (w *world) steps() (list []step) {
	add := func(name string, do func()) { list = append(list, step{name, do}) }
	fault := func(kind rune, name string, do func()) {
		if w.faultsLeft > 0 && strings.ContainsRune(w.kinds, kind) {
			add(name, func() {
				w.faultsLeft--
				do()
			})
		}
	}
	if is := w.is(); is >= 0 && is < w.changes {
		add(fmt.Sprintf("the status becomes %d", is+1), func() { w.change(is + 1) })
	}
	if w.is() > 0 {
		add("the key is deleted", func() { w.change(deletedStatus) })
	}
	for i := range w.writers {
		l := &w.writers[i]
		name := [...]string{"the writer", "the relist"}[i]
		switch {
		case l.stage == resting && w.observationsLeft > 0 && (i == 1 || !w.inOrder):
			add(name+" observes", func() {
				w.observationsLeft--
				*l = observation{observing, w.now, w.is()}
			})
		case l.stage == observing:
			add(name+" writes", func() { w.write(i, l.start, nil) })
			fault('E', name+" writes an error", func() { w.write(i, l.start, errExplored) })
			fault('A', name+" tries to write with a time ahead", func() { w.set(l.is, w.now.Add(time.Hour), nil) })
			fault('R', name+" writes, and will again", func() { w.set(l.is, l.start, nil) })
		case l.stage == written:
			add("the relist ends", func() {
				w.c.Writer().UpdateTime(l.start)
				l.stage = resting
			})
		}
	}
	if w.wait == nil {
		fault('W', "a wait for a newer status begins", func() { w.begin(false) })
		fault('F', "a wait for any change begins", func() { w.begin(true) })
	}
	fault('C', "Close", w.c.Close)
	fault('T', "a second passes", func() { w.now = w.now.Add(time.Second) })
	if w.reader.due.Len() > 0 {
		add("the reader takes an entry", w.take)
	}
	return list
}

func (w *world) change(to int) {
	if !w.inOrder {
		w.now = w.now.Add(time.Second)
	}
	w.truth[len(w.truth)-1].until = w.now
	w.truth = append(w.truth, truth{is: to})
}

// write writes the observation of writer i.
func (w *world) write(i int, at time.Time, err error) {
	l := &w.writers[i]
	w.set(l.is, at, err)
	if l.stage = resting; i == 1 {
		l.stage = written
	}
}

func (w *world) set(is int, at time.Time, err error) {
	switch {
	case is <= 0 && err == nil:
		w.c.Delete(exploredKey, at)
	case w.inOrder:
		w.written = w.c.Writer().SetInOrder(exploredKey, is, err, at)
	default:
		w.written = w.c.Set(exploredKey, is, err, at)
	}
}

// begin begins a wait, as wait does, if it does not end at once.
func (w *world) begin(any bool) {
	w.before = w.c.Get(exploredKey)
	min := w.c.instant(w.now)
	if any {
		v, global := w.c.lookup(exploredKey)
		min = max(v.when(), global)
	}
	w.wait = &waiter[string]{key: exploredKey, min: min, any: any, done: make(chan struct{}), asked: w.now}
	if v, global := w.c.lookup(exploredKey); max(v.when(), global) > min || w.c.closed {
		return
	}
	w.c.waits.add(w.wait)
}

// take takes an entry from the reader.
func (w *world) take() {
	_, e, ok := w.c.next(w.reader)
	switch {
	case !ok:
		return
	case !e.Present && !w.shown:
		w.fail(6, "the reader gets the deletion of a key that it does not have")
	case e.Err == nil:
		w.read = w.follows(w.read, e, "the reader")
	}
	w.shown = e.Present
}

// shows reports whether e shows version v.
func (w *world) shows(e Entry[int], v int) bool {
	if !e.Present {
		return w.truth[v].is <= 0
	}
	return w.truth[v].is == e.Status
}

// follows returns the version that e shows, which must not be before another.
func (w *world) follows(version int, e Entry[int], who string) int {
	for v := version; v < len(w.truth); v++ {
		if w.shows(e, v) {
			return v
		}
	}
	if w.truth[version].is == deletedStatus {
		w.fail(3, "%s has the deleted key again", who)
	} else {
		w.fail(1, "%s has %d, %v after %d", who, e.Status, e.Present, w.truth[version].is)
	}
	return version
}

func (w *world) fail(guarantee int, format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf("G%d: %s", guarantee, fmt.Sprintf(format, args...))
	}
}

// check checks the cache after a step.
func (w *world) check() {
	defer func() { w.written = false }()
	if err := w.c.Valid(); err != nil {
		w.fail(7, "%v", err)
	}
	e := w.c.Get(exploredKey)
	if e.Modified.Before(w.modified) {
		w.fail(2, "the entry was known as of %v, and is as of %v", w.modified, e.Modified)
	}
	if e.Modified.After(w.now) {
		w.fail(9, "the entry is known as of the future")
	}
	w.modified = e.Modified
	if e.Err == nil && !e.Modified.IsZero() {
		w.cached = w.follows(w.cached, e, "the cache")
		fresh := w.shows(e, len(w.truth)-1)
		for v := w.cached; v < len(w.truth)-1; v++ {
			fresh = fresh || w.shows(e, v) && !w.truth[v].until.Before(e.Modified)
		}
		if !fresh {
			w.fail(2, "the cache has %d, %v as of a time when that was over", e.Status, e.Present)
		}
	}
	if w.wait != nil {
		w.checkWait(e)
	}
}

// checkWait checks that the wait lasts exactly until it has an answer.
func (w *world) checkWait(e Entry[int]) {
	answered := w.c.time(w.wait.min).Before(e.Modified)
	if w.wait.any {
		answered = w.written || e != w.before
	}
	if ends := answered || w.c.closed; ends == w.wait.waiting() {
		w.fail(5, "a wait has an answer: %v; it lasts: %v", ends, w.wait.waiting())
	}
	if !w.wait.waiting() {
		w.wait = nil
	}
}

// Broken implements search.World.
func (w *world) Broken() error { return w.broken }

// Settle implements search.World. The writers finish, an overdue wait is noticed, and a
// full relist makes the cache and the reader equal to the truth.
func (w *world) Settle() {
	for i, l := range w.writers {
		if l.stage == observing {
			w.set(l.is, l.start, nil)
		}
		if l.stage != resting && i == 1 {
			w.c.Writer().UpdateTime(l.start)
		}
		w.check()
	}
	w.now = w.now.Add(waitLimit)
	if w.wait != nil {
		keys, _, _ := w.c.Writer().Overdue(w.now, waitLimit)
		if !slices.Contains(keys, exploredKey) {
			w.fail(5, "an overdue wait is not noticed")
		}
	}
	w.set(w.is(), w.now, nil)
	w.c.Writer().UpdateTime(w.now)
	w.check()
	for w.reader.due.Len() > 0 {
		w.take()
	}
	if w.c.closed || w.broken != nil {
		return
	}
	e, present := w.c.Get(exploredKey), w.is() > 0
	if e.Err != nil || e.Present != present || present && e.Status != w.is() {
		w.fail(4, "after a full relist the cache has %+v, the truth is %d", e, w.is())
	}
	if w.shown != present || w.truth[w.read].is != w.is() && present {
		w.fail(6, "the reader ends with status %d, the cache with %+v", w.truth[w.read].is, e)
	}
	if nodes, waits, _ := w.c.Held(); waits > 0 || nodes > 0 && !present {
		w.fail(7, "%d entries and %d waits are left", nodes, waits)
	}
}

// State implements search.World.
func (w *world) State() []byte {
	var list []any
	since := func(t time.Time) time.Duration {
		if t.IsZero() {
			return -1
		}
		return w.now.Sub(t)
	}
	e := w.c.Get(exploredKey)
	list = append(list, e.Status, e.Err, since(e.Modified), e.Present, since(w.c.Get("none").Modified), w.c.Writer().Counts().Tombstones, w.c.closed)
	list = append(list, w.reader.due.Len(), len(w.reader.shown), w.shown, w.cached, w.read, w.observationsLeft, w.faultsLeft)
	for _, t := range w.truth {
		list = append(list, t.is, since(t.until))
	}
	for _, l := range w.writers {
		if l.stage == resting {
			l = observation{}
		}
		list = append(list, l.stage, since(l.start), l.is)
	}
	if w.wait != nil {
		list = append(list, w.wait.any, since(w.c.time(w.wait.min)), since(w.wait.asked), w.before.Status, w.before.Err, w.before.Present, since(w.before.Modified))
	}
	return fmt.Append(nil, list...)
}
