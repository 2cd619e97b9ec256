// Jobperf measures Kubernetes' Job controller and this repository's on the same API
// server, in turn. It measures the time until all Jobs have finished, and writing calls
// and CPU until all pods are untracked and all Events written.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/conformance/upstream/compare"
	"github.com/restartkit/restart/kube/testenv"
)

const usage = `usage: jobperf [flags]

Runs each load with Kubernetes' Job controller and this repository's in turn, each in
a process of its own, on an API server of its own (kube/testenv). Prints the medians
of the time until all Jobs have finished, of the writing calls and the CPU time of the
controller's process until no pod has the tracking finalizer and all Events are written,
and the medians of the ratios of each round, ours to theirs.

flags:
`

// A load is a number of Jobs with a number of indexes each.
type load struct {
	name          string
	jobs, indexes int32
	failures      bool // the first attempt of every tenth index fails
}

func loads(divide int32) []load {
	var list []load
	for _, failures := range []bool{false, true} {
		suffix := ""
		if failures {
			suffix = ", failures"
		}
		list = append(list,
			load{fmt.Sprintf("1 Job of %d%s", 1000/divide, suffix), 1, 1000 / divide, failures},
			load{fmt.Sprintf("%d Jobs of %d%s", 100/divide, 100/divide, suffix), 100 / divide, 100 / divide, failures})
	}
	return list
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("jobperf", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		rounds = flags.Int("rounds", 5, "rounds of each load")
		divide = flags.Int("divide", 1, "divide the numbers of Jobs and indexes by this, for a try")
		side   = flags.String("side", "", "be a controller until the input ends: upstream or ours; for its own use")
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
	var err error
	if *side != "" {
		err = serve(ctx, compare.Side(*side), stdout)
	} else {
		err = measure(ctx, *rounds, loads(int32(*divide)), stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "jobperf:", err)
		return 1
	}
	return 0
}

// serve runs a controller until its input ends, and prints the number of writing calls.
func serve(ctx context.Context, side compare.Side, stdout io.Writer) error {
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
	config.QPS = -1
	var writes atomic.Int64
	err = side.Run(ctx, compare.Options{Config: config, BaseDelay: time.Second, Writes: &writes}, func() { fmt.Fprintln(stdout, "ready") })
	fmt.Fprintln(stdout, writes.Load())
	return err
}

// A sample is the result of one run.
type sample struct {
	writes, wall, cpu float64 // wall and cpu in seconds
}

func measure(ctx context.Context, rounds int, list []load, stdout, stderr io.Writer) error {
	env, err := testenv.Start(ctx, testenv.Options{Log: stderr})
	if err != nil {
		return err
	}
	defer env.Stop()
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{Config: env.Config(), Script: outcome, Workers: 16})
	if err != nil {
		return err
	}
	kubeletContext, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- kubelet.Run(kubeletContext) }()
	defer func() {
		stop()
		<-done
	}()
	fmt.Fprintf(stdout, "%-32s %-9s %8s %8s %8s\n", "LOAD", "", "WRITES", "TIME", "CPU")
	for i, l := range list {
		samples := map[compare.Side][]sample{}
		for round := range rounds {
			for j := range compare.Sides { // the order changes from round to round
				side := compare.Sides[(j+round)%len(compare.Sides)]
				s, err := one(ctx, env, side, l, fmt.Sprintf("load%d-%d-%s", i, round, side))
				if err != nil {
					return fmt.Errorf("%s, %s: %w", l.name, side, err)
				}
				samples[side] = append(samples[side], s)
				fmt.Fprintf(stderr, "%s, round %d, %s: %.0f writes, %.1f s, %.1f s CPU\n", l.name, round+1, side, s.writes, s.wall, s.cpu)
			}
		}
		for _, side := range compare.Sides {
			m := medians(samples[side])
			fmt.Fprintf(stdout, "%-32s %-9s %8.0f %7.1fs %7.2fs\n", l.name, side, m.writes, m.wall, m.cpu)
		}
		var ratios []sample
		for i, ours := range samples[compare.Ours] {
			theirs := samples[compare.Upstream][i]
			ratios = append(ratios, sample{ours.writes / theirs.writes, ours.wall / theirs.wall, ours.cpu / theirs.cpu})
		}
		m := medians(ratios)
		fmt.Fprintf(stdout, "%-32s %-9s %8.2f %8.2f %8.2f\n", l.name, "ratio", m.writes, m.wall, m.cpu)
	}
	return nil
}

