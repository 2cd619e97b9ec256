package pleg

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/metrics"
	"k8s.io/utils/clock"

	"github.com/restartkit/restart/conformance/upstream/lifecycle"
)

func init() { kubecontainer.MergeStatus = lifecycle.KeepIPs }

// GenericPLEG is the adapter with the kubelet's event type. A fork needs its fields
// Generator and events. The others are glue for the package's tests.
type GenericPLEG struct {
	*lifecycle.Generator
	events chan *PodLifecycleEvent

	cache           kubecontainer.Cache // read by tests
	relistDuration  *RelistDuration     // likewise
	runtime         *testedRuntime
	podRecords      podRecords // written by tests, as shown by an earlier relist
	podsToReinspect sync.Map   // read by tests; requests without a PodSync yet
}

func NewGenericPLEG(runtime kubecontainer.Runtime, events chan *PodLifecycleEvent,
	duration *RelistDuration, cache kubecontainer.Cache, c clock.Clock) PodLifecycleEventGenerator {
	g := &GenericPLEG{events: events, cache: cache, relistDuration: duration, runtime: &testedRuntime{Runtime: runtime}, podRecords: podRecords{}}
	g.Generator = lifecycle.New(lifecycle.Options{
		Runtime:         counting{g.runtime},
		Cache:           cache,
		Clock:           c,
		RelistPeriod:    duration.RelistPeriod,
		RelistThreshold: duration.RelistThreshold,
		Deliver:         g.deliver,
	})
	return g
}

func (g *GenericPLEG) Watch() chan *PodLifecycleEvent { return g.events }

// RequestReinspect is the adapter's. Keeping the requests is glue.
func (g *GenericPLEG) RequestReinspect(id types.UID) {
	g.podsToReinspect.Store(id, nil)
	g.Generator.RequestReinspect(id)
}

func (g *GenericPLEG) RequestRelist(_ klog.Logger, id types.UID) {
	if utilfeature.DefaultFeatureGate.Enabled(features.PLEGOnDemandRelist) {
		g.Generator.RequestRelist(id)
	}
}

func (g *GenericPLEG) deliver(e lifecycle.Event) bool {
	if e.Type == lifecycle.PodSync {
		g.podsToReinspect.Delete(e.Pod)
	}
	event := &PodLifecycleEvent{ID: e.Pod, Type: PodLifeCycleEventType(e.Type)}
	if e.Container != "" {
		event.Data = e.Container
	}
	select {
	case g.events <- event:
		return true
	default:
		return false
	}
}

// counting updates the kubelet's metrics of running pods and containers.
type counting struct{ kubecontainer.Runtime }

func (c counting) GetPods(ctx context.Context, all bool) ([]*kubecontainer.Pod, error) {
	pods, err := c.Runtime.GetPods(ctx, all)
	if err != nil {
		return nil, err
	}
	running, containers := 0, map[string]int{}
	for _, pod := range pods {
		for _, container := range pod.Containers {
			containers[string(container.State)]++
		}
		for _, sandbox := range pod.Sandboxes {
			if sandbox.State == kubecontainer.ContainerStateRunning {
				running++
				break
			}
		}
	}
	for state, n := range containers {
		metrics.RunningContainerCount.WithLabelValues(state).Set(float64(n))
	}
	metrics.RunningPodCount.Set(float64(running))
	return pods, nil
}

type (
	podRecords map[types.UID]*podRecord
	podRecord  struct{ old, current *kubecontainer.Pod }
)

// Relist is glue. If a test has written podRecords, Relist first makes a relist that
// shows them, drops its events, and repeats earlier requests.
func (g *GenericPLEG) Relist(ctx context.Context) {
	if len(g.podRecords) > 0 {
		var requests []types.UID
		g.podsToReinspect.Range(func(id, _ any) bool { requests = append(requests, id.(types.UID)); return true })
		g.runtime.earlier, g.podRecords = g.podRecords, podRecords{}
		g.Generator.Relist(ctx)
		g.runtime.earlier = nil
		for len(g.events) > 0 {
			<-g.events
		}
		for _, id := range requests {
			g.RequestReinspect(id)
		}
	}
	g.Generator.Relist(ctx)
}

// testedRuntime is glue. It answers with the podRecords that a test has written.
type testedRuntime struct {
	kubecontainer.Runtime
	earlier podRecords
}

func (r *testedRuntime) GetPodStatus(ctx context.Context, pod *kubecontainer.Pod) (*kubecontainer.PodStatus, error) {
	if r.earlier != nil {
		return nil, nil
	}
	return r.Runtime.GetPodStatus(ctx, pod)
}

func (r *testedRuntime) GetPods(ctx context.Context, all bool) ([]*kubecontainer.Pod, error) {
	if r.earlier != nil {
		var pods []*kubecontainer.Pod
		for _, record := range r.earlier {
			pods = append(pods, record.old)
		}
		return pods, nil
	}
	return r.Runtime.GetPods(ctx, all)
}
