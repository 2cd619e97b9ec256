package main

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/restartkit/restart/examples/internal/programtest"
)

// BenchmarkTrue runs 10,000 processes that do nothing, 50 at a time: as a Job,
// and in a plain loop that starts them and waits for them. It prints the seconds
// that both took, and fails if the Job took more than 1.5 times as long.
//
//	go -C examples test ./runjob -run '^$' -bench True -benchtime 3x
func BenchmarkTrue(b *testing.B) {
	const processes, parallelism = 10_000, 50
	manifest := fmt.Sprintf(`
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
	var loop, job time.Duration
	for b.Loop() {
		began := time.Now()
		plainLoop(b, processes, parallelism)
		loop += time.Since(began)

		began = time.Now()
		p := programtest.New(b, "-backoff", "10ms", "-")
		p.Stdin, p.Stderr = strings.NewReader(manifest), io.Discard
		p.Start()
		p.Done(exitComplete)
		if out := p.Out.String(); !strings.Contains(out, "succeeded: 10000") {
			b.Fatal(out)
		}
		job += time.Since(began)
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
