//go:build long

package jobcontroller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/restartkit/restart/kube/jobcontroller"
)

// replicaVariable makes the test program a replica, and holds its settings as JSON.
const replicaVariable = "JOBCONTROLLER_TEST_REPLICA"

type replicaSettings struct {
	Kubeconfig, Namespace, Name string
	Ahead                       time.Duration // how far its clock is ahead
}

// The times of the Lease are short, so that a replica takes over soon.
const (
	leaseName     = "controller"
	leaseDuration = 2 * time.Second
	renewDeadline = 1500 * time.Millisecond
	retryPeriod   = 200 * time.Millisecond
)

func TestMain(m *testing.M) {
	text, wanted := os.LookupEnv(replicaVariable)
	if !wanted {
		os.Exit(m.Run())
	}
	go func() { // it ends with the test, however that ends
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	if err := runReplica(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runReplica runs Jobs while it holds the Lease, until it is killed or loses the Lease.
func runReplica(text string) error {
	var s replicaSettings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	leaderelection.RunOrDie(context.Background(), leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: leaseName},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: s.Name},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				c, err := jobcontroller.New(client, jobcontroller.Options{Namespace: s.Namespace, Clock: aheadClock{by: s.Ahead}, BatchPeriod: 200 * time.Millisecond})
				if err != nil {
					panic(err)
				}
				if err := c.Run(ctx); err != nil {
					panic(err)
				}
			},
			OnStoppedLeading: func() { os.Exit(3) },
		},
	})
	return nil
}

// aheadClock is a real clock that is fast.
type aheadClock struct {
	clock.RealClock
	by time.Duration
}

func (c aheadClock) Now() time.Time                  { return time.Now().Add(c.by) }
func (c aheadClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// replica is a process that runs Jobs while it holds the Lease, and its successor after
// it has ended.
type replica struct {
	mu      sync.Mutex
	command *exec.Cmd
	ended   bool
	done    chan struct{}
}

// start starts replica 0 or 1. The clock of replica 1 is 30 s ahead.
func (c *chaos) start(i int) *replica {
	r := &replica{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for r.once(c.replicaCommand(i)) {
		}
	}()
	return r
}

// once runs the process, and reports whether to run it again.
func (r *replica) once(command *exec.Cmd) bool {
	stdin, err := command.StdinPipe() // the replica ends when it is closed
	if err != nil {
		return false
	}
	defer stdin.Close()
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return false
	}
	if err = command.Start(); err == nil {
		r.command = command
	}
	r.mu.Unlock()
	if err == nil {
		_ = command.Wait()
	}
	time.Sleep(100 * time.Millisecond)
	return true
}

// kill kills the process with SIGKILL.
func (r *replica) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.command != nil {
		_ = r.command.Process.Kill()
	}
}

// end kills the replica without a successor.
func (r *replica) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.kill()
	<-r.done
}

func (c *chaos) replicaCommand(i int) *exec.Cmd {
	name := fmt.Sprintf("replica-%d-%d", i, time.Now().UnixNano())
	settings, err := json.Marshal(replicaSettings{Kubeconfig: c.config, Namespace: c.namespace, Name: name, Ahead: time.Duration(i) * 30 * time.Second})
	if err != nil {
		panic(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), replicaVariable+"="+string(settings))
	if testing.Verbose() {
		command.Stderr = os.Stderr
	}
	return command
}
