package pleg_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// Random histories of a faulty runtime and a program that follows it, and is killed and
// started again, are compared with the model of exits in model_test.go, and with these
// promises:
//
//   - the cache never shows an older version of a pod after a newer one;
//   - an answer to a wait is newer than the wait, and every wait ends;
//   - within one full list of the quiet runtime the cache equals it;
//   - a container has at most one event of each kind, and none after its removal;
//   - a subscriber that keeps up gets an event of every change that an answer has shown;
//   - a quiet runtime costs one list per period and no inspection.
//
// The seeds are fixed. More histories are behind the build tag long.
func TestHistories(t *testing.T) { simulate(t, 0, 300, plant{}) }

// A plant is a fault of the Generator that the histories must notice.
type plant struct{ forget bool }

// The lost exits of an earlier version, planted, are noticed.
func TestHistoriesNoticeLostExits(t *testing.T) {
	for seed := range uint64(600) {
		h := newHistory(seed, plant{forget: true})
		synctest.Test(t, h.run)
		if slices.ContainsFunc(h.violations, func(v string) bool { return strings.Contains(v, "missing") }) {
			return
		}
	}
	t.Error("600 histories have not noticed that exits are lost")
}

// simulate runs n histories with the seeds from first on.
func simulate(t *testing.T, first, n uint64, p plant) {
	counts := map[string]int{}
	for seed := first; seed < first+n; seed++ {
		h := newHistory(seed, p)
		synctest.Test(t, h.run)
		if len(h.violations) > 0 {
			t.Fatalf("history %d: %s\n%s", seed, strings.Join(h.violations, "\n"), strings.Join(h.log, "\n"))
		}
		for what, n := range h.counts {
			counts[what] += n
		}
		for what, n := range h.rt.Injected() {
			counts[what] += n
		}
	}
	var table strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&table, "%9d  %s\n", counts[what], what)
	}
	t.Logf("%d histories\n%s", n, &table)
	for _, what := range append(mustHappen, faultNames()...) {
		if counts[what] == 0 {
			t.Errorf("there was no %s", what)
		}
	}
}

// mustHappen are the things that a run must have seen.
var mustHappen = []string{
	"exit: shown", "exit: event", "exit: inferred", "kill", "kill with exits due", "Run ended", "reader", "reader of the past", "fork",
	"reader before Run", "container expected", "wait ended", "check of the cache", "check of a pod's version", "check of idle costs",
	"inspection answered after its deadline", "list answered after its deadline", "check of the events",
	"container removed while down", "PodSync", "ContainerStarted", "ContainerDied", "ContainerRemoved",
}

// A history is one history.
type history struct {
	rng   *rand.Rand
	plant plant
	rt    *plegtest.Runtime[string]
	began time.Time

	books      sync.Mutex // guards the next three
	violations []string
	log        []string
	counts     map[string]int

	stream  bool
	terse   float64 // the rate of lists without exits
	options pleg.GeneratorOptions[string]

	mu      sync.Mutex
	live    map[string][]string // the containers of each pod in the runtime
	gone    map[string]bool
	ended   map[string]bool   // the truth about every container that there was
	pod     map[string]string // of a container
	ids     int
	follows int // readers made

	program // the part that a kill ends
	readers []*reader
}

// A program is one life of the program.
type program struct {
	ctx     context.Context
	kill    context.CancelFunc
	stopRun context.CancelFunc
	ended   chan struct{} // closed when Run has returned
	all     sync.WaitGroup
	cache   *statuscache.Cache[string, *plegtest.Status]
	gen     *pleg.Generator[string, *plegtest.Status]
	listed  bool                      // a full list was answered
	known   map[string]pleg.Container // shown by answers, as of the last
	version map[string]int            // the last version of each pod in the cache
	events  map[string]bool           // the events so far, as in "ContainerDied a"
}

