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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// A Node is a kubelet on a containerd, in a PID and mount namespace. [StartNode] starts
// one that runs static pods. That of [Environment.Node] runs the pods of an API server.
//
// A node has the images [Busybox] and [Pause] and pulls no other. Each pod has a network
// namespace with nothing but loopback, and an address that leads nowhere. The kubelet
// evicts no pods. All cgroups are in one of the node's own. No sysctl, mount, route,
// firewall rule or other file of the machine changes.
//
// A Node is safe for concurrent use by multiple goroutines.
type Node struct {
	folder     string // in the guard's
	cgroup     cgroup
	programs   Programs
	options    Options
	identity   identity
	kubeconfig string // empty without an API server
	guard      *guard
	alone      bool // the guard ends with the node
	port       int  // of the kubelet
	namespace  *namespace

	mu                  sync.Mutex
	containerd, kubelet *process
	stopped             bool
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
	n := &Node{programs: programs, options: o, guard: guard, alone: true}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop())
		}
	}()
	if n.identity, err = newIdentity(guard.dir, clock.RealClock{}.Now()); err != nil {
		return nil, err
	}
	if err := n.startRuntime(ctx); err != nil {
		return nil, err
	}
	if err := n.startKubelet(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// startRuntime starts everything that a kubelet needs.
func (n *Node) startRuntime(ctx context.Context) error {
	if err := n.enter(ctx); err != nil {
		return err
	}
	if err := n.startContainerd(ctx); err != nil {
		return err
	}
	return n.importImages(ctx)
}

// enter makes the node's folder, cgroup and namespace.
func (n *Node) enter(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	if n.port, err = strconv.Atoi(ports[0]); err != nil {
		return err
	}
	if n.folder, err = filepath.EvalSymlinks(n.guard.dir); err != nil {
		return err
	}
	name := "/" + filepath.Base(n.folder)
	n.folder = filepath.Join(n.folder, "node")
	p := n.programs
	for _, path := range []string{n.folder, p.Runc, p.Busybox, p.Containerd, p.Shim, p.Ctr, p.Kubelet} {
		if err := visible(path); err != nil {
			return err
		}
	}
	for _, folder := range []string{n.Manifests(), filepath.Join(n.folder, "tmp"), filepath.Join(n.folder, "cni", "bin")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if n.cgroup, err = n.guard.newCgroup(name); err != nil {
		return err
	}
	n.namespace, err = n.guard.newNamespace(ctx, n.cgroup, n.folder)
	return err
}

// replaced are the folders of the machine where a kubelet and containerd have fixed
// paths. A node has folders of its own in their places.
var replaced = []string{"/run", "/var/lib", "/var/log"}

// visible returns an error if a node would not see the path.
func visible(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil { // others are yet to be made
		path = real
	}
	for _, folder := range replaced {
		if strings.HasPrefix(path, folder+"/") {
			return fmt.Errorf("a node replaces %s and so does not see %s; set TMPDIR, XDG_CACHE_HOME or PATH", folder, path)
		}
	}
	return nil
}

func (n *Node) write(name, text string, mode os.FileMode) (path string, err error) {
	path = filepath.Join(n.folder, name)
	return path, os.WriteFile(path, []byte(text), mode)
}

func (n *Node) socket() string { return filepath.Join(n.folder, "containerd.sock") }

func (n *Node) startContainerd(ctx context.Context) error {
	config, err1 := n.write("containerd.toml", n.containerdConfig(), 0o600)
	_, err2 := n.write("cni/none.conflist", cniConfig, 0o644)
	_, err3 := n.write("cni/bin/none", cniPlugin, 0o755)
	err := errors.Join(err1, err2, err3)
	if err != nil {
		return err
	}
	if n.containerd, err = n.namespace.start("containerd", n.programs.Containerd, "--config", config); err != nil {
		return err
	}
	return n.containerd.await(ctx, func() bool { return n.ctr(ctx, "version") == nil })
}

// ctr runs containerd's client.
func (n *Node) ctr(ctx context.Context, args ...string) error {
	return run(ctx, n.folder, nil, n.programs.Ctr, slices.Concat([]string{"--address", n.socket(), "--namespace", "k8s.io"}, args)...)
}

func (n *Node) importImages(ctx context.Context) (err error) {
	busybox, err := os.ReadFile(n.programs.Busybox)
	if err != nil {
		return err
	}
	applets, err := busyboxApplets(ctx, n.programs.Busybox)
	if err != nil {
		return err
	}
	images, err := busyboxImages(busybox, applets, n.options.BusyboxNames, n.options.PauseNames)
	if err != nil {
		return err
	}
	path := filepath.Join(n.folder, "images.tar")
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(archive(file, images), file.Close()); err != nil {
		return err
	}
	return errors.Join(n.ctr(ctx, "images", "import", path), os.Remove(path))
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

// CRISocket returns the endpoint of containerd's CRI, such as
// unix:///tmp/testenv-123/node/containerd.sock.
func (n *Node) CRISocket() string { return "unix://" + n.socket() }

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

// RestartContainerd kills containerd, starts it again, and returns when it answers.
// Containers go on.
func (n *Node) RestartContainerd(ctx context.Context) error {
	return n.restart("RestartContainerd", &n.containerd, func() error { return n.startContainerd(ctx) })
}

func (n *Node) restart(call string, p **process, start func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return fmt.Errorf("testenv: %s: the Node is stopped", call)
	}
	(*p).kill()
	if err := start(); err != nil {
		return fmt.Errorf("testenv: %s: %w", call, err)
	}
	return nil
}

// Stop kills the node with all its containers, and removes its files and cgroups. Those
// of an Environment's node remain until the Environment's Stop, which calls this one.
// Further calls are no-ops.
func (n *Node) Stop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return nil
	}
	n.stopped = true
	if n.namespace != nil {
		n.namespace.first.kill()
	}
	if !n.alone {
		return nil
	}
	if err := n.guard.end(); err != nil {
		return fmt.Errorf("testenv: Stop: %w", err)
	}
	return nil
}
