package pleg_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
	"pgregory.net/rapid"
)

// A mode is a configuration under test.
type mode struct {
	name   string
	stream bool // events are listened to
	single bool // one pod can be looked at, by its status alone or with a list
	short  bool // periods that make lists and events meet often
	again  bool // the program is restarted, and only its reader of exits goes on
	pace   time.Duration
}

var modes = []mode{
	{name: "generic"},
	{name: "generic, single pods", single: true},
	{name: "events", stream: true, single: true},
	{name: "events without single pods", stream: true},
	{name: "events, short periods", stream: true, single: true, short: true},
	{name: "slow readers", stream: true, single: true, short: true, pace: 7 * time.Second},
	{name: "restarts of the program", stream: true, single: true, short: true, again: true},
}

// totals add up the injected faults and the checks.
type totals struct {
	mu        sync.Mutex
	histories int
	changes   int
	injected  map[string]int
	checks    [guarantees + 1]int
	exits     map[string]int    // by source, and restarts of their readers
	failures  map[string]string // the first failure of each mode: the scheduler may not show it again
}

func (s *totals) add(h history, injected map[string]int, r report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.histories++
	s.changes += len(h.Changes)
	for name, n := range injected {
		s.injected[name] += n
	}
	for i, n := range r.checks {
		s.checks[i] += n
	}
	for _, r := range h.ExitsRead {
		s.exits["exits: "+string(r.Exit.Source)]++
		if r.Exit.Known {
			s.exits["exits with details"]++
		}
	}
	for _, r := range h.ExitReaders {
		s.exits["restarts of readers of exits"] += len(r.Gaps)
	}
	for _, r := range h.ExitReaders {
		s.exits["readers of exits"]++
		s.exits["containers that were expected"] += len(r.Expected)
	}
	s.exits["readers of exits at another's position"] += h.Forks
	s.exits["readers of exits that were closed"] += h.Closed
	s.exits["restarts with exits due"] += h.RestartsDue
	s.exits["restarts of the program"] += h.Programs
}

// Random scripts run under random faults, and each history is checked against the
// guarantees. The default is a hundred histories per mode; -rapid.checks=3000 makes
// 24,000 in all.
func TestHistories(t *testing.T) {
	sum := &totals{injected: map[string]int{}, exits: map[string]int{}, failures: map[string]string{}}
	t.Run("modes", func(t *testing.T) {
		for _, m := range modes {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					var h history
					var injected map[string]int
					rapid.SyncTest(t, func(t *rapid.T) { h, injected = simulate(t, m) })
					report := h.check()
					sum.add(h, injected, report)
					for _, v := range report.violations {
						t.Errorf("%v", v)
					}
					if len(report.violations) > 0 {
						sum.fail(m.name, fmt.Sprintf("%v\nhistory:\n%v", report.violations, h))
					}
				})
			})
		}
	})
	for name, failure := range sum.failures {
		t.Logf("%s: %s", name, failure)
	}
	if !t.Failed() {
		sum.print(t)
	}
}

func (s *totals) fail(name, failure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures[name] == "" {
		s.failures[name] = failure
	}
}

// faultNames returns the names under which a Runtime counts faults: its rates and the
// methods that are faults.
func faultNames() []string {
	names := []string{"Restart", "SetUnsupported"}
	for f := range reflect.TypeFor[plegtest.Faults]().NumField() {
		if field := reflect.TypeFor[plegtest.Faults]().Field(f); field.Type.Kind() == reflect.Float64 {
			names = append(names, field.Name)
		}
	}
	return names
}