// A reader is a reader of exits with its model. Both can be saved and restored.
type reader struct {
	name    string
	r       *pleg.ExitReader[string]
	model   *pleg.Model
	creates bool // it expects the containers that the program creates
	saved   *pleg.Model
	at      []byte // the saved position
	resumed bool
}

func newHistory(seed uint64, p plant) *history {
	h := &history{rng: rand.New(rand.NewPCG(seed, 0)), plant: p, counts: map[string]int{}, live: map[string][]string{}, ended: map[string]bool{}, gone: map[string]bool{}, pod: map[string]string{}}
	h.stream = h.rng.IntN(3) > 0
	faults := h.faults()
	h.terse = faults.Terse
	h.rt = plegtest.New[string](h.rng.Uint64(), faults)
	h.options = pleg.GeneratorOptions[string]{RelistThreshold: 12 * time.Second, EventedPeriod: []time.Duration{3 * time.Second, time.Minute}[h.rng.IntN(2)]}
	return h
}

// faults draws each fault to be off, rare or frequent.
func (h *history) faults() (f plegtest.Faults) {
	rate := func() float64 { return []float64{0, 0, 0, 0.05, 0.3}[h.rng.IntN(5)] }
	f.Error, f.Slow, f.Hang, f.Deaf, f.Empty, f.Lag = rate(), rate(), rate()/5, rate(), rate(), rate()
	f.Terse = []float64{0, 0, 0.3, 1}[h.rng.IntN(4)]
	if h.rng.IntN(4) == 0 {
		f.Slow, f.Deaf = 0.3, 0.3
		f.SlowBy = 25 * time.Second // longer than PodTimeout and RelistThreshold
	}
	if h.stream {
		f.Drop, f.Duplicate, f.Late, f.Reorder, f.Bare = rate(), rate(), rate(), rate(), rate()
		f.Nameless, f.Strange, f.Skew = rate(), rate(), rate()
		f.Disconnect, f.EndAtOnce, f.Replay, f.Lose = rate()/2, rate(), rate(), rate()
	}
	return f
}

// faultNames returns the names under which a Runtime counts faults.
func faultNames() []string {
	return []string{
		"Drop", "Duplicate", "Late", "Reorder", "Bare", "Nameless", "Strange", "Skew", "Disconnect", "EndAtOnce", "Replay", "Lose",
		"Error", "Hang", "Slow", "Deaf", "Empty", "Terse", "Lag", "Restart", "SetUnsupported",
	}
}

func (h *history) fail(format string, args ...any) {
	h.note("VIOLATION "+format, args...)
	h.books.Lock()
	defer h.books.Unlock()
	h.violations = append(h.violations, fmt.Sprintf(format, args...))
}

func (h *history) count(what string) {
	h.books.Lock()
	defer h.books.Unlock()
	h.counts[what]++
}

func (h *history) note(format string, args ...any) {
	h.books.Lock()
	defer h.books.Unlock()
	h.log = append(h.log, fmt.Sprintf("%8.3f ", time.Since(h.began).Seconds())+fmt.Sprintf(format, args...))
}

