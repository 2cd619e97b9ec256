// Package testenv runs a Kubernetes API server for tests and experiments. It starts
// etcd and kube-apiserver on loopback, without a scheduler, controllers or nodes. A
// [Kubelet] runs pods by a script. The package requires Unix.
//
// The first start builds kube-apiserver, which takes minutes; see [Build].
//
// [ForTest] returns an Environment shared by all tests of the process:
//
//	env := testenv.ForTest(t)
//	client := kubernetes.NewForConfigOrDie(env.Config())
//	namespace := env.Namespace(t)
//
// When the process that called [Start] ends, even if it is killed, a guard process
// kills etcd and kube-apiserver and removes their folder.
package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Options configure an Environment. The zero value is ready to use.
type Options struct {
	Version      string          // of Kubernetes, "1.37" or "1.36"; "" means "1.37"
	Flags        []string        // extra flags of kube-apiserver; later ones override earlier ones
	FeatureGates map[string]bool // of all programs of Kubernetes
	Log          io.Writer       // receives a line for each slow step; may be nil

	// Node starts a scheduler, a controller manager and a Node. It needs root on Linux.
	// The fields below configure them.
	Node         bool
	Controllers  []string       // of kube-controller-manager, such as "*", "-job-controller"; nil means its default
	Kubelet      map[string]any // fields of the KubeletConfiguration, such as "syncFrequency": "1s"
	BusyboxNames []string       // more names of the image Busybox
	PauseNames   []string       // more names of the image Pause
}

// Environment is a running API server. Create one with [Start].
//
// Its only user is in the group system:masters. RBAC is on. With Options.Node, it is a
// whole cluster of one node.
//
// Without, the admission plugin ServiceAccount is off, so pods keep the service account
// they name and get no token. Without controllers, deleted namespaces stay terminating,
// dependents of deleted owners remain, and tests must write the counts of quotas.
//
// An Environment is safe for concurrent use by multiple goroutines.
type Environment struct {
	dir      string
	programs Programs
	options  Options
	identity identity
	guard    *guard

	etcdURL, serverURL string
	node               *Node // nil without Options.Node

	mu           sync.Mutex
	etcd, server *process
	stopped      bool
}

// Start calls Build, starts etcd and kube-apiserver, and returns when the server and the
// node, if wanted, are ready. The caller must call Stop. If five tries fail or ctx ends
// first, Start leaves nothing running, and its error quotes the end of the program's log.
func Start(ctx context.Context, o Options) (*Environment, error) {
	programs, err := Build(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("testenv: Start: %w", err)
	}
	e, err := again(ctx, func() (*Environment, error) { return start(ctx, programs, o) })
	if err != nil {
		return nil, fmt.Errorf("testenv: Start: %w", err)
	}
	return e, nil
}

// again starts something again if a program ends. A free port may be taken before the
// program binds it, and kube-apiserver ends if its first writes take 30 s.
func again[T any](ctx context.Context, start func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		started, err := start()
		if err == nil || attempt == 5 || ctx.Err() != nil || !errors.Is(err, errEnded) {
			return started, err
		}
	}
}

func start(ctx context.Context, programs Programs, o Options) (_ *Environment, err error) {
	guard, err := newGuard()
	if err != nil {
		return nil, err
	}
	e := &Environment{dir: guard.dir, programs: programs, options: o, guard: guard}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Stop())
		}
	}()
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	e.etcdURL = "http://127.0.0.1:" + ports[0]
	e.serverURL = "https://127.0.0.1:" + ports[2]
	if e.identity, err = newIdentity(e.dir, clock.RealClock{}.Now()); err != nil {
		return nil, err
	}
	if err := e.identity.writeKubeconfig(e.Kubeconfig(), e.serverURL); err != nil {
		return nil, err
	}
	runtime := func() error { return nil }
	if o.Node {
		e.node = &Node{
			Containerd: Containerd{programs: programs, options: o, guard: guard},
			identity:   e.identity,
			kubeconfig: e.Kubeconfig(),
		}
		runtime = inBackground(func() error { return e.node.prepare(ctx) })
	}
	e.etcd, err = e.startEtcd(ctx, ports[1])
	if err == nil {
		e.server, err = e.startServer(ctx, ports[2])
	}
	if err := errors.Join(err, runtime()); err != nil {
		return nil, err
	}
	if o.Node {
		err = e.startCluster(ctx)
	}
	return e, err
}

// inBackground calls f and returns a function that waits for its result.
func inBackground(f func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() error { return <-done }
}

