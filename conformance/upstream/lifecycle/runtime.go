package lifecycle

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/restartkit/restart/pleg"
)

// runtime adapts a kubecontainer.Runtime to pleg.Runtime and pleg.PodLister. It keeps
// the last lists, because GetPodStatus takes the listed pod.
type runtime struct {
	kubelet kubecontainer.Runtime

	mu      sync.Mutex
	listed  map[types.UID]*kubecontainer.Pod
	answers map[types.UID]answer // last Status of each listed pod
	echo    types.UID            // if set, list an echo and do not ask the runtime; see Relist
}

type answer struct {
	status *kubecontainer.PodStatus
	err    error
}

func (r *runtime) Pods(ctx context.Context) ([]pleg.Pod[types.UID], error) {
	if pods, ok := r.echoed(); ok {
		return pods, nil
	}
	list, err := r.kubelet.GetPods(ctx, true)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.listed)
	pods := make([]pleg.Pod[types.UID], 0, len(list))
	for _, pod := range list {
		r.listed[pod.ID] = pod
		pods = append(pods, plegPod(pod))
	}
	for id := range r.answers {
		if r.listed[id] == nil {
			delete(r.answers, id)
		}
	}
	return pods, nil
}

func (r *runtime) Pod(ctx context.Context, id types.UID) (pleg.Pod[types.UID], error) {
	pod, err := r.kubelet.GetPod(ctx, id)
	if err != nil {
		return pleg.Pod[types.UID]{}, err
	}
	if pod == nil {
		return pleg.Pod[types.UID]{}, pleg.ErrNotFound
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed[id] = pod
	return plegPod(pod), nil
}

func (r *runtime) Status(ctx context.Context, id types.UID) (*kubecontainer.PodStatus, time.Time, error) {
	r.mu.Lock()
	pod, echo, last := r.listed[id], r.echo, r.answers[id]
	r.mu.Unlock()
	switch {
	case isEcho(id):
		return EmptyStatus(id), time.Time{}, nil
	case pod == nil:
		return nil, time.Time{}, pleg.ErrNotFound
	case echo != "":
		return last.status, time.Time{}, last.err
	}
	status, err := r.kubelet.GetPodStatus(ctx, pod)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[id] = answer{status, err}
	return status, time.Time{}, err
}

// plegPod lists sandboxes as containers, as the kubelet does.
func plegPod(pod *kubecontainer.Pod) pleg.Pod[types.UID] {
	p := pleg.Pod[types.UID]{ID: pod.ID, Containers: make([]pleg.Container, 0, len(pod.Containers)+len(pod.Sandboxes))}
	for _, list := range [][]*kubecontainer.Container{pod.Containers, pod.Sandboxes} {
		for _, c := range list {
			p.Containers = append(p.Containers, pleg.Container{ID: c.ID.ID, State: plegState(c.State)})
		}
	}
	return p
}

func plegState(s kubecontainer.State) pleg.State {
	switch s {
	case kubecontainer.ContainerStateCreated:
		return pleg.StateCreated
	case kubecontainer.ContainerStateRunning:
		return pleg.StateRunning
	case kubecontainer.ContainerStateExited:
		return pleg.StateExited
	}
	return pleg.StateUnknown
}

// KeepIPs is the merge function of a cache of pod statuses. A pod whose sandboxes are
// all down keeps its addresses, because the API continues to show them.
func KeepIPs(old, new *kubecontainer.PodStatus) *kubecontainer.PodStatus {
	if old == nil || new == nil || len(new.IPs) > 0 || len(old.IPs) == 0 {
		return new
	}
	for _, sandbox := range new.SandboxStatuses {
		if sandbox.State == runtimeapi.PodSandboxState_SANDBOX_READY {
			return new
		}
	}
	merged := *new
	merged.IPs = old.IPs
	return &merged
}
