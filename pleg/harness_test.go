package pleg_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

type (
	entry  = statuscache.Entry[*plegtest.Status]
	events = func(pleg.RuntimeEvent[string])
)

// t0 is the time at which every bubble begins, and at a time some seconds later.
func at(seconds int) time.Time {
	return time.Date(2000, time.January, 1, 0, 0, seconds, 0, time.UTC)
}

// A recorder is a fake runtime that records its calls.
type recorder struct {
	*plegtest.Runtime[string]

	mu          sync.Mutex
	calls       []recordedCall
	connections []time.Time
}

type recordedCall struct {
	kind       string
	start, end time.Time
}

func (r *recorder) begin(kind string) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := len(r.calls)
	r.calls = append(r.calls, recordedCall{kind: kind, start: time.Now()})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls[i].end = time.Now()
	}
}

func (r *recorder) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	defer r.begin("Pods")()
	return r.Runtime.Pods(ctx)
}

func (r *recorder) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	defer r.begin("Pod")()
	return r.Runtime.Pod(ctx, id)
}

func (r *recorder) Events(ctx context.Context, handle events) error {
	r.mu.Lock()
	r.connections = append(r.connections, time.Now())
	r.mu.Unlock()
	var delivered time.Time
	return r.Runtime.Events(ctx, func(e pleg.RuntimeEvent[string]) {
		if !time.Now().Equal(delivered) {
			time.Sleep(time.Nanosecond) // until the test lets time pass
			delivered = time.Now()
		}
		handle(e)
	})
}

// recorded returns the calls so far.
func (r *recorder) recorded() []recordedCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]recordedCall(nil), r.calls...)
}

// connected returns the times of the calls of Events, in seconds after begin.
func (r *recorder) connected(begin time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, c := range r.connections {
		list = append(list, fmt.Sprint(c.Sub(begin).Seconds()))
	}
	return strings.Join(list, " ")
}

// A world is a generator over a fake runtime, in a bubble.
type world struct {
	*testing.T
	rt    *recorder
	cache *statuscache.Cache[string, *plegtest.Status]
	gen   *pleg.Generator[string, *plegtest.Status]
	ctx   context.Context
	stop  context.CancelFunc
	all   sync.WaitGroup
}

// A setup says how to make one. The zero value: no faults, no stream.
type setup struct {
	faults  plegtest.Faults
	stream  bool
	cache   statuscache.Options[*plegtest.Status]
	options pleg.GeneratorOptions[string]
}

// run runs body in a bubble, and ends the world.
func (s setup) run(t *testing.T, body func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := s.world(t)
		defer w.end()
		body(w)
	})
}

func (s setup) world(t *testing.T) *world {
	w := &world{T: t, rt: &recorder{Runtime: plegtest.New[string](1, s.faults)}, cache: statuscache.New[string](s.cache)}
	if s.stream {
		s.options.Stream = w.rt
	}
	w.make(w.rt, s.options)
	w.ctx, w.stop = context.WithCancel(t.Context())
	return w
}

// make makes the generator.
func (w *world) make(rt pleg.Runtime[string, *plegtest.Status], o pleg.GeneratorOptions[string]) {
	w.Helper()
	gen, err := pleg.NewGenerator(rt, w.cache, o)
	if err != nil {
		w.Fatal(err)
	}
	w.gen = gen
}

// replace makes another generator, over rt, with the events of w.rt or without.
func (w *world) replace(rt pleg.Runtime[string, *plegtest.Status], streams bool) {
	w.Helper()
	var o pleg.GeneratorOptions[string]
	if streams {
		o.Stream = w.rt
	}
	w.make(rt, o)
}

// again returns w after a restart of the program: the runtime is the same.
func (w *world) again() *world {
	n := &world{T: w.T, rt: w.rt, cache: statuscache.New[string](statuscache.Options[*plegtest.Status]{})}
	n.replace(n.rt, true)
	n.ctx, n.stop = context.WithCancel(w.Context())
	return n
}

// start runs the generator.
func (w *world) start() {
	w.all.Go(func() { w.gen.Run(w.ctx) })
	synctest.Wait()
}

// end stops everything.
func (w *world) end() {
	w.stop()
	w.cache.Close()
	w.all.Wait()
	w.valid()
	if n := w.rt.Busy(); n != 0 {
		w.Errorf("%d calls and streams outlive Run", n)
	}
}

// up creates and starts a container of pod p.
func (w *world) up(container string) {
	w.rt.Create("p", container)
	w.rt.Start("p", container)
}

// relist makes a full list.
func (w *world) relist() {
	w.Helper()
	if err := w.gen.Relist(w.ctx); err != nil {
		w.Error(err)
	}
}

// instant is as good as no time, but the events that are due are delivered in it.
const instant = time.Microsecond

// pass lets time pass, at least an instant. No event is delivered before, so that the order
// of what a test does does not depend on the scheduler.
func (w *world) pass(d time.Duration) {
	time.Sleep(max(d, instant))
	synctest.Wait()
	w.valid()
}

// valid checks the invariants of the Generator's state.
func (w *world) valid() {
	w.Helper()
	if err := w.gen.Valid(); err != nil {
		w.Error(err)
	}
}

