package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// binary is the built program: signals, exit codes and what is left behind can
// only be seen on a process.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "runjob-test-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "runjob")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go %v: %v\n%s", args, err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// program is a started runjob.
type program struct {
	*exec.Cmd
	t              *testing.T
	mark           string // its processes are marked(mark)
	stdout, stderr buffer
	ended          chan struct{}
}

// buffer can be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

const testTimeout = 50 * time.Second

// start starts runjob. At the end of the test no process of it may be left.
func start(t *testing.T, stdin string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(binary, args...), t: t, mark: "TEST" + rand.Text(), ended: make(chan struct{})}
	p.Env = append(os.Environ(), marker(p.mark)+"=test")
	p.Stdin = strings.NewReader(stdin)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.WaitDelay = time.Second
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.Wait()
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		killMarked(p.mark, func(string) bool { return true })
	})
	return p
}

// wait waits for the program's end and returns its exit code.
func (p *program) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(testTimeout):
		_ = p.Process.Signal(syscall.SIGQUIT)
		<-p.ended
		p.t.Fatalf("runjob %q did not end:\n%s", p.Args[1:], p.stderr.String())
	}
	return p.ProcessState.ExitCode()
}

// done waits for the program's end and checks its exit code, and that no process
// is left.
func (p *program) done(want int) {
	p.t.Helper()
	if got := p.wait(); got != want {
		p.t.Errorf("exit code %d, want %d:\n%s%s", got, want, p.stderr.String(), p.stdout.String())
	}
	if left := marked(p.mark); len(left) > 0 {
		p.t.Errorf("processes left behind: %v", left)
	}
}

// running waits until at least n processes of the program are there, itself
// included.
func (p *program) running(n int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("%d processes", n), func() bool { return len(marked(p.mark)) >= n })
}

func (p *program) eventually(what string, ok func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	_ = p.Process.Kill()
	<-p.ended
	p.t.Fatalf("never: %s\n%s", what, p.stderr.String())
}

// says waits until the program has said text that often on standard error.
func (p *program) says(text string, times int) {
	p.t.Helper()
	p.eventually(text, func() bool { return strings.Count(p.stderr.String(), text) >= times })
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// golden compares text with a file, or writes the file under -update.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("differs from %s:\ngot:\n%s\nwant:\n%s", file, text, want)
	}
}