// print prints the table. It fails if the table of a fixed seed has a zero.
func (s *totals) print(t *testing.T) {
	var b strings.Builder
	missing := func(n int) bool { return n == 0 && rapidseed.Fixed() }
	fmt.Fprintf(&b, "%d histories with %d changes\n", s.histories, s.changes)
	for _, name := range faultNames() {
		fmt.Fprintf(&b, "%12d  %s\n", s.injected[name], name)
		if missing(s.injected[name]) {
			t.Errorf("fault %q was never injected", name)
		}
	}
	for i := 1; i <= guarantees; i++ {
		fmt.Fprintf(&b, "%12d  checks of G%d\n", s.checks[i], i)
		if missing(s.checks[i]) {
			t.Errorf("G%d was never checked", i)
		}
	}
	for _, name := range []string{
		"exits: event", "exits: relist", "exits: inferred", "exits with details",
		"restarts of readers of exits", "restarts with exits due", "restarts of the program", "readers of exits",
		"readers of exits at another's position", "readers of exits that were closed", "containers that were expected",
	} {
		fmt.Fprintf(&b, "%12d  %s\n", s.exits[name], name)
		if missing(s.exits[name]) {
			t.Errorf("there were no %s", name)
		}
	}
	t.Log(b.String())
	for name := range s.injected {
		if !slices.Contains(faultNames(), name) {
			t.Errorf("fault %q has no name", name)
		}
	}
}

// drawFaults draws each fault to be off, rare or frequent.
func drawFaults(t *rapid.T, m mode) (f plegtest.Faults) {
	rate := rapid.SampledFrom([]float64{0, 0, 0.05, 0.3})
	f.Error, f.Slow = rate.Draw(t, "error"), rate.Draw(t, "slow")
	f.Hang, f.Deaf = rate.Draw(t, "hang")/5, rate.Draw(t, "deaf")
	f.Unstamped, f.Seconds = rate.Draw(t, "unstamped"), rate.Draw(t, "seconds")
	f.Future, f.Step = rate.Draw(t, "future"), rate.Draw(t, "step")
	f.Beside = rate.Draw(t, "beside")
	if rapid.Bool().Draw(t, "ids") {
		f.Reuse = 2 * rate.Draw(t, "reuse")
	} else {
		f.Ahead = 2 * rate.Draw(t, "ahead")
	}
	if m.stream {
		f.Drop, f.Duplicate = rate.Draw(t, "drop"), rate.Draw(t, "duplicate")
		f.Late, f.Reorder = rate.Draw(t, "late"), rate.Draw(t, "reorder")
		f.Stale, f.Bare = rate.Draw(t, "stale"), rate.Draw(t, "bare")
		f.Nameless, f.Strange = rate.Draw(t, "nameless"), rate.Draw(t, "strange")
		f.Disconnect, f.EndAtOnce = rate.Draw(t, "disconnect")/2, rate.Draw(t, "endAtOnce")
		f.Replay, f.Lose = rate.Draw(t, "replay"), rate.Draw(t, "lose")
	}
	return f
}

// onlyStamps leaves of f the faults that wrong nothing but stamps and ids.
func onlyStamps(f plegtest.Faults) plegtest.Faults {
	return plegtest.Faults{Unstamped: f.Unstamped, Seconds: f.Seconds, Future: f.Future, Step: f.Step, Ahead: f.Ahead, Reuse: f.Reuse}
}

// A simulation is a generator under a random script.
type simulation struct {
	m       mode
	faults  plegtest.Faults
	rt      *recorder
	cache   *statuscache.Cache[string, *plegtest.Status]
	gen     *pleg.Generator[string, *plegtest.Status]
	ctx     context.Context
	all     sync.WaitGroup
	limit   time.Duration // of waits
	ids     int
	live    map[string][]string // containers by pod, as driven
	removed map[string][]string // likewise
	names   []string            // of readers
	period  time.Duration
	options struct {
		cache statuscache.Options[*plegtest.Status]
		gen   pleg.GeneratorOptions
		first bool // pods are listed before their statuses
	}
	followers []*follower
	followed  int                // followers that there ever were
	down      bool               // the program is
	stop      context.CancelFunc // of Run
	ended     chan struct{}      // closed when Run has returned
}

const waitLimit = 2 * time.Second

