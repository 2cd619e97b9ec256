package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/restartkit/restart/kube/testenv"
)

// runOnNode runs the specs of a suite on a new one-node cluster, where either Kubernetes'
// Job controller runs Jobs or restart-job-controller does.
func (t *tree) runOnNode(ctx context.Context, s suite, o options) (_ results, err error) {
	specs, err := t.buildSpecs(ctx, s)
	if err != nil {
		return nil, err
	}
	names, err := specs.list(ctx, o.only)
	if err != nil || len(names) == 0 {
		return results{}, err
	}
	images, err := specs.images(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(t.dir, s.name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	kubeconfig, stop, err := startCluster(ctx, o, images)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if !o.baseline {
		c, err := t.takeOver(ctx, s, kubeconfig)
		if err != nil {
			return nil, err
		}
		defer c.stop()
		ctx = c.running
	}
	start := time.Now()
	done, failed, err := specs.test(ctx, log, kubeconfig, names)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.stderr, "%s: %d specs took %v on the node\n", s.name, len(names), time.Since(start).Round(time.Second))
	all := results{}
	all.readSpecs(done, names, failed)
	return all, nil
}

// startCluster starts a cluster of one node that has images. Unless it is the baseline, it
// has no Job controller.
func startCluster(ctx context.Context, o options, images []string) (kubeconfig string, stop func() error, err error) {
	want := testenv.Options{Node: true, BusyboxNames: imagesOf(images, "busybox"), PauseNames: imagesOf(images, "pause"), Log: o.stderr}
	if !o.baseline {
		want.Controllers = []string{"*", "-job-controller"}
	}
	env, err := testenv.Start(ctx, want)
	if err != nil {
		return "", nil, err
	}
	return env.Kubeconfig(), env.Stop, nil
}

// A controller is a running restart-job-controller.
type controller struct {
	running context.Context // ends with the program; the cause quotes the end of its log
	stop    func()          // kills the program and waits for its end
}

// takeOver compiles restart-job-controller and starts it in place of Kubernetes' Job
// controller. Its log is beside that of the suite.
func (t *tree) takeOver(ctx context.Context, s suite, kubeconfig string) (*controller, error) {
	const name = "restart-job-controller"
	path := filepath.Join(t.dir, name)
	if err := compile(ctx, "build", "-C", "../../kube", "-trimpath", "-o", path, "./cmd/"+name); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(t.dir, s.name+"-controller.log"))
	if err != nil {
		return nil, err
	}
	c, err := startController(ctx, log, path, "-kubeconfig="+kubeconfig, "-take-over", "-listen=", "-metrics-listen=")
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return c, nil
}

// startController starts a controller that writes to log, and closes log when it ends.
func startController(ctx context.Context, log io.WriteCloser, path string, args ...string) (*controller, error) {
	killed, kill := context.WithCancel(ctx)
	cmd := exec.CommandContext(killed, path, args...)
	output := &tail{limit: 4096}
	cmd.Stdout = io.MultiWriter(log, output)
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		kill()
		return nil, err
	}
	running, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		err := cmd.Wait()
		end(fmt.Errorf("%s has ended: %w\n%s", filepath.Base(path), err, output.text))
		log.Close()
		close(ended)
	}()
	return &controller{running, func() { kill(); <-ended }}, nil
}