// locked calls do with the history locked, because the runtime and the loops of readers
// write it, too.
func (h *history) locked(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

// run runs the history.
func (h *history) run(t *testing.T) {
	h.began = time.Now()
	time.Sleep(123456789) // whole seconds may stand for any time within
	for range h.rng.IntN(4) {
		h.change()
	}
	h.start(t)
	for range 10 + h.rng.IntN(50) {
		h.step(t)
		h.check()
	}
	if h.rng.IntN(4) > 0 {
		h.settle(t)
	}
	h.end()
}

// start starts the program.
func (h *history) start(t *testing.T) {
	h.program = program{known: map[string]pleg.Container{}, version: map[string]int{}, events: map[string]bool{}}
	h.ctx, h.kill = context.WithCancel(t.Context())
	h.cache = statuscache.New[string](statuscache.Options[*plegtest.Status]{})
	o := h.options
	if h.stream {
		o.Stream = &eyewitness{h.rt, h}
	}
	gen, err := pleg.NewGenerator(&eyewitness{h.rt, h}, h.cache, o)
	if err != nil {
		t.Fatal(err)
	}
	h.gen = gen
	for _, r := range h.readers {
		h.resume(t, r)
	}
	if len(h.readers) == 0 || h.rng.IntN(4) == 0 {
		h.count("reader before Run")
		h.follow(t)
	}
	if h.rng.IntN(2) == 0 { // something happens before Run starts
		h.sleep(time.Second)
		h.change()
	}
	h.all.Go(h.listen)
	synctest.Wait() // it has subscribed
	h.startRun()
}

func (h *history) startRun() {
	ctx, stop := context.WithCancel(h.ctx)
	gen, ended := h.gen, make(chan struct{})
	h.stopRun, h.program.ended = stop, ended
	h.all.Go(func() {
		defer close(ended)
		if err := gen.Run(ctx); ctx.Err() == nil {
			h.locked(func() { h.fail("Run ends with %v", err) })
		}
	})
	synctest.Wait()
}

// end ends the program.
func (h *history) end() {
	h.kill()
	h.all.Wait()
	h.cache.Close()
	synctest.Wait()
	if n := h.rt.Busy(); n > 0 {
		h.fail("%d calls outlive Run", n)
	}
}

func (h *history) sleep(most time.Duration) {
	time.Sleep(time.Duration(h.rng.Int64N(int64(most))))
	synctest.Wait()
}

// step takes a random step.
func (h *history) step(t *testing.T) {
	r := h.readers[h.rng.IntN(len(h.readers))]
	switch n := h.rng.IntN(40); {
	case n < 12:
		h.change()
		if h.rng.IntN(2) == 0 {
			synctest.Wait()
		}
	case n < 20:
		h.sleep(5 * time.Second)
	case n < 25:
		h.take(r, 1+h.rng.IntN(5))
	case n < 28:
		h.save(r)
	case n < 30:
		h.wait()
	case n < 31:
		h.gen.RequestRelist(h.name())
	case n < 32:
		ctx, cancel := context.WithTimeout(h.ctx, 10*time.Second)
		_ = h.gen.Relist(ctx)
		cancel()
	case n < 33:
		h.gen.RequestSync(h.name())
	case n < 35:
		h.readerStep(t, r)
	case n < 36:
		h.runtimeStep()
	case n < 37:
		h.count("Run ended")
		h.stopRun()
		<-h.program.ended
		if h.rng.IntN(2) == 0 {
			h.change()
		}
		h.startRun()
	case n < 39:
		h.crash(t)
	default:
		for range 5 {
			h.change()
		}
	}
}

// runtimeStep interrupts the runtime or its streams.
func (h *history) runtimeStep() {
	switch h.rng.IntN(6) {
	case 0:
		h.all.Go(func() { h.rt.Restart(4 * time.Second) })
	case 1:
		h.rt.SetUnsupported(true)
		h.all.Go(func() {
			time.Sleep(5 * time.Second)
			h.rt.SetUnsupported(false)
		})
	default:
		h.rt.Disconnect()
	}
	synctest.Wait()
}

// readerStep begins or ends a reader.
func (h *history) readerStep(t *testing.T, r *reader) {
	synctest.Wait()
	switch {
	case h.rng.IntN(3) == 0 && len(h.readers) > 1:
		r.r.Close()
		h.take(r, 1<<30)
		h.readers = slices.DeleteFunc(h.readers, func(x *reader) bool { return x == r })
	case h.rng.IntN(2) == 0 && len(h.readers) < 4:
		h.count("fork")
		f := &reader{name: fmt.Sprintf("%s'", r.name)}
		h.locked(func() { f.saved = r.model.Copy() })
		p := r.r.Position()
		f.r = h.open(t, pleg.ExitOptions[string]{Resume: &p})
		h.locked(func() { f.model = f.saved.Copy() })
		h.readers = append(h.readers, f)
		h.save(f)
	case len(h.readers) < 4:
		h.follow(t)
	}
}

// follow makes a reader.
func (h *history) follow(t *testing.T) {
	synctest.Wait()
	past := h.rng.IntN(3) == 0
	h.follows++
	r := &reader{name: fmt.Sprintf("reader %d", h.follows), creates: h.rng.IntN(2) == 0}
	h.count("reader")
	r.r = h.open(t, pleg.ExitOptions[string]{IncludePast: past})
	h.locked(func() {
		r.model = pleg.NewModel(time.Now())
		if past {
			h.count("reader of the past")
		}
		r.model.Full = past || h.listed
		r.model.Begin(h.known, func(id string) bool {
			return h.ended[id] && h.known[id].State != pleg.StateExited || !slices.Contains(h.live[h.pod[id]], id)
		}, past)
	})
	h.note("%s, past %v", r.name, past)
	h.readers = append(h.readers, r)
	h.save(r)
}

func (h *history) open(t *testing.T, o pleg.ExitOptions[string]) *pleg.ExitReader[string] {
	r, err := h.gen.ExitReader(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// save saves the position of a reader and its model, as a program saves its state.
func (h *history) save(r *reader) {
	synctest.Wait()
	at, err := json.Marshal(r.r.Position())
	if err != nil {
		h.fail("%v", err)
	}
	h.locked(func() { r.at, r.saved = at, r.model.Copy() })
	h.note("%s is saved: %s", r.name, at)
}

// resume continues a reader from its saved position.
func (h *history) resume(t *testing.T, r *reader) {
	var p pleg.ExitPosition[string]
	if err := json.Unmarshal(r.at, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Due) > 0 {
		h.count("kill with exits due")
	}
	r.r, r.model, r.resumed = h.open(t, pleg.ExitOptions[string]{Resume: &p}), r.saved.Copy(), true
}

// crash kills the program and starts it again later.
func (h *history) crash(t *testing.T) {
	h.count("kill")
	h.note("killed")
	h.end()
	before := len(h.gone)
	for range h.rng.IntN(4) {
		h.sleep(2 * time.Second)
		h.change()
	}
	if len(h.gone) > before {
		h.count("container removed while down")
	}
	h.note("started again")
	h.start(t)
}

// take takes exits and compares them with the model.
func (h *history) take(r *reader, most int) {
	for range most {
		e, ok := r.r.TryNext()
		if !ok {
			return
		}
		h.count("exit: " + string(e.Source))
		h.note("%s yields %s, %s", r.name, e.Container, e.Source)
		h.locked(func() {
			if err := r.model.Yield(e.Container, h.ended[e.Container]); err != nil {
				h.fail("%s: %v", r.name, err)
			}
			if e.Lost > 0 || e.Source == pleg.ExitShown && !e.Known && h.terse == 0 {
				h.fail("%s: %+v", r.name, e)
			}
		})
	}
}

func (h *history) name() string { return []string{"p", "q", "r", "s"}[h.rng.IntN(4)] }

// change makes one change of the truth.
func (h *history) change() {
	pod := h.name()
	live := h.live[pod]
	if len(live) == 0 || h.rng.IntN(4) == 0 {
		h.ids++
		id := fmt.Sprintf("%s%d", pod, h.ids)
		h.locked(func() { h.live[pod], h.pod[id] = append(slices.Clone(live), id), pod })
		h.rt.Create(pod, id)
		h.note("%s created", id)
		if h.ctx != nil && h.ctx.Err() == nil {
			h.expect(pod, id)
		}
		return
	}
	id := live[h.rng.IntN(len(live))]
	switch h.rng.IntN(5) {
	case 0, 1:
		if h.rt.Start(pod, id) {
			h.note("%s started", id)
		}
	case 2, 3:
		h.locked(func() { h.ended[id] = true })
		if h.rt.ExitCode(pod, id, int32(h.ids)) {
			h.note("%s exited", id)
		}
	default:
		h.locked(func() {
			h.ended[id], h.gone[id] = true, true
			h.live[pod] = slices.DeleteFunc(slices.Clone(live), func(x string) bool { return x == id })
		})
		h.rt.Remove(pod, id)
		h.note("%s removed", id)
	}
}

// expect announces a container to the readers of programs that create it.
func (h *history) expect(pod, id string) {
	for _, r := range h.readers {
		if !r.creates {
			continue
		}
		h.count("container expected")
		h.locked(func() { r.model.Expect(id) })
		r.r.Expect(pod, pleg.Container{ID: id})
		if h.rng.IntN(3) > 0 {
			h.save(r)
		}
	}
}

// wait begins a wait for a newer status.
func (h *history) wait() {
	pod, from := h.name(), time.Now()
	cache, ctx := h.cache, h.ctx
	h.all.Go(func() {
		e, err := cache.GetNewerThan(ctx, pod, from)
		if err != nil {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.count("wait ended")
		if !e.Modified.After(from) {
			h.fail("a wait from %v is answered as of %v", from, e.Modified)
		}
		if late := time.Since(from); late > 120*time.Second {
			h.fail("a wait took %v", late)
		}
	})
	synctest.Wait()
}

// check checks the invariants of any moment.
func (h *history) check() {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.gen.Valid(); err != nil {
		h.fail("%v", err)
	}
	for pod, e := range h.cache.All() {
		if e.Err != nil || e.Status == nil {
			continue
		}
		h.count("check of a pod's version")
		if e.Status.Version < h.version[pod] {
			h.fail("the cache shows version %d of %s after %d", e.Status.Version, pod, h.version[pod])
		}
		h.version[pod] = e.Status.Version
	}
}

// settle ends the faults and checks the promises about a quiet runtime.
func (h *history) settle(t *testing.T) {
	h.rt.SetFaults(plegtest.Faults{})
	time.Sleep(60 * time.Second) // hanging calls are cancelled, backoffs are over, streams are back
	h.change()
	if err := h.gen.Relist(h.ctx); err != nil {
		h.fail("a Relist of a live runtime: %v", err)
	}
	h.compare()
	h.change()
	time.Sleep(h.options.EventedPeriod + 70*time.Second)
	h.compare()
	h.check()
	lists, inspections := h.rt.Calls()["Pods"], h.rt.Calls()["Pod"]
	period := time.Second
	if h.stream {
		period = h.options.EventedPeriod
	}
	time.Sleep(5 * period)
	synctest.Wait()
	h.count("check of idle costs")
	if n, m := h.rt.Calls()["Pods"]-lists, h.rt.Calls()["Pod"]-inspections; n > 6 || m > 0 {
		h.fail("%d lists and %d inspections in five idle periods", n, m)
	}
	for _, r := range h.readers {
		h.take(r, 1<<30)
		h.locked(func() {
			if list := r.model.Missing(func(id string) bool { return h.ended[id] }); len(list) > 0 {
				h.fail("%s: the exits of %v are missing", r.name, list)
			}
		})
	}
	h.compareEvents()
	if err := h.gen.Healthy(); err != nil {
		h.fail("%v", err)
	}
	if s := h.gen.Stats(); s.Containers > 100 {
		h.fail("%d containers", s.Containers)
	}
}

// compare compares the cache with the runtime.
func (h *history) compare() {
	synctest.Wait()
	h.count("check of the cache")
	truth := h.rt.Truth()
	for _, pod := range []string{"p", "q", "r", "s"} {
		e := h.cache.Get(pod)
		// A container that came and went between two answers changes the version only.
		if want := truth[pod]; e.Err != nil || e.Present != (want != nil) || e.Present && !slices.EqualFunc(e.Status.Listed, want.Listed, sameContainer) {
			h.fail("the cache has %v of %s, %v; the truth is %v", e.Status, pod, e.Err, want)
		}
	}
}

// compareEvents compares the events with the changes that answers have shown.
func (h *history) compareEvents() {
	if h.gen.Stats().MergedEvents > 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count("check of the events")
	for id, c := range h.known {
		var want []pleg.EventType
		switch {
		case !slices.Contains(h.live[h.pod[id]], id):
			want = []pleg.EventType{pleg.ContainerDied, pleg.ContainerRemoved}
		case c.State == pleg.StateExited:
			want = []pleg.EventType{pleg.ContainerDied}
		case c.State == pleg.StateRunning:
			want = []pleg.EventType{pleg.ContainerStarted}
		default:
			want = []pleg.EventType{pleg.ContainerChanged}
		}
		for _, what := range want {
			if !h.events[string(what)+" "+id] {
				h.fail("there was no %s of %s, which answers show as %v", what, id, c.State)
			}
		}
	}
}

func sameContainer(a, b pleg.Container) bool { return a.ID == b.ID && a.State == b.State }

// listen reads Events and checks their order.
func (h *history) listen() {
	seen := h.events
	removed := map[string]bool{}
	for e := range h.gen.Events(h.ctx) {
		h.mu.Lock()
		h.count(string(e.Type))
		if e.Container != "" {
			what := string(e.Type) + " " + e.Container
			if removed[e.Container] {
				h.fail("%s after its removal", what)
			}
			if seen[what] && e.Type != pleg.ContainerChanged {
				h.fail("%s twice", what)
			}
			if e.Type == pleg.ContainerDied && !h.ended[e.Container] {
				h.fail("%s before its end", what)
			}
			seen[what], removed[e.Container] = true, e.Type == pleg.ContainerRemoved
		}
		h.mu.Unlock()
	}
}

// An eyewitness passes the Generator's questions on, and shows the answers to the models.
type eyewitness struct {
	*plegtest.Runtime[string]
	h *history
}

func (w *eyewitness) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	began := time.Now()
	pods, err := w.Runtime.Pods(ctx)
	if err == nil {
		if time.Since(began) > w.h.options.RelistThreshold {
			w.h.count("list answered after its deadline")
		}
		var all []pleg.Container
		for _, p := range pods {
			all = append(all, p.Containers...)
		}
		w.answer(true, all)
	}
	return pods, err
}

func (w *eyewitness) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	began := time.Now()
	p, s, err := w.Runtime.Pod(ctx, id)
	if err == nil || errors.Is(err, pleg.ErrNotFound) {
		if time.Since(began) > 10*time.Second { // the default of PodTimeout
			w.h.count("inspection answered after its deadline")
		}
		w.answer(false, p.Containers)
	}
	return p, s, err
}

func (w *eyewitness) Events(ctx context.Context, handle func(pleg.RuntimeEvent[string])) error {
	return w.Runtime.Events(ctx, func(e pleg.RuntimeEvent[string]) {
		if w.h.plant.forget {
			w.h.forget(e)
		}
		handle(e)
	})
}

// forget plants a fault of an earlier version: a resumed reader rejects an end that it
// knows from an event only, drops it and remembers it as reported. About one history in 40
// notices.
func (h *history) forget(e pleg.RuntimeEvent[string]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known := h.known[e.Container]
	if known || e.Type != pleg.RuntimeEventDeleted && e.Type != pleg.RuntimeEventStopped {
		return
	}
	for _, r := range h.readers {
		if r.resumed {
			r.r.Forget(e.Pod, e.Container)
		}
	}
}

func (w *eyewitness) answer(list bool, seen []pleg.Container) {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	w.h.note("answer, list %v: %s", list, &plegtest.Status{Listed: seen})
	w.h.listed = w.h.listed || list
	for _, c := range seen {
		if old, ok := w.h.known[c.ID]; !ok || old.State < c.State {
			w.h.known[c.ID] = c
		}
	}
	for _, r := range w.h.readers {
		if r.r == nil {
			continue
		}
		r.model.Answer(list, seen)
	}
}