func medians(list []sample) sample {
	median := func(of func(sample) float64) float64 {
		var values []float64
		for _, s := range list {
			values = append(values, of(s))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return sample{
		median(func(s sample) float64 { return s.writes }),
		median(func(s sample) float64 { return s.wall }),
		median(func(s sample) float64 { return s.cpu }),
	}
}

// one runs a load with one controller.
func one(ctx context.Context, env *testenv.Environment, side compare.Side, l load, namespace string) (sample, error) {
	config := rest.CopyConfig(env.Config())
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return sample{}, err
	}
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return sample{}, err
	}
	defer func() { // to hide them from the next run
		background := metav1.DeletePropagationBackground
		client.BatchV1().Jobs(namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
		client.CoreV1().Pods(namespace).DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{})
	}()
	c, err := startController(ctx, env, side)
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	err = create(c.running, client, side, l, namespace)
	if err == nil {
		err = compare.Await(c.running, client, namespace)
	}
	s := sample{wall: time.Since(start).Seconds()}
	if err == nil {
		err = awaitRest(c.running, client, namespace)
	}
	if err := errors.Join(err, c.stop()); err != nil {
		return sample{}, err
	}
	s.writes, s.cpu = c.writes, (c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()).Seconds()
	return s, succeeded(ctx, client, l, namespace)
}

// awaitRest waits until no pod has the tracking finalizer and no more Events come. Both
// controllers write Events last, and Kubernetes' removes many finalizers only after it
// has written that the Job has finished.
func awaitRest(ctx context.Context, client kubernetes.Interface, namespace string) error {
	const quiet = 3 // lists without a new Event
	for before, same := -1, 0; ; {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		events, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if same++; len(events.Items) != before {
			before, same = len(events.Items), 0
		}
		tracked := slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) })
		if !tracked && same >= quiet {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A controller is a controller in a process of its own.
type controller struct {
	cmd     *exec.Cmd
	input   io.Closer
	running context.Context // done when the process ends
	writes  float64         // set when it has ended
}

// startController starts a controller and waits until it is ready.
func startController(ctx context.Context, env *testenv.Environment, side compare.Side) (*controller, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &controller{cmd: exec.CommandContext(ctx, self, "-side", string(side))}
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
				fmt.Sscan(lines.Text(), &c.writes)
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

// succeeded returns an error unless all indexes of a load have succeeded.
func succeeded(ctx context.Context, client kubernetes.Interface, l load, namespace string) error {
	jobs, err := client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, job := range jobs.Items {
		if job.Status.Succeeded != l.indexes {
			return fmt.Errorf("%s ended with %d of %d indexes", job.Name, job.Status.Succeeded, l.indexes)
		}
	}
	return nil
}

func create(ctx context.Context, client kubernetes.Interface, side compare.Side, l load, namespace string) error {
	indexed := batchv1.IndexedCompletion
	for i := range l.jobs {
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("job-%d", i)},
			Spec: batchv1.JobSpec{
				Completions: new(l.indexes), Parallelism: new(l.indexes), CompletionMode: &indexed,
				BackoffLimit: new(l.indexes),
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "main", Image: "example.com/main"}},
				}},
			},
		}
		if l.failures {
			job.Spec.BackoffLimit = nil
			job.Spec.BackoffLimitPerIndex = new(int32(2))
		}
		side.Claim(job)
		if _, err := client.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// outcome fails the first attempt of every tenth index of a Job with a limit per index,
// marked by an annotation of its pods.
func outcome(pod *corev1.Pod) testenv.Outcome {
	o := testenv.Outcome{Direct: true, Run: 100 * time.Millisecond}
	index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
	if pod.Annotations[batchv1.JobIndexFailureCountAnnotation] == "0" && strings.HasSuffix(index, "0") {
		o.ExitCodes = []int32{1}
	}
	return o
}