func simulate(t *rapid.T, m mode) (history, map[string]int) {
	f := drawFaults(t, m)
	w := &simulation{m: m, faults: f, rt: record(rapid.Uint64().Draw(t, "seed"), f), live: map[string][]string{}, removed: map[string][]string{}, limit: 2*waitLimit + time.Second}
	if f.Slow > 0 || f.Hang > 0 || f.Error > 0 {
		w.limit = 45 * time.Second
	}
	w.options.cache = statuscache.Options[*plegtest.Status]{AcceptEqual: rapid.Bool().Draw(t, "equal")}
	o := pleg.GeneratorOptions{WaitLimit: waitLimit, RelistThreshold: 20 * time.Second, EventedPeriod: 60 * time.Second}
	if m.short {
		o.EventedPeriod = 3 * time.Second
	}
	w.period = time.Second
	if m.stream {
		w.period = o.EventedPeriod
	}
	w.options.gen = o
	w.options.first = !m.single || rapid.Bool().Draw(t, "list first")
	ctx, cancel := context.WithCancel(t.Context())
	w.ctx = ctx
	defer w.all.Wait()
	defer func() { w.cache.Close() }()
	defer cancel()
	w.generator(t)
	for range rapid.IntRange(0, 3).Draw(t, "before") {
		w.change(t)
	}
	w.follow(t)
	for range rapid.IntRange(0, 2).Draw(t, "before Run") { // a reader is there, and nothing was listed yet
		w.change(t)
		time.Sleep(time.Duration(rapid.IntRange(1, 2000).Draw(t, "ms")) * time.Millisecond)
		w.change(t)
	}
	w.run()
	if !m.again {
		w.reader(m.pace)
	}
	w.script(t)
	if rapid.IntRange(0, 4).Draw(t, "abruptly") > 0 {
		w.settle(t)
	}
	cancel()
	w.cache.Close()
	w.all.Wait()
	w.valid(t)
	return w.rt.History(), w.rt.Injected()
}

// generator makes a cache and a generator.
func (w *simulation) generator(t *rapid.T) {
	w.cache = statuscache.New[string](w.options.cache)
	var rt pleg.Runtime[string, *plegtest.Status] = w.rt
	if !w.m.single {
		rt = listless{w.rt}
	}
	var stream pleg.Streamer[string, *plegtest.Status]
	if w.m.stream {
		stream = w.rt
	}
	gen, err := pleg.NewGenerator(rt, stream, w.cache, w.options.gen)
	if err != nil {
		t.Fatal(err)
	}
	if w.options.first {
		gen.DistrustStatuses()
	}
	w.gen = gen
}

// run runs the generator.
func (w *simulation) run() {
	ctx, stop := context.WithCancel(w.ctx)
	gen, ended := w.gen, make(chan struct{})
	w.stop, w.ended = stop, ended
	w.all.Go(func() {
		defer close(ended)
		gen.Run(ctx)
		w.rt.Note(func(h *history) { h.RunEnded = time.Now() })
	})
}

// follow begins a reader of exits.
func (w *simulation) follow(t *rapid.T) {
	f := w.rt.follow(t, w.follower(), w.gen, rapid.Bool().Draw(t, "earlier"))
	f.creates = rapid.Bool().Draw(t, "creates")
	w.followers = append(w.followers, f)
}

// follower is the name of the next reader of exits.
func (w *simulation) follower() string {
	w.followed++
	return fmt.Sprintf("exits %d", w.followed)
}

// expect tells the readers of exits whose program creates containers of a new one.
func (w *simulation) expect(t *rapid.T, pod, container string) {
	for _, f := range w.followers {
		if f.creates && !w.down {
			f.expect(pod, container)
			if rapid.IntRange(0, 2).Draw(t, "save") > 0 {
				f.save(t)
			}
		}
	}
}

