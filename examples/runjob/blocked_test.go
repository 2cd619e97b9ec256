package main

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/examples/internal/programtest"
)

// While nobody reads what runjob prints, however much that is, the Job goes on: a
// noisy process is held up, no other is, and restarts and replacements come when
// they are due. A signal ends all within the grace period.
func TestJobRunsWhileNobodyReads(t *testing.T) {
	t.Parallel()
	for grace, seconds := range map[string]string{"by the grace period": "2", "by a second signal": "3600"} {
		dir := t.TempDir()
		p := programtest.New(t, "-backoff", "1ms", "-")
		p.Stdin = strings.NewReader(strings.Replace(perIndex(5, 3, `
case $JOB_COMPLETION_INDEX in
  0) trap "" TERM; exec yes;;
  *) echo >> `+dir+`/log; head -c 100000 /dev/zero | tr '\0' '\n'; exit 1;;
esac
`), "terminationGracePeriodSeconds: 5", "terminationGracePeriodSeconds: "+seconds, 1))
		p.Pipe()
		p.Start()
		p.Eventually("all failures of the others", func() bool { return lines(dir+"/log") == 4*3 })
		began := time.Now()
		p.Signal(syscall.SIGTERM)
		if grace == "by a second signal" {
			time.Sleep(300 * time.Millisecond)
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

// Control characters of a process are shown, not sent; its colours only on request.
func TestProcessesCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	script := `printf 'a\033[2J\033]0;pwned\007 \377\000 \rforged\n\033[31mred\033[0m\n\033[1mbold\n'`
	plain := start(t, job(1, 30, script), "-")
	plain.Done(exitComplete)
	for _, want := range []string{`main | a\x1b[2J\x1b]0;pwned\x07 \xff\x00 \rforged` + "\n", `main | \x1b[31mred\x1b[0m` + "\n"} {
		if !strings.Contains(plain.Err.String(), want) {
			t.Errorf("want %q:\n%q", want, plain.Err.String())
		}
	}
	coloured := start(t, job(1, 30, script), "-colours", "-")
	coloured.Done(exitComplete)
	for _, want := range []string{`main | a\x1b[2J\x1b]0;pwned\x07 \xff\x00 \rforged` + "\n", "main | \x1b[31mred\x1b[0m", "main | \x1b[1mbold\x1b[0m\n"} {
		if !strings.Contains(coloured.Err.String(), want) {
			t.Errorf("want %q:\n%q", want, coloured.Err.String())
		}
	}
}

// SIGTERM is for the first process of a container, as on a cluster; what it has
// started is left to it until the grace period is over.
func TestFirstProcessIsTerminated(t *testing.T) {
	t.Parallel()
	p := start(t, job(1, 2, `
trap 'echo first terminated' TERM
sh -c 'trap "echo second terminated" TERM; echo ready; while :; do sleep 0.05; done' &
while :; do sleep 0.05; done
`), "-")
	p.Err.Says("ready", 1)
	p.Signal(syscall.SIGTERM)
	p.Done(exitInterrupted)
	if text := p.Err.String(); !strings.Contains(text, "first terminated") || strings.Contains(text, "second terminated") {
		t.Errorf("told:\n%s", text)
	}
}

// Under nohup SIGHUP does not end a run.
func TestNohupIgnoresSIGHUP(t *testing.T) {
	t.Parallel()
	gate := newGate(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := programtest.New(t, "-")
	p.Path, p.Args = "/bin/sh", []string{"sh", "-c", `trap "" HUP; exec "$0" -`, self}
	p.Stdin = strings.NewReader(job(1, 30, "echo ready\n"+gate.wait))
	p.Start()
	p.Err.Says("ready", 1)
	p.Signal(syscall.SIGHUP)
	gate.open(t)
	p.Done(exitComplete)
}

// Nothing in a folder that runjob has not made is touched, nor what it links to.
func TestForeignStateFolderIsRefused(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	precious := programtest.WriteFile(t, base, "precious", "x", 0o600)
	if err := os.MkdirAll(base+"/dir/processes", 0o700); err != nil {
		t.Fatal(err)
	}
	programtest.WriteFile(t, base+"/dir/processes", "thesis.txt", "x", 0o600)
	for _, name := range []string{"state.json.next", "lock", "steps.log"} {
		if err := os.Symlink(precious, base+"/dir/"+name); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, job(1, 30, "true"), "-state", base+"/dir", "-")
	p.Done(exitBad)
	if err := os.Remove(base + "/dir/lock"); err != nil {
		t.Fatal(err)
	}
	p = start(t, job(1, 30, "true"), "-state", base+"/dir", "-")
	p.Done(exitBad)
	if !strings.Contains(p.Err.String(), "was not made by runjob: nothing in it was touched") {
		t.Error(p.Err.String())
	}
	for _, file := range []string{precious, base + "/dir/processes/thesis.txt"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != "x" {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
}
