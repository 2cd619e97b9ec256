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
	faults   plegtest.Faults
	stream   bool
	listless bool // single pods cannot be looked at
	cache    statuscache.Options[*plegtest.Status]
	options  pleg.GeneratorOptions
}

// listless hides that a fake runtime lists single pods.
type listless struct {
	pleg.Runtime[string, *plegtest.Status]
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
	w := &world{T: t, rt: record(1, s.faults), cache: statuscache.New[string](s.cache)}
	var rt pleg.Runtime[string, *plegtest.Status] = w.rt
	if s.listless {
		rt = listless{w.rt}
	}
	var stream pleg.Streamer[string, *plegtest.Status]
	if s.stream {
		stream = w.rt
	}
	gen, err := pleg.NewGenerator(rt, stream, w.cache, s.options)
	if err != nil {
		t.Fatal(err)
	}
	if s.listless {
		gen.DistrustStatuses()
	}
	w.gen = gen
	w.ctx, w.stop = context.WithCancel(t.Context())
	return w
}

// replace makes another generator, over rt, with the events of w.rt or without.
func (w *world) replace(rt pleg.Runtime[string, *plegtest.Status], streams bool) {
	w.Helper()
	var stream pleg.Streamer[string, *plegtest.Status]
	if streams {
		stream = w.rt
	}
	gen, err := pleg.NewGenerator(rt, stream, w.cache, pleg.GeneratorOptions{})
	if err != nil {
		w.Fatal(err)
	}
	w.gen = gen
}

// unhurried is a runtime that looks at a pod a millisecond after it was asked to. So
// all changes that a test makes at one time come before the look.
type unhurried struct{ *recorder }

func (u unhurried) Status(ctx context.Context, pod string) (*plegtest.Status, time.Time, error) {
	time.Sleep(time.Millisecond)
	return u.recorder.Status(ctx, pod)
}

// start runs the generator.
func (w *world) start() {
	w.all.Go(func() { w.gen.Run(w.ctx) })
	synctest.Wait()
}

// end stops everything and holds the history against the guarantees.
func (w *world) end() {
	w.stop()
	w.cache.Close()
	w.all.Wait()
	w.valid()
	if n := w.rt.Busy(); n != 0 {
		w.Errorf("%d calls and streams outlive Run", n)
	}
	h := w.rt.History()
	for _, v := range h.check().violations {
		w.Error(v)
	}
	if w.Failed() {
		w.Logf("history:\n%v", h)
	}
}

// up creates and starts a container of pod p.
func (w *world) up(container string) {
	w.rt.Create("p", container)
	w.rt.Start("p", container)
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
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
func (w *world) read(name string, pace time.Duration) func() string {
	w.all.Go(func() { w.rt.Read(w.ctx, name, w.gen, pace) })
	synctest.Wait()
	return func() string {
		synctest.Wait()
		var b strings.Builder
		for _, t := range w.rt.History().Events {
			if t.Reader == name {
				fmt.Fprintf(&b, " %s:%s%s", t.Event.Pod, short[t.Event.Type], t.Event.Container)
			}
		}
		return strings.TrimSpace(b.String())
	}
}

var short = map[pleg.EventType]string{
	pleg.ContainerStarted: "started ", pleg.ContainerDied: "died ", pleg.ContainerRemoved: "removed ",
	pleg.ContainerChanged: "changed ", pleg.PodSync: "sync",
}

// count is the number of calls of one kind that have begun.
func (w *world) count(kind string) int { return w.rt.Calls()[kind] }

// calls is the number of lists, and of all other calls.
func (w *world) calls() (lists, others int) {
	return w.count("Pods"), w.count("Pod") + w.count("Status")
}

// shows checks the containers of pod p in the cache, or "gone".
func (w *world) shows(want string) {
	w.Helper()
	synctest.Wait()
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