// takeExits takes some exits, or begins, restarts or ends a reader of them.
func (w *simulation) takeExits(t *rapid.T) {
	do := []string{"take", "take", "save", "restart", "follow", "fork", "close"}
	if w.m.again {
		do = append(do, "program", "program")
	}
	f := rapid.SampledFrom(w.followers).Draw(t, "follower")
	switch rapid.SampledFrom(do).Draw(t, "exits") {
	case "take":
		f.take(t, rapid.IntRange(1, 5).Draw(t, "most"))
	case "save":
		f.save(t)
	case "restart":
		if rapid.Bool().Draw(t, "at once") {
			f.save(t)
		}
		w.goOn(t, f)
	case "follow":
		if len(w.followers) < 4 {
			w.follow(t)
		}
	case "fork":
		if len(w.followers) < 4 {
			w.followers = append(w.followers, f.fork(t, w.follower(), w.gen))
			w.rt.Note(func(h *history) { h.Forks++ })
		}
	case "close":
		if len(w.followers) > 1 {
			f.reader.Close()
			f.take(t, 1<<30)
			w.followers = slices.DeleteFunc(w.followers, func(x *follower) bool { return x == f })
			w.rt.Note(func(h *history) { h.Closed++ })
		}
	case "program":
		w.restart(t)
	}
}

// restart restarts the program.
func (w *simulation) restart(t *rapid.T) {
	w.stop()
	<-w.ended
	w.cache.Close()
	w.down = true
	time.Sleep(time.Duration(rapid.IntRange(0, 3000).Draw(t, "down ms")) * time.Millisecond)
	for range rapid.IntRange(0, 3).Draw(t, "meanwhile") {
		w.change(t)
	}
	w.down = false
	w.rt.Note(func(h *history) { h.Programs, h.Program = h.Programs+1, time.Now() })
	w.generator(t)
	for _, f := range w.followers {
		w.goOn(t, f)
	}
	w.run()
}

// goOn restarts a reader of exits.
func (w *simulation) goOn(t *rapid.T, f *follower) {
	f.restart(t, w.gen)
	if strings.Contains(f.saved.position, `"due"`) {
		w.rt.Note(func(h *history) { h.RestartsDue++ })
	}
}

// script draws what happens.
func (w *simulation) script(t *rapid.T) {
	actions := []string{"change", "change", "change", "change", "sleep", "sleep", "wait", "request", "relist", "restart", "reader"}
	if w.m.stream {
		actions = append(actions, "disconnect", "unsupported", "burst")
	}
	actions = append(actions, "exits", "exits")
	for range rapid.IntRange(10, 60).Draw(t, "steps") {
		switch rapid.SampledFrom(actions).Draw(t, "action") {
		case "change":
			w.change(t)
		case "burst":
			for range 5 {
				w.change(t)
			}
		case "sleep":
			time.Sleep(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
		case "wait":
			if !w.m.again {
				w.wait(t)
			}
		case "exits":
			w.takeExits(t)
		case "request":
			w.gen.RequestRelist(w.pod(t))
		case "relist":
			ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
			w.gen.Relist(ctx)
			cancel()
		case "restart":
			if rapid.IntRange(0, 4).Draw(t, "rarely") == 0 {
				w.all.Go(func() { w.rt.Restart(4 * time.Second) })
			}
		case "disconnect":
			w.rt.Disconnect()
		case "unsupported":
			if rapid.IntRange(0, 4).Draw(t, "rarely") == 0 {
				w.rt.SetUnsupported(true)
				w.all.Go(func() {
					time.Sleep(5 * time.Second)
					w.rt.SetUnsupported(false)
				})
			}
		case "reader":
			if len(w.names) < 4 && !w.m.again {
				w.reader(w.m.pace / 2)
			}
		}
		w.sample(false)
		w.valid(t)
	}
}

func (w *simulation) valid(t *rapid.T) {
	if err := w.gen.Valid(); err != nil {
		t.Fatal(err)
	}
}

func (w *simulation) pod(t *rapid.T) string {
	return rapid.SampledFrom([]string{"p", "q", "r", "s"}).Draw(t, "pod")
}

// change makes one change of the truth.
func (w *simulation) change(t *rapid.T) {
	id := w.pod(t)
	if len(w.live[id]) == 0 || rapid.IntRange(0, 3).Draw(t, "create") == 0 {
		w.ids++
		c := fmt.Sprintf("%s%d", id, w.ids)
		if old := w.removed[id]; len(old) > 0 && rapid.Bool().Draw(t, "old id") {
			c = rapid.SampledFrom(old).Draw(t, "id")
			w.removed[id] = slices.DeleteFunc(old, func(x string) bool { return x == c })
		}
		w.live[id] = append(w.live[id], c)
		if w.rt.Create(id, c) {
			w.expect(t, id, c)
		}
		return
	}
	c := rapid.SampledFrom(w.live[id]).Draw(t, "container")
	switch rapid.IntRange(0, 3).Draw(t, "do") {
	case 0, 1:
		w.rt.Start(id, c)
	case 2:
		w.rt.ExitCode(id, c, rapid.Int32Range(0, 255).Draw(t, "code"))
	case 3:
		w.rt.Remove(id, c)
		w.live[id] = slices.DeleteFunc(w.live[id], func(x string) bool { return x == c })
		w.removed[id] = append(w.removed[id], c)
	}
}

func (w *simulation) wait(t *rapid.T) {
	id := w.pod(t)
	ctx, cancel := w.ctx, context.CancelFunc(func() {})
	anyChange := rapid.Bool().Draw(t, "wait for")
	if rapid.IntRange(0, 3).Draw(t, "deadline") == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Second)
	}
	w.all.Go(func() {
		defer cancel()
		if anyChange {
			w.rt.WaitFor(ctx, w.cache, id, w.limit)
		} else {
			w.rt.Wait(ctx, w.cache, id, w.limit)
		}
	})
	synctest.Wait()
}

