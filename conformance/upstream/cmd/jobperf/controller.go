package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/conformance/upstream/compare"
	"github.com/restartkit/restart/kube/testenv"
)

// A controller is a controller in a process of its own.
type controller struct {
	cmd      *exec.Cmd
	input    io.Closer
	running  context.Context // done when the process ends
	requests int64           // with peak, set when it has ended
	peak     int64           // its largest resident set, in bytes
}

// startController starts a controller and waits until it is ready.
func startController(ctx context.Context, env *testenv.Environment, side compare.Side, qps float32, profile string) (*controller, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &controller{cmd: exec.CommandContext(ctx, self, "-side", string(side), "-qps", fmt.Sprint(qps), "-profile", profile)}
	c.cmd.Env = append(os.Environ(), "KUBECONFIG="+env.Kubeconfig())
	c.cmd.Stderr = os.Stderr
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	running, ended := context.WithCancelCause(ctx)
	c.running = running
	ready := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(output)
		for i := 0; lines.Scan(); i++ {
			if i == 0 {
				close(ready)
			} else {
				fmt.Sscan(lines.Text(), &c.requests, &c.peak)
			}
		}
		ended(fmt.Errorf("the controller %s has ended", side))
	}()
	select {
	case <-ready:
		return c, nil
	case <-running.Done():
		return nil, errors.Join(context.Cause(running), c.cmd.Wait())
	}
}

// stop ends the process.
func (c *controller) stop() error {
	c.input.Close()
	<-c.running.Done()
	return c.cmd.Wait()
}

// cpu returns the CPU time of the ended process.
func (c *controller) cpu() time.Duration {
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

// peak returns the largest resident set of this process, in bytes. The one that Linux tells
// its parent begins with the parent's own.
func peak() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "\nVmHWM:")
	var kilobytes int64
	_, err = fmt.Sscan(after, &kilobytes)
	return kilobytes << 10, err
}

// serve runs a controller until its input ends, and prints the number of its requests and its
// largest resident set.
func serve(ctx context.Context, side compare.Side, qps float32, profile string, stdout io.Writer) error {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	if config.QPS, config.Burst = qps, int(qps); qps == 0 {
		config.QPS = -1
	}
	if profile != "" {
		file, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	var requests atomic.Int64
	err = side.Run(ctx, compare.Options{Config: config, BaseDelay: time.Second, Requests: &requests}, func() { fmt.Fprintln(stdout, "ready") })
	most, problem := peak()
	fmt.Fprintln(stdout, requests.Load(), most)
	return errors.Join(err, problem)
}
