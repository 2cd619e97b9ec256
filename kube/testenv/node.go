package testenv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// A Node is a [Containerd] with a kubelet in the same namespaces. [StartNode] starts one
// that runs static pods. That of [Environment.Node] runs the pods of an API server. The
// kubelet evicts no pods.
//
// A Node is safe for concurrent use by multiple goroutines.
type Node struct {
	Containerd
	identity   identity
	kubeconfig string   // empty without an API server
	port       int      // of the kubelet
	kubelet    *process // guarded by Containerd.mu
}

// StartNode starts a kubelet and containerd without an API server, for static pods, and
// returns when the kubelet is healthy. It uses Version, FeatureGates, Log, Kubelet,
// BusyboxNames and PauseNames of o. The first start builds the programs, see [Build].
// The caller must call Stop. On an error, nothing is left running.
func StartNode(ctx context.Context, o Options) (*Node, error) {
	programs, err := BuildNode(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("testenv: StartNode: %w", err)
	}
	n, err := again(ctx, func() (*Node, error) { return startNode(ctx, programs, o) })
	if err != nil {
		return nil, fmt.Errorf("testenv: StartNode: %w", err)
	}
	return n, nil
}

func startNode(ctx context.Context, programs Programs, o Options) (_ *Node, err error) {
	guard, err := newGuard()
	if err != nil {
		return nil, err
	}
	n := &Node{Containerd: Containerd{programs: programs, options: o, guard: guard, alone: true}}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop())
		}
	}()
	if n.identity, err = newIdentity(guard.dir, clock.RealClock{}.Now()); err != nil {
		return nil, err
	}
	if err := n.prepare(ctx); err != nil {
		return nil, err
	}
	if err := n.startKubelet(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// prepare starts everything that the kubelet needs.
func (n *Node) prepare(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	if n.port, err = strconv.Atoi(ports[0]); err != nil {
		return err
	}
	if err := visible(n.programs.Kubelet); err != nil {
		return err
	}
	if err := n.startRuntime(ctx); err != nil {
		return err
	}
	return os.MkdirAll(n.Manifests(), 0o755)
}

func (n *Node) startKubelet(ctx context.Context) error {
	text, err := n.kubeletConfig()
	if err != nil {
		return fmt.Errorf("configuration of the kubelet: %w", err)
	}
	config, err := n.write("kubelet.json", string(text), 0o600)
	if err != nil {
		return err
	}
	args := []string{"--config=" + config, "--hostname-override=" + n.Name(), "--v=2"}
	if n.kubeconfig != "" {
		args = append(args, "--kubeconfig="+n.kubeconfig)
	}
	if n.kubelet, err = n.namespace.start("kubelet", n.programs.Kubelet, args...); err != nil {
		return err
	}
	client, err := n.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return n.kubelet.await(ctx, func() bool { return healthy(ctx, client, n.url("/healthz"), "ok") })
}

func (n *Node) url(path string) string { return fmt.Sprintf("https://127.0.0.1:%d%s", n.port, path) }

// client returns one that the kubelet trusts. Its certificate is that of the kubelet
// and of its authority at once.
func (n *Node) client() (*http.Client, error) {
	pair, err := tls.LoadX509KeyPair(n.identity.certificateFile, n.identity.keyFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(n.identity.certificate)
	return &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}},
		Timeout:   5 * time.Second,
	}, nil
}

// Name returns the name of the Node object, an address under which the API server
// reaches the kubelet. Names of static pods end in a hyphen and this name.
func (n *Node) Name() string { return "127.0.0.1" }

// Manifests returns the path of the folder of static pods. Rename complete files into
// it, because the kubelet may read a file while it is written.
func (n *Node) Manifests() string { return filepath.Join(n.folder, "manifests") }

// Pods returns the pods that the kubelet knows, with their statuses.
func (n *Node) Pods(ctx context.Context) (*corev1.PodList, error) {
	pods, err := n.pods(ctx)
	if err != nil {
		return nil, fmt.Errorf("testenv: Pods: %w", err)
	}
	return pods, nil
}

func (n *Node) pods(ctx context.Context) (*corev1.PodList, error) {
	client, err := n.client()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url("/pods"), nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	var pods corev1.PodList
	return &pods, json.NewDecoder(response.Body).Decode(&pods)
}

// RestartKubelet kills the kubelet, starts it again, and returns when it is healthy.
// Containers go on.
func (n *Node) RestartKubelet(ctx context.Context) error {
	return n.restart("RestartKubelet", &n.kubelet, func() error { return n.startKubelet(ctx) })
}
