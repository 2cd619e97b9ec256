package pleg

import (
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// shown is a status of containers only.
type shown []Container

func (s shown) Containers() []Container { return s }

// A bench is a relister whose calls the test answers by hand.
type bench struct {
	*testing.T
	*relister[string, shown]
	cache   *statuscache.Cache[string, shown]
	now     time.Time
	running bool
	period  time.Duration
	reader  *subscriber[string]
	told    string // to the reader
	answers int    // after which the invariants were to hold
}

func newBench(t *testing.T, single bool) *bench {
	c := statuscache.New[string](statuscache.Options[shown]{MaxSkew: -1})
	return &bench{T: t, cache: c, relister: newRelister(c, GeneratorOptions{}.withDefaults(), single), now: t0, running: true, period: time.Hour}
}

// asks checks and returns the calls to make now.
func (b *bench) asks(want string) []call[string] {
	b.Helper()
	list := b.calls(b.now, b.running, b.period)
	var got []string
	for _, c := range list {
		got = append(got, strings.TrimSpace(c.kind.String()+" "+c.pod))
	}
	if s := strings.Join(got, ", "); s != want {
		b.Errorf("at %v it asks %q, want %q", b.now.Sub(t0), s, want)
	}
	b.holds()
	return list
}

// holds checks the invariants. That takes as long as much is remembered, so of thousands of
// answers it checks some.
func (b *bench) holds() {
	b.Helper()
	if b.answers++; b.answers > 1000 && b.answers%100 != 0 {
		return
	}
	if err := b.valid(); err != nil {
		b.Error(err)
	}
}

// answer answers c with pods, each with a running container of the pod's name, or with
// no pod.
func (b *bench) answer(c call[string], pods ...string) {
	a := result[string, shown]{call: c}
	if c.kind == callStatus {
		a.status = shown{{ID: c.pod, State: StateRunning}}
	}
	for _, id := range pods {
		a.pods = append(a.pods, Pod[string]{id, []Container{{ID: id, State: StateRunning}}})
	}
	if c.kind == callPod && len(pods) == 0 {
		a.err = ErrNotFound
	}
	b.handleResult(a, b.now)
	b.holds()
}

// lists answers a call for pods with the containers p of pod p.
func (b *bench) lists(c call[string], p ...Container) {
	b.handleResult(result[string, shown]{call: c, pods: []Pod[string]{{"p", p}}}, b.now)
	b.holds()
}

// status answers a Status.
func (b *bench) status(c call[string], err error, s ...Container) {
	b.handleResult(result[string, shown]{call: c, status: s, err: err}, b.now)
	b.holds()
}

func (b *bench) fails(c call[string], err error) {
	b.handleResult(result[string, shown]{call: c, err: err}, b.now)
	b.holds()
}

// settled finishes the relist under way.
func (b *bench) settled() {
	b.Helper()
	start, ok := b.done()
	if !ok {
		b.Fatalf("at %v the relist is still open", b.now.Sub(t0))
	}
	b.cache.UpdateTime(start)
	b.finish(b.now)
	b.holds()
}

// relisted makes one full relist that shows pods.
func (b *bench) relisted(pods ...string) {
	b.Helper()
	b.listNow = true
	list := b.calls(b.now, b.running, b.period)
	for i := 0; i < len(list); i++ {
		b.answer(list[i], pods...)
		list = append(list, b.calls(b.now, b.running, b.period)...)
	}
	b.settled()
}

func receive(c <-chan error) (err error, ok bool) {
	select {
	case err = <-c:
		return err, true
	default:
		return nil, false
	}
}

// drain appends the reader's pending events to told.
func (b *bench) drain() {
	for {
		events, ok := b.reader.take()
		if !ok {
			return
		}
		for _, e := range events {
			b.told = strings.TrimPrefix(strings.TrimSpace(b.told+", "+string(e.Type)+" "+e.Container), ", ")
		}
	}
}

// handleResult takes the result of a call, as a runner does.
func (r *relister[K, S]) handleResult(a result[K, S], now time.Time) {
	if a.call.kind == callPods {
		r.handleList(a.pods, a.err, now)
	} else {
		r.handleAnswer(a, now)
	}
}
