//go:build long

package kubelet

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/kube/convert"
	"github.com/restartkit/restart/kube/testenv"
)

// watched is a node whose containers are watched. Each pod has one container.
type watched struct {
	*testenv.Node
	runtime   cri.RuntimeServiceClient
	read      map[string]bool // ids of ended containers
	runs      map[string]map[uint32]Run
	announced map[announcement]bool
	lateness  time.Duration // largest, of a timer
}

// announcement is a delay that the kubelet named for a container that waits after a run.
type announcement struct {
	pod      string
	restarts int32
	delay    time.Duration
}

func startNode(t *testing.T, o testenv.Options) *watched {
	t.Helper()
	node := testenv.StartNodeForTest(t, o)
	connection, err := grpc.NewClient(node.CRISocket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return &watched{
		Node:      node,
		runtime:   cri.NewRuntimeServiceClient(connection),
		read:      make(map[string]bool),
		runs:      make(map[string]map[uint32]Run),
		announced: make(map[announcement]bool),
	}
}

// run adds a static pod of one container.
func (w *watched) run(t *testing.T, name string, c corev1.Container) {
	t.Helper()
	c.Name, c.Image, c.ImagePullPolicy = "c", testenv.Busybox, corev1.PullNever
	text, err := json.Marshal(corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{c}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(w.Manifests()), name+".json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, filepath.Join(w.Manifests(), name+".json")); err != nil {
		t.Fatal(err)
	}
}

// look records the runs that have ended and the delays that the kubelet names. The
// kubelet keeps the record of a run until the next run has ended, so one look in each
// delay suffices.
func (w *watched) look(ctx context.Context) error {
	list, err := w.runtime.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{
		State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_EXITED},
	}})
	if err != nil {
		return err
	}
	for _, c := range list.Containers {
		if w.read[c.Id] {
			continue
		}
		answer, err := w.runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: c.Id})
		if err != nil {
			continue // removed meanwhile
		}
		w.read[c.Id] = true
		pod := c.Labels["io.kubernetes.pod.name"]
		if w.runs[pod] == nil {
			w.runs[pod] = make(map[uint32]Run)
		}
		started := answer.Status.StartedAt
		if started == 0 {
			started = answer.Status.CreatedAt // it could not be started
		}
		w.runs[pod][c.Metadata.Attempt] = Run{time.Unix(0, started), time.Unix(0, answer.Status.FinishedAt)}
	}
	pods, err := w.Pods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Waiting == nil {
				continue
			}
			if delay, ok := convert.CrashLoopDelay(c.State.Waiting.Message); ok {
				w.announced[announcement{pod.Name, c.RestartCount, delay}] = true
			}
		}
	}
	return nil
}

// restarts returns the number of restarts of all containers according to the kubelet.
func (w *watched) restarts(ctx context.Context) (n int, err error) {
	pods, err := w.Pods(ctx)
	if err != nil {
		return 0, err
	}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			n += int(c.RestartCount)
		}
	}
	return n, nil
}

// histories returns the runs of each container up to the first that was missed.
func (w *watched) histories() []History {
	var all []History
	for _, runs := range w.runs {
		var h History
		for run, ok := runs[0]; ok; run, ok = runs[uint32(len(h))] {
			h = append(h, run)
		}
		all = append(all, h)
	}
	return all
}

// watch looks at the node until each of a number of containers has restarted so often.
// On a busy machine, some looks may fail.
func (w *watched) watch(t *testing.T, containers, restarts int) {
	t.Helper()
	const period, tries = 400 * time.Millisecond, 20
	for failures := 0; !w.restarted(containers, restarts); {
		if err := w.look(t.Context()); err == nil {
			failures = 0
		} else if failures++; failures == tries {
			t.Fatal(err)
		}
		begin := time.Now()
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(period):
		}
		w.lateness = max(w.lateness, time.Since(begin)-period)
	}
}

func (w *watched) restarted(containers, restarts int) bool {
	for _, runs := range w.runs {
		if _, ok := runs[uint32(restarts)]; ok {
			containers--
		}
	}
	return containers <= 0
}
