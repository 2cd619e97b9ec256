package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/experimental/sooner/internal/decide"
)

// Labels and annotations that the kubelet gives to containers and sandboxes.
const (
	labelPodName      = "io.kubernetes.pod.name"
	labelPodNamespace = "io.kubernetes.pod.namespace"
	labelPodUID       = "io.kubernetes.pod.uid"
	labelContainer    = "io.kubernetes.container.name"
	annotationCount   = "io.kubernetes.container.restartCount"
)

const (
	largestMessage = 16 << 20 // the kubelet's limit
	listTimeout    = 5 * time.Second
	changeTimeout  = 10 * time.Second // containerd removes a layer meanwhile
)

// node is the container runtime. Every call has a deadline.
type node struct {
	conn   *grpc.ClientConn
	client cri.RuntimeServiceClient
}

// socket returns the path in an endpoint.
func socket(endpoint string) (string, error) {
	path := strings.TrimPrefix(endpoint, "unix://")
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("--runtime-endpoint %q: must be unix:// and an absolute path", endpoint)
	}
	return path, nil
}

// dial returns the runtime at a socket, without calling it. The connection is renewed
// when the runtime restarts.
func dial(endpoint string) (*node, error) {
	path, err := socket(endpoint)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("unix://"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}))
	if err != nil {
		return nil, err
	}
	return &node{conn, cri.NewRuntimeServiceClient(conn)}, nil
}

func (n *node) close() { n.conn.Close() }

// version returns the runtime's name and version.
func (n *node) version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	v, err := n.client.Version(ctx, &cri.VersionRequest{})
	if err != nil {
		return "", err
	}
	return v.RuntimeName + " " + v.RuntimeVersion, nil
}

// exited returns the exited containers.
func (n *node) exited(ctx context.Context) ([]*cri.Container, error) {
	return n.containers(ctx, &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_EXITED}})
}

func (n *node) containers(ctx context.Context, f *cri.ContainerFilter) ([]*cri.Container, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := n.client.ListContainers(ctx, &cri.ListContainersRequest{Filter: f})
	return list.GetContainers(), err
}

func (n *node) sandboxes(ctx context.Context, labels map[string]string) ([]*cri.PodSandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := n.client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{LabelSelector: labels}})
	return list.GetItems(), err
}

// status returns the status of a container, or nil if the container is gone.
func (n *node) status(ctx context.Context, id string) (*cri.ContainerStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	s, err := n.client.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
	if status.Code(err) == codes.NotFound {
		return nil, nil
	}
	return s.GetStatus(), err
}

// silent reports whether an error says that the runtime does not answer.
func silent(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	return false
}

// remove removes a container's record. It is a no-op if the record is gone.
func (n *node) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err := n.client.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: id})
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// poke creates a record and never starts it, which the kubelet sees as a change of
// the pod.
func (n *node) poke(ctx context.Context, sandbox string, image *cri.ImageSpec, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	box, err := n.client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: sandbox})
	if err != nil {
		return err
	}
	labels := map[string]string{labelContainer: decide.PokeName}
	for _, name := range []string{labelPodName, labelPodNamespace, labelPodUID} {
		labels[name] = box.Status.GetLabels()[name]
	}
	_, err = n.client.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId: sandbox,
		Config: &cri.ContainerConfig{
			Metadata:    &cri.ContainerMetadata{Name: decide.PokeName, Attempt: uint32(now.UnixMilli())}, // which must differ from that of an earlier one
			Image:       image,
			Command:     []string{"/sooner-poke"}, // which need not exist
			Labels:      labels,
			Annotations: map[string]string{annotationCount: "0"},
			Linux:       &cri.LinuxContainerConfig{},
		},
		SandboxConfig: &cri.PodSandboxConfig{
			Metadata: box.Status.GetMetadata(), Labels: box.Status.GetLabels(), Linux: &cri.LinuxPodSandboxConfig{},
		},
	})
	return err
}
