// Testenv runs a Kubernetes API server on loopback, with a kubelet that only pretends
// to run pods, until interrupted. Use it for experiments without a cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/kube/testenv"
)

const usage = `usage: testenv [flags] [COMMAND ARGUMENT…]

Starts etcd and kube-apiserver on loopback, prints the path of a kubeconfig and
waits to be interrupted. With a command, it runs the command with KUBECONFIG set
and exits with its code. On exit it removes all its files and processes, except
for the programs that it has built. The first start builds kube-apiserver, which
takes minutes.

Pods outside kube-system run on a simulated node, without containers. Each pod
ends after a while, with exit code 0 by default. Annotations of a pod change this:

  testenv/exit: "1,0"      exit codes of its containers
  testenv/run: 5s          how long it runs

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("testenv", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		build   = flags.Bool("build", false, "make missing programs, print the paths of all, and exit")
		kubectl = flags.Bool("kubectl", false, "build kubectl and print its path; the command finds it if PATH has none")
		runs    = flags.Duration("run", 2*time.Second, "how long a pod runs without the annotation")
	)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "testenv:", err)
		return 1
	}
	var kubectlPath string
	if *kubectl {
		var err error
		if kubectlPath, err = testenv.BuildKubernetes(ctx, "kubectl", stderr); err != nil {
			return fail(err)
		}
		fmt.Fprintln(stdout, "kubectl:", kubectlPath)
	}
	if *build {
		programs, err := testenv.Build(ctx, stderr)
		if err != nil {
			return fail(err)
		}
		fmt.Fprintf(stdout, "etcd: %s\nkube-apiserver: %s\n", programs.Etcd, programs.Server)
		return 0
	}
	env, err := testenv.Start(ctx, testenv.Options{Log: stderr})
	if err != nil {
		return fail(err)
	}
	code, err := serve(ctx, env, *runs, kubectlPath, flags.Args(), stdout, stderr)
	if err := errors.Join(err, env.Stop()); err != nil {
		return fail(err)
	}
	return code
}

// serve runs the kubelet until ctx or the command ends, and returns the command's exit
// code.
func serve(ctx context.Context, env *testenv.Environment, runs time.Duration, kubectl string, command []string, stdout, stderr io.Writer) (int, error) {
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{
		Config: env.Config(),
		Script: func(pod *corev1.Pod) testenv.Outcome { return outcome(pod, runs, stderr) },
	})
	if err != nil {
		return 1, err
	}
	node, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- kubelet.Run(node) }()
	var code int
	if len(command) > 0 {
		code, err = runCommand(ctx, env, kubectl, command)
	} else {
		fmt.Fprintf(stdout, "export KUBECONFIG=%s\n", env.Kubeconfig())
		fmt.Fprintln(stderr, "testenv: ready; interrupt to end")
		<-ctx.Done()
	}
	stop()
	return code, errors.Join(err, <-done)
}

// outcome reads a pod's annotations. It reports and ignores invalid ones.
func outcome(pod *corev1.Pod, runs time.Duration, stderr io.Writer) testenv.Outcome {
	o := testenv.Outcome{Run: runs, Pending: pod.Namespace == "kube-system"}
	if text, ok := pod.Annotations["testenv/run"]; ok {
		if d, err := time.ParseDuration(text); err == nil {
			o.Run = d
		} else {
			fmt.Fprintf(stderr, "testenv: pod %s/%s: testenv/run: %v\n", pod.Namespace, pod.Name, err)
		}
	}
	if text, ok := pod.Annotations["testenv/exit"]; ok {
		for field := range strings.SplitSeq(text, ",") {
			code, err := strconv.ParseInt(strings.TrimSpace(field), 10, 32)
			if err != nil {
				fmt.Fprintf(stderr, "testenv: pod %s/%s: testenv/exit: %v\n", pod.Namespace, pod.Name, err)
				break
			}
			o.ExitCodes = append(o.ExitCodes, int32(code))
		}
	}
	return o
}
