//go:build long

package main

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/interrupt"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// The Job goes on while runjob's output is unread, at any length. Only a noisy process
// is held up; restarts and replacements come when they are due. A signal ends all
// processes within the grace period.
func TestJobRunsWhileNobodyReads(t *testing.T) {
	t.Parallel()
	for grace, seconds := range map[string]string{"by the grace period": "2", "by a second signal": "3600"} {
		dir := t.TempDir()
		p := programtest.New(t, "-backoff", "1ms", "-")
		p.Stdin = strings.NewReader(strings.Replace(perIndex(5, 3, `
case $JOB_COMPLETION_INDEX in
  0) trap "echo > `+dir+`/told" TERM; echo > `+dir+`/deaf; yes & while :; do sleep 0.05; done;;
  *) echo >> `+dir+`/log; head -c 100000 /dev/zero | tr '\0' '\n'; exit 1;;
esac
`), "terminationGracePeriodSeconds: 5", "terminationGracePeriodSeconds: "+seconds, 1))
		p.Pipe()
		p.Start()
		p.Eventually("all failures of the others", func() bool { return lines(dir+"/log") == 4*3 && lines(dir+"/deaf") == 1 })
		began := time.Now()
		p.Signal(syscall.SIGTERM)
		if grace == "by a second signal" {
			p.Eventually("the first signal is passed on", func() bool { return lines(dir+"/told") == 1 })
			time.Sleep(4 * interrupt.Same)
			p.Signal(syscall.SIGINT)
		}
		p.Done(exitInterrupted)
		if took := time.Since(began); grace == "by the grace period" && took < 2*time.Second {
			t.Errorf("given up after %v, before the end of the grace period", took)
		}
	}
}

// Who reads late gets everything, and a run that is over waits for that.
func TestSlowReaderGetsAll(t *testing.T) {
	t.Parallel()
	p := programtest.New(t, "-")
	p.Stdin = strings.NewReader(job(1, 30, "seq 100000 129999 & seq 200000 209999; wait; printf 'the last word'"))
	read := p.Pipe()
	p.Start()
	var text strings.Builder
	for piece := make([]byte, 1<<16); ; {
		n, err := read.Read(piece)
		text.Write(piece[:n])
		if err == io.EOF {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.Done(exitComplete)
	got := text.String()
	if n := strings.Count(got, "main | "); n != 40_001 || !strings.Contains(got, "main | the last word\n") || !strings.HasSuffix(got, "# Complete (CompletionsReached): Reached expected number of succeeded pods\n") {
		t.Errorf("%d lines, the last: %.200s", n, got[max(0, len(got)-200):])
	}
}

// A reader that takes little at a time, all the time, gets what fits until the end
// of the grace period; then a run that was interrupted ends.
func TestSlowReaderDelaysNoInterruptedJob(t *testing.T) {
	t.Parallel()
	p := programtest.New(t, "-")
	p.Stdin = strings.NewReader(strings.Replace(perIndex(5, 3, "exec yes"), "terminationGracePeriodSeconds: 5", "terminationGracePeriodSeconds: 1", 1))
	p.StartWithSlowReader()
	p.Running(2 + 3)
	p.Signal(syscall.SIGTERM)
	p.Done(exitInterrupted)
}

// When runjob's output has lost its reader, the run ends.
func TestJobEndsWhenItsReaderIsGone(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := programtest.New(t, "-")
	p.Stdin, p.Stderr = strings.NewReader(job(3, 30, "while :; do echo line; sleep 0.01; done")), write
	p.Start()
	write.Close()
	if _, err := io.ReadAtLeast(read, make([]byte, 4096), 1000); err != nil {
		t.Error(err)
	}
	read.Close()
	p.Done(exitUnwritten)
}
