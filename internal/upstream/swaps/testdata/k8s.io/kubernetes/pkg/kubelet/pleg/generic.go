package pleg

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/metrics"
	"k8s.io/utils/clock"

	"github.com/restartkit/restart/upstream/lifecycle"
)

func init() { kubecontainer.MergeStatus = lifecycle.KeepIPs }

// GenericPLEG is the adapter with the kubelet's event type, and with the fields that
// the package's tests look into.
type GenericPLEG struct {
	*lifecycle.Generator
	events         chan *PodLifecycleEvent
	cache          kubecontainer.Cache
	relistDuration *RelistDuration

	// For tests of how upstream's generator works inside; nothing reads them.
	clock             clock.Clock
	podRecords        podRecords
	podsToReinspect   sync.Map
	globalRelistTimer clock.Timer
}

type (
	podRecords map[types.UID]*podRecord
	podRecord  struct{ old, current *kubecontainer.Pod }
)

func (g *GenericPLEG) workerLoopIteration(context.Context) bool { return false }

func (g *GenericPLEG) updateCache(context.Context, *kubecontainer.Pod, types.UID) (*kubecontainer.PodStatus, error) {
	return nil, errors.New("upstream's own")
}

func NewGenericPLEG(runtime kubecontainer.Runtime, events chan *PodLifecycleEvent,
	duration *RelistDuration, cache kubecontainer.Cache, c clock.Clock) PodLifecycleEventGenerator {
	g := &GenericPLEG{events: events, cache: cache, relistDuration: duration, clock: c, podRecords: podRecords{}}
	g.Generator = lifecycle.New(lifecycle.Options{
		Runtime:         counting{runtime},
		Cache:           cache,
		Clock:           c,
		RelistPeriod:    duration.RelistPeriod,
		RelistThreshold: duration.RelistThreshold,
		Deliver:         g.deliver,
	})
	return g
}

func (g *GenericPLEG) Watch() chan *PodLifecycleEvent { return g.events }

func (g *GenericPLEG) RequestRelist(_ klog.Logger, id types.UID) {
	if utilfeature.DefaultFeatureGate.Enabled(features.PLEGOnDemandRelist) {
		g.Generator.RequestRelist(id)
	}
}

func (g *GenericPLEG) deliver(e lifecycle.Event) bool {
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

// counting keeps the kubelet's metrics of running pods and containers.
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