// reader starts a Watch and an Events loop.
func (w *simulation) reader(pace time.Duration) {
	watch, read := fmt.Sprintf("watcher %d", len(w.names)), fmt.Sprintf("reader %d", len(w.names)+1)
	w.names = append(w.names, watch, read)
	w.all.Go(func() { w.rt.Watch(w.ctx, watch, w.cache, pace) })
	w.all.Go(func() { w.rt.Read(w.ctx, read, w.gen, pace) })
	synctest.Wait()
}

func (w *simulation) sample(settled bool) {
	stats := w.gen.Stats()
	w.rt.Note(func(h *history) {
		h.Samples = append(h.Samples, sample{At: time.Now(), Stats: stats, Readers: len(w.names), ExitReaders: len(w.followers), Settled: settled})
	})
}

// settle ends the faults, in two steps, and compares.
func (w *simulation) settle(t *rapid.T) {
	w.rt.SetFaults(onlyStamps(w.faults))
	time.Sleep(45 * time.Second) // what hangs is cancelled, backoffs are over
	if rapid.Bool().Draw(t, "once more") {
		w.change(t)
	}
	if err := w.gen.Relist(w.ctx); err != nil {
		t.Errorf("a relist of a live runtime: %v", err)
	}
	w.rt.Compare(w.cache, 9)
	w.rt.SetFaults(plegtest.Faults{Reuse: w.faults.Reuse})
	w.change(t)
	time.Sleep(2*w.period + 75*time.Second) // streams are back
	w.change(t)
	time.Sleep(w.period + time.Second)
	w.rt.Compare(w.cache, 4)
	w.gen.Relist(w.ctx)
	time.Sleep(w.period + 2*time.Second)
	w.gen.Relist(w.ctx)
	w.sample(true)
	w.valid(t)
	from := time.Now()
	time.Sleep(5 * w.period)
	w.rt.Note(func(h *history) {
		h.Idles = append(h.Idles, idle{From: from, To: time.Now(), Period: w.period})
	})
	time.Sleep(40 * w.m.pace)
	names := slices.Clone(w.names)
	for _, f := range w.followers {
		f.take(t, 1<<30)
		names = append(names, f.name)
	}
	w.rt.Compare(w.cache, 4, names...)
	if err := w.gen.Healthy(); err != nil {
		t.Errorf("after all: %v", err)
	}
}