// read starts a reader of Events that sleeps for pace after every event. The function
// it returns prints the events so far.
func (w *world) read(pace time.Duration) func() string {
	var mu sync.Mutex
	var b strings.Builder
	w.all.Go(func() {
		for e := range w.gen.Events(w.ctx) {
			mu.Lock()
			fmt.Fprintf(&b, " %s:%s%s", e.Pod, short[e.Type], e.Container)
			mu.Unlock()
			time.Sleep(pace)
		}
	})
	synctest.Wait()
	return func() string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return strings.TrimSpace(b.String())
	}
}

var short = map[pleg.EventType]string{
	pleg.ContainerStarted: "started ", pleg.ContainerDied: "died ", pleg.ContainerRemoved: "removed ",
	pleg.ContainerChanged: "changed ", pleg.PodSync: "sync",
}

// wait waits for a status of a pod newer than now, and checks that it ends within limit.
func (w *world) wait(pod string, limit time.Duration) (entry, error) {
	begin := time.Now()
	e, err := w.cache.GetNewerThan(w.ctx, pod, begin)
	if took := time.Since(begin); took > limit {
		w.Errorf("a wait for %s took %v", pod, took)
	}
	if err == nil && !e.Modified.After(begin) {
		w.Errorf("a wait for %s is answered as of %v before it", pod, begin.Sub(e.Modified))
	}
	return e, err
}

// count is the number of calls of one kind that have begun.
func (w *world) count(kind string) int { return w.rt.Calls()[kind] }

// calls is the number of lists and of inspections.
func (w *world) calls() (lists, inspections int) { return w.count("Pods"), w.count("Pod") }

// shows checks the containers of pod p in the cache, or "gone".
func (w *world) shows(want string) {
	w.Helper()
	w.pass(0)
	e := w.cache.Get("p")
	got := "gone"
	switch {
	case e.Present && e.Status == nil:
		got = "nothing"
	case e.Present:
		_, got, _ = strings.Cut(e.Status.String(), " ")
	}
	if e.Err != nil {
		got += " " + e.Err.Error()
	}
	if got != want {
		w.Errorf("at %v the cache shows %q, want %q", time.Now().Format("15:04:05.000"), got, want)
	}
}

// equal checks that got is want.
func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// script is a Streamer whose events the test sends by hand. If list or inspection is set,
// lists or inspections show its containers in each pod.
type script struct {
	*recorder
	handle           events
	list, inspection func() []pleg.Container
}

func (s *script) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	pods, err := s.recorder.Pods(ctx)
	for i := range pods {
		if s.list != nil {
			pods[i].Containers = s.list()
		}
	}
	return pods, err
}

func (s *script) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	p, status, err := s.recorder.Pod(ctx, id)
	if s.inspection != nil {
		p.Containers = s.inspection()
	}
	return p, status, err
}

func (s *script) Events(ctx context.Context, handle events) error {
	s.handle = handle
	<-ctx.Done()
	return ctx.Err()
}

// scripted runs body over a generator that relies on the events of a script.
func (s setup) scripted(t *testing.T, body func(w *world, s *script)) {
	t.Helper()
	s.run(t, func(w *world) {
		x := &script{recorder: w.rt}
		w.make(x, pleg.GeneratorOptions[string]{Stream: x})
		w.start()
		w.pass(10 * time.Second)
		body(w, x)
	})
}

func scripted(t *testing.T, body func(w *world, s *script)) {
	t.Helper()
	setup{}.scripted(t, body)
}

// event makes an event of pod p.
func event(container string, kind pleg.RuntimeEventType) pleg.RuntimeEvent[string] {
	return pleg.RuntimeEvent[string]{Pod: "p", Container: container, Type: kind, At: time.Now()}
}

// slowCalls makes the time between an event and the end of the inspection that it asks for
// visible.
var slowCalls = setup{faults: plegtest.Faults{Slow: 1, SlowBy: time.Second}}

// fickle fails inspections on demand, with a status beside the error.
type fickle struct {
	*recorder
	mu     sync.Mutex
	err    error
	beside *plegtest.Status
	failed int
}

func (f *fickle) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fickle) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	f.mu.Lock()
	err, beside := f.err, f.beside
	if err != nil {
		f.failed++
	}
	f.mu.Unlock()
	if err != nil {
		return pleg.Pod[string]{}, beside, err
	}
	return f.recorder.Pod(ctx, id)
}

// A scene is a Runtime with the test's answers. Without its own, it answers as its
// recorder does.
type scene struct {
	*recorder
	pods func() ([]pleg.Pod[string], error)
	pod  func(id string) (pleg.Pod[string], *plegtest.Status, error)
}

func (s *scene) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	if s.pods != nil {
		return s.pods()
	}
	return s.recorder.Pods(ctx)
}

func (s *scene) Pod(ctx context.Context, id string) (pleg.Pod[string], *plegtest.Status, error) {
	if s.pod != nil {
		return s.pod(id)
	}
	return s.recorder.Pod(ctx, id)
}

func pod(id string, containers ...pleg.Container) pleg.Pod[string] {
	return pleg.Pod[string]{ID: id, Containers: containers}
}
