// Package lifecycle provides the kubelet's PodLifecycleEventGenerator on top of
// pleg.Generator. Types declared in the kubelet's package pleg are parameters here or
// replaced by its own, so that package pleg can import this one.
package lifecycle

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/restartkit/restart/conformance/upstream/podcache"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
)

// Event is one step in the life of a pod, with the kubelet's strings.
type Event = pleg.Event[types.UID]

// PodSync is the type of an Event that requests a look at the pod.
const PodSync = pleg.PodSync

// Options are the kubelet's settings for its generator.
type Options struct {
	Runtime         kubecontainer.Runtime
	Cache           kubecontainer.Cache // filled if it has a method Pleg, like podcache.Cache
	Clock           clock.Clock
	RelistPeriod    time.Duration
	RelistThreshold time.Duration
	Deliver         func(Event) bool // accepts an event and reports whether it had room
}

// Generator has the methods of PodLifecycleEventGenerator except Watch. It is safe for
// concurrent use by multiple goroutines.
type Generator struct {
	generator *pleg.Generator[types.UID, *kubecontainer.PodStatus]
	runtime   *runtime
	deliver   func(Event) bool

	mu     sync.Mutex
	cancel context.CancelFunc // ends Run and the delivery; nil while they do not run
	echoes int
	echo   chan types.UID // delivered echoes; see Relist
	full   chan struct{}  // a delivery waits for room
}

// New returns a Generator. It panics on invalid options, as the kubelet's does.
func New(o Options) *Generator {
	if o.Cache == nil {
		panic("cache cannot be nil")
	}
	var cache *statuscache.Cache[types.UID, *kubecontainer.PodStatus]
	if ours, ok := o.Cache.(interface {
		Pleg() *statuscache.Cache[types.UID, *kubecontainer.PodStatus]
	}); ok {
		cache = ours.Pleg()
	} else { // a fake, which asks the runtime itself
		cache = podcache.New[kubecontainer.PodStatus](ticking{o.Clock}, EmptyStatus, KeepIPs).Pleg()
	}
	r := newRuntime(o.Runtime)
	generator, err := pleg.NewGenerator(r, cache, pleg.GeneratorOptions[types.UID]{
		// The kubelet takes a threshold below the period, as its tests have it.
		RelistPeriod:    min(o.RelistPeriod, o.RelistThreshold),
		RelistThreshold: o.RelistThreshold,
	})
	if err != nil {
		panic(err)
	}
	return &Generator{generator: generator, runtime: r, deliver: o.Deliver, echo: make(chan types.UID, 1), full: make(chan struct{}, 1)}
}

// Start relists and delivers events until ctx ends or Stop is called.
func (g *Generator) Start(ctx context.Context) {
	if ctx, ok := g.begin(ctx); ok {
		go g.generator.Run(ctx)
	}
}

// Stop ends the goroutines started by Start and Relist.
func (g *Generator) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel()
		g.cancel = nil
	}
}

// Healthy reports whether relists keep succeeding.
func (g *Generator) Healthy() (bool, error) {
	err := g.generator.Healthy()
	return err == nil, err
}

// RequestReinspect requests the pod's status at the next full relist, changed or not,
// and a PodSync once that succeeds.
func (g *Generator) RequestReinspect(id types.UID) { g.generator.RequestSync(id) }

// RequestRelist requests a look at the pod soon.
func (g *Generator) RequestRelist(id types.UID) { g.generator.RequestRelist(id) }

// begin starts the delivery of events unless it is running.
func (g *Generator) begin(ctx context.Context) (context.Context, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		return nil, false
	}
	ctx, g.cancel = context.WithCancel(ctx)
	go func() {
		for e := range g.generator.Events(ctx) {
			g.pass(ctx, e)
		}
	}()
	return ctx, true
}

// pass delivers an event, waiting for room if necessary. The generator merges events
// meanwhile, so no event is lost. The kubelet's own generator drops them.
func (g *Generator) pass(ctx context.Context, e Event) {
	switch {
	case isEcho(e.Pod):
		select {
		case g.echo <- e.Pod:
		case <-ctx.Done():
		}
		return
	case e.Type == pleg.ContainerChanged: // unused by the kubelet
		return
	}
	for !g.deliver(e) {
		select {
		case g.full <- struct{}{}:
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// EmptyStatus returns the status of a pod unknown to the runtime.
func EmptyStatus(id types.UID) *kubecontainer.PodStatus { return &kubecontainer.PodStatus{ID: id} }

// ticking adapts a clock without tickers for a cache, which needs none.
type ticking struct{ clock.Clock }

func (ticking) NewTicker(time.Duration) clock.Ticker {
	panic("lifecycle: the generator makes no tickers")
}
