// Testenv runs Kubernetes on loopback until interrupted, for experiments without a
// cluster: an API server with a kubelet that only pretends to run pods, or a real node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/restartkit/restart/kube/testenv"
)

const usage = `usage: testenv [flags] [COMMAND ARGUMENT…]

Starts etcd and kube-apiserver on loopback, prints the path of a kubeconfig and
waits to be interrupted. With a command, it runs the command with KUBECONFIG set
and exits with its code. On exit it removes all its files and processes, except
for the programs that it has built. The first start builds them, which takes
minutes.

Without -node, pods outside kube-system run on a simulated node, without
containers. Each pod ends after a while, with exit code 0 by default. Annotations
of a pod change this:

  testenv/exit: "1,0"      exit codes of its containers
  testenv/run: 5s          how long it runs

With -node, which needs root on Linux, it is a whole cluster of one node: scheduler,
controller manager, kubelet and containerd. Pods can use the images
localhost/testenv/busybox:1 and localhost/testenv/pause:1, and pull no others. Their
network is loopback only. With -kubelet-only, kubelet and containerd run static pods
without an API server. Commands of a node get CONTAINER_RUNTIME_ENDPOINT, the socket of
containerd, and TESTENV_MANIFESTS, the folder of static pods. The logs of the programs
are *.log in the folder of the kubeconfig. The exit code is 3 if this machine cannot
run a node.

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	s := session{flags: f, environ: os.Environ(), stdout: stdout, stderr: stderr}
	if f.kubeletOnly {
		err = s.runKubelet(ctx)
	} else {
		err = s.environment(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, "testenv:", err)
		if errors.Is(err, testenv.ErrNoNode) {
			return 3
		}
		return 1
	}
	return s.code
}

// A session is one run of the program.
type session struct {
	flags
	environ        []string // of the command
	stdout, stderr io.Writer
	code           int // exit code of the command
}

// environment runs an API server, with a node or with a simulated one.
func (s *session) environment(ctx context.Context) error {
	if s.kubectl {
		path, err := testenv.BuildKubectl(ctx, s.options)
		if err != nil {
			return err
		}
		fmt.Fprintln(s.stdout, "kubectl:", path)
		s.environ = append(s.environ, "PATH="+os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Dir(path))
	}
	if s.build {
		programs, err := testenv.Build(ctx, s.options)
		if err != nil {
			return err
		}
		s.print(programs)
		return nil
	}
	start := time.Now()
	env, err := testenv.Start(ctx, s.options)
	if err != nil {
		return err
	}
	s.export("KUBECONFIG", env.Kubeconfig())
	if env.Node() == nil {
		err = s.simulateNode(ctx, env)
	} else {
		s.node(env.Node())
		fmt.Fprintf(s.stderr, "testenv: the node is ready after %v\n", time.Since(start).Round(100*time.Millisecond))
		err = s.serve(ctx)
	}
	return errors.Join(err, env.Stop())
}

func (s *session) runKubelet(ctx context.Context) error {
	if s.build {
		programs, err := testenv.BuildNode(ctx, s.options)
		if err == nil {
			s.print(programs)
		}
		return err
	}
	node, err := testenv.StartNode(ctx, s.options)
	if err != nil {
		return err
	}
	s.node(node)
	return errors.Join(s.serve(ctx), node.Stop())
}

func (s *session) node(node *testenv.Node) {
	s.export("CONTAINER_RUNTIME_ENDPOINT", node.CRISocket())
	s.export("TESTENV_MANIFESTS", node.Manifests())
}

// export sets a variable for the command or prints it for a shell.
func (s *session) export(name, value string) {
	s.environ = append(s.environ, name+"="+value)
	if len(s.command) == 0 {
		fmt.Fprintf(s.stdout, "export %s=%s\n", name, value)
	}
}

// simulateNode is serve with a simulated node.
func (s *session) simulateNode(ctx context.Context, env *testenv.Environment) error {
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{Config: env.Config(), Script: s.outcome})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- kubelet.Run(running) }()
	err = s.serve(ctx)
	stop()
	return errors.Join(err, <-done)
}

// serve runs the command or, without one, waits for ctx to end.
func (s *session) serve(ctx context.Context) (err error) {
	if len(s.command) > 0 {
		s.code, err = runCommand(ctx, s.command, s.environ)
		return err
	}
	fmt.Fprintln(s.stderr, "testenv: ready; interrupt to end")
	<-ctx.Done()
	return nil
}

func (s *session) print(p testenv.Programs) {
	for _, program := range []struct{ name, path string }{
		{"etcd", p.Etcd},
		{"kube-apiserver", p.Server},
		{"kube-controller-manager", p.ControllerManager},
		{"kube-scheduler", p.Scheduler},
		{"kubelet", p.Kubelet},
		{"containerd", p.Containerd},
		{"containerd-shim-runc-v2", p.Shim},
		{"ctr", p.Ctr},
		{"runc", p.Runc},
		{"busybox", p.Busybox},
	} {
		if program.path != "" {
			fmt.Fprintf(s.stdout, "%s: %s\n", program.name, program.path)
		}
	}
}
