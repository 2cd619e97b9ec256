//go:build !kubernetes136

package differences

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
	"k8s.io/kubernetes/pkg/kubelet/pleg"
	clocktesting "k8s.io/utils/clock/testing"
)

// restartedRuntime is a runtime service that is being restarted, so it has no stream.
type restartedRuntime struct {
	internalapi.RuntimeService
	attempts int
}

func (r *restartedRuntime) GetContainerEvents(context.Context, chan *runtimeapi.ContainerEventResponse, func(runtimeapi.RuntimeService_GetContainerEventsClient)) error {
	r.attempts++
	return errors.New("connection refused")
}

func (*restartedRuntime) RequestRelist(klog.Logger, types.UID) {}

// The kubelet's evented PLEG opens its stream five times without a pause, and then never
// again. (kubernetes#129827)
func TestFaultStreamIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runtime := &restartedRuntime{}
		pleg.NewEventedPLEG(runtime, runtime, 5).Start(t.Context()) // 5 as in the kubelet
		synctest.Wait()
		if runtime.attempts != 5 {
			t.Errorf("%d attempts at once, want 5", runtime.attempts)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if runtime.attempts != 5 {
			t.Errorf("%d attempts after a day, want 5", runtime.attempts)
		}
	})
}

// The kubelet's generic PLEG drops the events that its channel has no room for, and no
// later relist repeats them. (kubernetes#72482)
func TestFaultFullChannelDropsEvents(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	runtime := &containertest.FakeRuntime{}
	for _, name := range []types.UID{"a", "b", "c"} {
		runtime.AllPodList = append(runtime.AllPodList, &containertest.FakePod{Pod: &kubecontainer.Pod{ID: name, Containers: []*kubecontainer.Container{
			{ID: kubecontainer.ContainerID{Type: "test", ID: string(name)}, State: kubecontainer.ContainerStateRunning},
		}}})
	}
	events := make(chan *pleg.PodLifecycleEvent, 1)
	generator := pleg.NewGenericPLEG(runtime, events, &pleg.RelistDuration{RelistPeriod: time.Second, RelistThreshold: time.Minute}, kubecontainer.NewCache(), clock)
	heard := map[types.UID]bool{}
	for range 10 {
		generator.(*pleg.GenericPLEG).Relist(t.Context())
		for len(events) > 0 {
			heard[(<-events).ID] = true
		}
		clock.Step(time.Second)
	}
	if len(heard) != 1 {
		t.Errorf("of three starts %d were heard of, want 1: %v", len(heard), heard)
	}
}
