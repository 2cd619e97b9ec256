package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A Containerd is a containerd in a PID and mount namespace, without a kubelet.
// [StartContainerd] starts one, whose pods its user makes over CRI. A [Node] adds a kubelet.
//
// It has the images [Busybox] and [Pause] and pulls no other. Each pod has a network
// namespace with nothing but loopback, and an address that leads nowhere. All cgroups are
// in one of its own, if the pods have [Containerd.CgroupParent]. No sysctl, mount, route,
// firewall rule or other file of the machine changes.
//
// A Containerd is safe for concurrent use by multiple goroutines.
type Containerd struct {
	folder    string // in the guard's
	cgroup    cgroup
	programs  Programs
	options   Options
	guard     *guard
	alone     bool // the guard ends with it
	namespace *namespace

	mu         sync.Mutex
	containerd *process
	stopped    bool
}

// StartContainerd starts a containerd without a kubelet and returns when it answers and has
// its images. It uses Log, BusyboxNames and PauseNames of o. The first start builds the
// programs, see [Build]. The caller must call Stop. On an error, nothing is left running.
func StartContainerd(ctx context.Context, o Options) (*Containerd, error) {
	if err := CheckNode(); err != nil {
		return nil, fmt.Errorf("testenv: StartContainerd: %w", err)
	}
	var p Programs
	if err := makeAll(ctx, o.Log, p.runtime()); err != nil {
		return nil, fmt.Errorf("testenv: StartContainerd: %w", err)
	}
	c, err := again(ctx, func() (*Containerd, error) { return startContainerd(ctx, p, o) })
	if err != nil {
		return nil, fmt.Errorf("testenv: StartContainerd: %w", err)
	}
	return c, nil
}

func startContainerd(ctx context.Context, programs Programs, o Options) (*Containerd, error) {
	guard, err := newGuard()
	if err != nil {
		return nil, err
	}
	c := &Containerd{programs: programs, options: o, guard: guard, alone: true}
	if err := c.startRuntime(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// startRuntime starts containerd in its namespaces, and imports its images.
func (c *Containerd) startRuntime(ctx context.Context) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	if err := c.startContainerd(ctx); err != nil {
		return err
	}
	return c.importImages(ctx)
}

// enter makes the folder, cgroup and namespace.
func (c *Containerd) enter(ctx context.Context) (err error) {
	if c.folder, err = filepath.EvalSymlinks(c.guard.dir); err != nil {
		return err
	}
	name := "/" + filepath.Base(c.folder)
	c.folder = filepath.Join(c.folder, "node")
	p := c.programs
	for _, path := range []string{c.folder, p.Runc, p.Busybox, p.Containerd, p.Shim, p.Ctr} {
		if err := visible(path); err != nil {
			return err
		}
	}
	for _, folder := range []string{filepath.Join(c.folder, "tmp"), filepath.Join(c.folder, "cni", "bin")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if c.cgroup, err = c.guard.newCgroup(name); err != nil {
		return err
	}
	c.namespace, err = c.guard.newNamespace(ctx, c.cgroup, c.folder)
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

func (c *Containerd) write(name, text string, mode os.FileMode) (path string, err error) {
	path = filepath.Join(c.folder, name)
	return path, os.WriteFile(path, []byte(text), mode)
}

func (c *Containerd) socket() string { return filepath.Join(c.folder, "containerd.sock") }

func (c *Containerd) startContainerd(ctx context.Context) error {
	config, err1 := c.write("containerd.toml", c.containerdConfig(), 0o600)
	_, err2 := c.write("cni/none.conflist", cniConfig, 0o644)
	_, err3 := c.write("cni/bin/none", cniPlugin, 0o755)
	err := errors.Join(err1, err2, err3)
	if err != nil {
		return err
	}
	if c.containerd, err = c.namespace.start("containerd", c.programs.Containerd, "--config", config); err != nil {
		return err
	}
	return c.containerd.await(ctx, func() bool { return c.ctr(ctx, "version") == nil })
}

// ctr runs containerd's client.
func (c *Containerd) ctr(ctx context.Context, args ...string) error {
	return run(ctx, c.folder, nil, c.programs.Ctr, slices.Concat([]string{"--address", c.socket(), "--namespace", "k8s.io"}, args)...)
}

func (c *Containerd) importImages(ctx context.Context) (err error) {
	busybox, err := os.ReadFile(c.programs.Busybox)
	if err != nil {
		return err
	}
	applets, err := busyboxApplets(ctx, c.programs.Busybox)
	if err != nil {
		return err
	}
	images, err := busyboxImages(busybox, applets, c.options.BusyboxNames, c.options.PauseNames)
	if err != nil {
		return err
	}
	path := filepath.Join(c.folder, "images.tar")
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(archive(file, images), file.Close()); err != nil {
		return err
	}
	return errors.Join(c.ctr(ctx, "images", "import", path), os.Remove(path))
}

// CRISocket returns the endpoint of containerd's CRI, such as
// unix:///tmp/testenv-123/node/containerd.sock.
func (c *Containerd) CRISocket() string { return "unix://" + c.socket() }

// CgroupParent returns the cgroup_parent that pods over CRI must have, so that Stop finds
// and removes their cgroups.
func (c *Containerd) CgroupParent() string { return path.Join(c.cgroup.root(), "pods") }

// RestartContainerd kills containerd, starts it again, and returns when it answers.
// Containers go on.
func (c *Containerd) RestartContainerd(ctx context.Context) error {
	return c.restart("RestartContainerd", &c.containerd, func() error { return c.startContainerd(ctx) })
}

func (c *Containerd) restart(call string, p **process, start func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return fmt.Errorf("testenv: %s: the node is stopped", call)
	}
	(*p).kill()
	if err := start(); err != nil {
		return fmt.Errorf("testenv: %s: %w", call, err)
	}
	return nil
}

// Stop kills everything in the namespace, containers included, and removes its files and cgroups. Those
// of an Environment's node remain until the Environment's Stop, which calls this one.
// Further calls are no-ops.
func (c *Containerd) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	if c.namespace != nil {
		c.namespace.first.kill()
	}
	if !c.alone {
		return nil
	}
	if err := c.guard.end(); err != nil {
		return fmt.Errorf("testenv: Stop: %w", err)
	}
	return nil
}
