//go:build long

package main

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// trueJob is a Job of processes that do nothing.
func trueJob(processes, parallelism int) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: bench}
spec:
  completions: %d
  parallelism: %d
  completionMode: Indexed
  backoffLimitPerIndex: 1
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        command: ["true"]
`, processes, parallelism)
}

// runTrueJob runs such a Job and returns how long that took.
func runTrueJob(b *testing.B, processes, parallelism int, args ...string) time.Duration {
	b.Helper()
	began := time.Now()
	p := programtest.New(b, append(args, "-backoff", "10ms", "-")...)
	p.Stdin, p.Stderr = strings.NewReader(trueJob(processes, parallelism)), io.Discard
	p.Start()
	p.Done(exitComplete)
	if out := p.Out.String(); !strings.Contains(out, fmt.Sprintf("succeeded: %d\n", processes)) {
		b.Fatal(out)
	}
	return time.Since(began)
}

// BenchmarkJobWithState runs 2,000 processes that do nothing, 8 at a time: under
// xargs, as a Job, and as a Job with -state. It fails if the state makes it take more
// than twice as long. The Job should take half as long as xargs, on a machine that has
// nothing else to do.
//
//	go -C cmd test -tags long ./runjob -run '^$' -bench State -benchtime 5x
func BenchmarkJobWithState(b *testing.B) {
	const processes, parallelism = 2000, 8
	var xargs, without, with time.Duration
	for b.Loop() {
		began := time.Now()
		script := fmt.Sprintf("seq %d | xargs -P %d -n 1 true", processes, parallelism)
		if err := exec.Command("sh", "-c", script).Run(); err != nil {
			b.Fatal(err)
		}
		xargs += time.Since(began)
		without += runTrueJob(b, processes, parallelism)
		with += runTrueJob(b, processes, parallelism, "-state", b.TempDir())
	}
	n := float64(b.N)
	b.ReportMetric(without.Seconds()/n, "without-s/op")
	b.ReportMetric(with.Seconds()/n, "with-s/op")
	b.ReportMetric(with.Seconds()/without.Seconds(), "with/without")
	b.ReportMetric(without.Seconds()/xargs.Seconds(), "without/xargs")
	if with > 2*without {
		b.Errorf("the Job took %v, with -state %v", without, with)
	}
}

// BenchmarkJobAgainstALoop runs 10,000 processes that do nothing, 50 at a time: as a
// Job, and in a plain loop that starts them and waits for them. It prints the seconds
// that both took, and fails if the Job took more than 1.5 times as long.
//
//	go -C cmd test -tags long ./runjob -run '^$' -bench Loop -benchtime 3x
func BenchmarkJobAgainstALoop(b *testing.B) {
	const processes, parallelism = 10_000, 50
	var loop, job time.Duration
	for b.Loop() {
		began := time.Now()
		plainLoop(b, processes, parallelism)
		loop += time.Since(began)

		job += runTrueJob(b, processes, parallelism)
	}
	n := float64(b.N)
	b.ReportMetric(loop.Seconds()/n, "loop-s/op")
	b.ReportMetric(job.Seconds()/n, "job-s/op")
	b.ReportMetric(job.Seconds()/loop.Seconds(), "job/loop")
	if job > loop*3/2 {
		b.Errorf("the Job took %v, the loop %v", job, loop)
	}
}

func plainLoop(b *testing.B, processes, parallelism int) {
	var all sync.WaitGroup
	todo := make(chan struct{}, processes)
	for range processes {
		todo <- struct{}{}
	}
	close(todo)
	for range parallelism {
		all.Go(func() {
			for range todo {
				if err := exec.Command("true").Run(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}