// Config returns a new client configuration, without a rate limit.
func (e *Environment) Config() *rest.Config {
	return &rest.Config{
		Host:            e.serverURL,
		BearerToken:     e.identity.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: e.identity.certificate},
		QPS:             -1,
	}
}

// Kubeconfig returns the path of a kubeconfig file, which Stop removes.
func (e *Environment) Kubeconfig() string {
	return filepath.Join(e.dir, "kubeconfig")
}

// Node returns the node, or nil without Options.Node.
func (e *Environment) Node() *Node { return e.node }

// RestartEtcd kills etcd, restarts it with the same data, and returns when the server
// is ready. Calls may fail until shortly after.
func (e *Environment) RestartEtcd(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return errors.New("testenv: RestartEtcd: the Environment is stopped")
	}
	peer := e.etcd.note
	e.etcd.kill()
	etcd, err := e.startEtcd(ctx, peer)
	if err != nil {
		return fmt.Errorf("testenv: RestartEtcd: %w", err)
	}
	e.etcd = etcd
	if err := e.awaitHealthy(ctx, e.server, e.serverURL+"/readyz"); err != nil {
		return fmt.Errorf("testenv: RestartEtcd: %w", err)
	}
	return nil
}

// Stop kills all programs and removes their files. Further calls are no-ops.
func (e *Environment) Stop() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return nil
	}
	e.stopped = true
	if e.node != nil {
		e.node.Stop() // which cannot fail, as the guard is not its own
	}
	if err := e.guard.end(); err != nil {
		return fmt.Errorf("testenv: Stop: %w", err)
	}
	return nil
}

// startEtcd starts etcd. peerPort is for peers, which etcd requires.
func (e *Environment) startEtcd(ctx context.Context, peerPort string) (*process, error) {
	peer := "http://127.0.0.1:" + peerPort
	p, err := e.guard.start("etcd", e.programs.Etcd,
		"--name=testenv",
		"--data-dir="+filepath.Join(e.dir, "etcd"),
		"--listen-client-urls="+e.etcdURL,
		"--advertise-client-urls="+e.etcdURL,
		"--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer,
		"--initial-cluster=testenv="+peer,
		"--quota-backend-bytes=4294967296",
		"--logger=zap", "--log-level=warn",
	)
	if err != nil {
		return nil, err
	}
	p.note = peerPort
	if err := p.await(ctx, func() bool { return healthy(ctx, nil, e.etcdURL+"/health", "") }); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

func (e *Environment) startServer(ctx context.Context, port string) (*process, error) {
	args := []string{
		"--etcd-servers=" + e.etcdURL,
		"--bind-address=127.0.0.1",
		"--secure-port=" + port,
		"--endpoint-reconciler-type=none", // which rejects loopback addresses
		"--service-cluster-ip-range=10.0.0.0/24",
		"--tls-cert-file=" + e.identity.certificateFile,
		"--tls-private-key-file=" + e.identity.keyFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + e.identity.keyFile,
		"--service-account-signing-key-file=" + e.identity.keyFile,
		"--token-auth-file=" + e.identity.tokenFile,
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--profiling=false",
	}
	if e.node == nil {
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	} else {
		args = append(args,
			"--kubelet-preferred-address-types=Hostname",
			"--kubelet-certificate-authority="+e.identity.certificateFile,
			"--kubelet-client-certificate="+e.identity.certificateFile,
			"--kubelet-client-key="+e.identity.keyFile)
	}
	p, err := e.guard.start("kube-apiserver", e.programs.Server, slices.Concat(args, e.options.gates(), e.options.Flags)...)
	if err != nil {
		return nil, err
	}
	if err := e.awaitHealthy(ctx, p, e.serverURL+"/readyz"); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// gates returns the flag with the feature gates, if any.
func (o Options) gates() []string {
	var gates []string
	for name, on := range o.FeatureGates {
		gates = append(gates, fmt.Sprintf("%s=%t", name, on))
	}
	if len(gates) == 0 {
		return nil
	}
	slices.Sort(gates)
	return []string{"--feature-gates=" + strings.Join(gates, ",")}
}

// awaitHealthy waits for a program with the Environment's certificate.
func (e *Environment) awaitHealthy(ctx context.Context, p *process, url string) error {
	client, err := rest.HTTPClientFor(e.Config())
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	client.Timeout = 5 * time.Second
	return p.await(ctx, func() bool { return healthy(ctx, client, url, "ok") })
}

// freePorts returns currently unused ports.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
