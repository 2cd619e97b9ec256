package differences

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	clocktesting "k8s.io/utils/clock/testing"
)

// The tests TestFault… show faults of Kubernetes on its own code. Each fails on a version
// without the fault; docs/kubernetes.md describes them.

// A wait of the kubelet's cache has no end of its own: without news of its pod, and
// without a new global time, it waits for ever. (kubernetes#124704)
func TestFaultWaitWithoutEnd(t *testing.T) {
	guarded(t)
	synctest.Test(t, func(t *testing.T) {
		cache := newKubeletCache()
		cache.Set("pod", &kubecontainer.PodStatus{ID: "pod"}, nil, at(1))
		ended := false
		go func() {
			_, _ = cache.GetNewerThan("pod", at(2))
			ended = true
		}()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if ended {
			t.Error("the wait ended by itself")
		}
		cache.UpdateTime(at(3))
		synctest.Wait()
		if !ended {
			t.Error("the wait goes on after a new global time")
		}
	})
}

// A status stamped ahead of the clock, as before a step back, makes the kubelet's cache
// refuse all later ones until the clock has caught up. (kubernetes#134153)
func TestFaultStampAheadBlocksLaterOnes(t *testing.T) {
	guarded(t)
	cache := newKubeletCache()
	old := &kubecontainer.PodStatus{ID: "pod", Name: "old"}
	cache.Set("pod", old, nil, at(3600))
	for _, second := range []int{1, 60, 3599} {
		if cache.Set("pod", &kubecontainer.PodStatus{ID: "pod", Name: "new"}, nil, at(second)) {
			t.Errorf("the status of second %d was accepted", second)
		}
	}
	if got, _ := cache.Get("pod"); got != old {
		t.Errorf("the cache shows %+v", got)
	}
}

// The kubelet's backoff has no entry before the first restart, so it holds nothing back
// then. (kubernetes#123602, kubernetes#133472)
func TestFaultFirstRestartIsNotDelayed(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	backOff := flowcontrol.NewBackOff(10*time.Second, 300*time.Second)
	backOff.Clock = clock
	for i, want := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second} {
		exited := clock.Now()
		held := time.Duration(0)
		for backOff.IsInBackOffSince("container", exited) { // as doBackOff of the kubelet does
			held += time.Second
			clock.Step(time.Second)
		}
		backOff.Next("container", exited)
		if held != want {
			t.Errorf("restart %d: held back for %v, want %v", i+1, held, want)
		}
	}
}
