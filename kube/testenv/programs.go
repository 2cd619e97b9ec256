package testenv

import (
	"context"
	"fmt"
	"io"
)

// Programs are the paths of executables. The fields after Server belong to a node and
// are empty without Options.Node.
type Programs struct {
	Etcd, Server                   string
	ControllerManager, Scheduler   string
	Kubelet, Containerd, Shim, Ctr string
	Runc, Busybox                  string
}

// Build returns the programs that Start runs with the same options. If missing, it
// builds those of Kubernetes and containerd with the go command, from the module proxy.
// It takes etcd, runc and a static busybox from PATH or unpacks them from Debian's
// packages, with apt-get and dpkg-deb. The programs stay in the user's cache folder or,
// without one, in a private temporary folder. Concurrent builds wait for each other.
// o.Log receives a line before and after each build. With o.Node, Build first checks
// that this machine can run a node.
func Build(ctx context.Context, o Options) (Programs, error) {
	k, err := kubernetesSource(o.Version)
	if err != nil {
		return Programs{}, err
	}
	if o.Node {
		if err := CheckNode(); err != nil {
			return Programs{}, err
		}
	}
	var p Programs
	wanted := []wish{
		{&p.Etcd, debian("etcd", "etcd-server", "usr/bin/etcd", anyProgram)},
		{&p.Server, k.program("kube-apiserver", "2 min")},
	}
	if o.Node {
		wanted = append(wanted,
			wish{&p.ControllerManager, k.program("kube-controller-manager", "1 min")},
			wish{&p.Scheduler, k.program("kube-scheduler", "15 s")})
		wanted = append(wanted, p.node(k)...)
	}
	return p, makeAll(ctx, o.Log, wanted)
}

// BuildNode is Build for StartNode.
func BuildNode(ctx context.Context, o Options) (Programs, error) {
	k, err := kubernetesSource(o.Version)
	if err != nil {
		return Programs{}, err
	}
	if err := CheckNode(); err != nil {
		return Programs{}, err
	}
	var p Programs
	err = makeAll(ctx, o.Log, p.node(k))
	return p, err
}

// BuildKubectl is Build for kubectl. It returns its path.
func BuildKubectl(ctx context.Context, o Options) (path string, err error) {
	k, err := kubernetesSource(o.Version)
	if err != nil {
		return "", err
	}
	err = makeAll(ctx, o.Log, []wish{{&path, k.program("kubectl", "30 s")}})
	return path, err
}

// node lists the programs of a node but for the programs that need an API server.
func (p *Programs) node(k source) []wish {
	return append(p.runtime(), wish{&p.Kubelet, k.program("kubelet", "2 min")})
}

// runtime lists the programs of a Containerd.
func (p *Programs) runtime() []wish {
	c := containerdSource()
	return []wish{
		{&p.Runc, debian("runc", "runc", "usr/sbin/runc", anyProgram)},
		{&p.Busybox, debian("busybox", "busybox-static", "bin/busybox", static)},
		{&p.Containerd, c.program("containerd", "1 min")},
		{&p.Shim, c.program("containerd-shim-runc-v2", "5 s")},
		{&p.Ctr, c.program("ctr", "5 s")},
	}
}

// A wish is where the path of a program goes, and how the program is made.
type wish struct {
	path   *string
	recipe recipe
}

func makeAll(ctx context.Context, log io.Writer, wanted []wish) error {
	if log == nil {
		log = io.Discard
	}
	for _, w := range wanted {
		var err error
		if *w.path, err = w.recipe.path(ctx, log); err != nil {
			return fmt.Errorf("cannot make %s: %w", w.recipe.name, err)
		}
	}
	return nil
}
