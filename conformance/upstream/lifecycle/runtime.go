package lifecycle

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/restartkit/restart/pleg"
)

// runtime adapts a kubecontainer.Runtime to pleg.Runtime. GetPodStatus takes a listed pod,
// so the first look at a pod after a full list uses that list, as the kubelet does.
type runtime struct {
	kubelet kubecontainer.Runtime

	mu      sync.Mutex
	listed  map[types.UID]*kubecontainer.Pod
	fresh   map[types.UID]bool   // the last full list shows the pod, or does not any more, and no look has used that
	answers map[types.UID]answer // last look at each listed pod
	echo    types.UID            // if set, list an echo and do not ask the runtime; see Relist
}

type answer struct {
	status *kubecontainer.PodStatus
	err    error
}

func newRuntime(kubelet kubecontainer.Runtime) *runtime {
	return &runtime{kubelet: kubelet, listed: map[types.UID]*kubecontainer.Pod{}, fresh: map[types.UID]bool{}, answers: map[types.UID]answer{}}
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
	clear(r.fresh)
	for id := range r.listed {
		r.fresh[id] = true
	}
	clear(r.listed)
	pods := make([]pleg.Pod[types.UID], 0, len(list))
	for _, pod := range list {
		r.listed[pod.ID], r.fresh[pod.ID] = pod, true
		pods = append(pods, plegPod(pod))
	}
	for id := range r.answers {
		if r.listed[id] == nil {
			delete(r.answers, id)
		}
	}
	return pods, nil
}

func (r *runtime) Pod(ctx context.Context, id types.UID) (pleg.Pod[types.UID], *kubecontainer.PodStatus, error) {
	none := pleg.Pod[types.UID]{}
	r.mu.Lock()
	pod, echo, last, fresh := r.listed[id], r.echo, r.answers[id], r.fresh[id]
	delete(r.fresh, id)
	r.mu.Unlock()
	switch {
	case isEcho(id) && id == echo:
		return echoPod(id), EmptyStatus(id), nil
	case isEcho(id):
		return none, nil, pleg.ErrNotFound
	case echo != "" && pod != nil:
		return plegPod(pod), last.status, last.err
	case echo != "":
		return none, nil, pleg.ErrNotFound
	case !fresh:
		var err error
		if pod, err = r.kubelet.GetPod(ctx, id); err != nil {
			return none, nil, err
		}
	}
	if pod == nil {
		return none, nil, pleg.ErrNotFound
	}
	status, err := r.kubelet.GetPodStatus(ctx, pod)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed[id] = pod
	r.answers[id] = answer{status, err}
	return plegPod(pod), status, err
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
