// Package programtest tests a program as a process, with its signals, exit codes and
// child processes. The process is the test program itself, so go test never reuses
// results of an older program:
//
//	func TestMain(m *testing.M) { programtest.Main(m, main) }
//
// If set, the environment variable RESTART_BUILT is the path of another program to
// test.
package programtest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// marker is an environment variable of programs under test and their descendants.
const marker = "RESTART_PROGRAM_TEST"

// built is an environment variable of the tests with the path of a program to test in
// place of the test program.
const built = "RESTART_BUILT"

// Main runs the tests, or the program in a process started by a test.
func Main(m *testing.M, main func()) {
	if os.Getenv(marker) != "" {
		main()
		return
	}
	// Programs under test must not ignore SIGHUP, even if the tests run under nohup.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}

// Patience is how long a test waits for an expected event, even on a busy machine.
const Patience = 2 * time.Minute

// Program is a program under test.
type Program struct {
	*exec.Cmd
	Out, Err Buffer // output so far, unless Stdout and Stderr are set
	t        testing.TB
	mark     string
	ended    chan struct{}

	terminals []*terminal
	pipes     []*os.File // write ends, closed after the start
}

// New returns an unstarted program.
func New(t testing.TB, args ...string) *Program {
	t.Helper()
	path := os.Getenv(built)
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	p := &Program{Cmd: exec.Command(path, args...), t: t, mark: marker + "=" + rand.Text(), ended: make(chan struct{})}
	p.Env = append(os.Environ(), p.mark)
	p.Out.program, p.Err.program = p, p
	p.Stdout, p.Stderr = &p.Out, &p.Err
	p.WaitDelay = Patience / 4 // for leftover processes that hold its output open
	return p
}

// Start starts the program. The end of the test kills it with all its processes.
func (p *Program) Start() {
	p.t.Helper()
	if err := p.Cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for _, t := range p.terminals {
		t.started()
	}
	for _, write := range p.pipes {
		write.Close()
	}
	go func() {
		_ = p.Cmd.Wait()
		for _, t := range p.terminals {
			t.ended()
		}
		close(p.ended)
	}()
	p.t.Cleanup(func() {
		p.Kill()
		for pid := range p.Processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if p.t.Failed() {
			p.t.Logf("%q wrote\n%.20000s%.20000s", p.Args[1:], p.Out.String(), p.Err.String())
		}
	})
}

// Signal sends a signal to the program, if it is running.
func (p *Program) Signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// SignalTogether sends signals while the program is stopped, so that it receives all of
// them at once.
func (p *Program) SignalTogether(signals ...syscall.Signal) {
	p.t.Helper()
	p.Signal(syscall.SIGSTOP)
	for _, sig := range signals {
		p.Signal(sig)
	}
	p.Signal(syscall.SIGCONT)
}

// Kill kills the program and waits until it has been reaped.
func (p *Program) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	<-p.ended
}

// Guard returns the pid of the program's guard, or 0 if it has none.
func (p *Program) Guard() int {
	for pid, line := range p.Processes() {
		if strings.HasPrefix(line, "process-guard ") {
			return pid
		}
	}
	return 0
}

// KillGuard kills the program and its guard together, so that neither reacts to the end
// of the other.
func (p *Program) KillGuard() {
	p.t.Helper()
	p.Signal(syscall.SIGSTOP)
	_ = syscall.Kill(p.Guard(), syscall.SIGKILL)
	p.Kill()
}

// Ended reports whether the program has ended.
func (p *Program) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Wait waits for the program's end and returns its exit code. Remaining processes fail
// the test.
func (p *Program) Wait() int {
	p.t.Helper()
	p.Eventually("its end", p.Ended)
	if left := p.Processes(); len(left) > 0 {
		p.t.Errorf("processes left behind: %v", left)
	}
	return p.ProcessState.ExitCode()
}

// Done waits for the program's end. The test fails unless the exit code is code.
func (p *Program) Done(code int) {
	p.t.Helper()
	if got := p.Wait(); got != code {
		p.t.Errorf("%q: exit code %d, want %d", p.Args[1:], got, code)
	}
}

// Eventually waits until ok returns true. After Patience, the program prints its
// goroutines and the test fails.
func (p *Program) Eventually(condition string, ok func() bool) {
	p.t.Helper()
	if !eventually(ok) {
		_ = p.Process.Signal(syscall.SIGQUIT) // prints its goroutines
		if !eventually(p.Ended) {
			_ = p.Process.Kill()
		}
		<-p.ended
		p.t.Fatalf("never: %s", condition)
	}
}

// Eventually waits until ok returns true. The test fails after Patience.
func Eventually(t testing.TB, condition string, ok func() bool) {
	t.Helper()
	if !eventually(ok) {
		t.Fatalf("never: %s", condition)
	}
}

// eventually reports whether ok returns true within Patience.
func eventually(ok func() bool) bool {
	deadline, pause := time.Now().Add(Patience), time.Millisecond
	for !ok() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
		pause = min(2*pause, 32*time.Millisecond) // ok may read all of /proc
	}
	return true
}

// Processes returns the command lines of the program, its guard and its descendants by
// pid.
func (p *Program) Processes() map[int]string {
	found := make(map[int]string)
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte(p.mark)) {
			continue // ended, or of another program
		}
		var pid int
		_, _ = fmt.Sscanf(file, "/proc/%d/", &pid)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
	}
	return found
}

// Running waits until the program has at least n processes.
func (p *Program) Running(n int) {
	p.t.Helper()
	p.Eventually(fmt.Sprintf("%d processes", n), func() bool { return len(p.Processes()) >= n })
}

// FullDisk runs the program with its standard output on a full disk. The program must
// report the error and exit with code.
func FullDisk(t testing.TB, code int, args ...string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("needs /dev/full: %v", err)
	}
	defer full.Close()
	p := New(t, args...)
	p.Stdout = full
	p.Start()
	p.Done(code)
	if printed := p.Err.String(); !strings.Contains(printed, "no space left on device") {
		t.Errorf("%q: printed\n%s", args, printed)
	}
}

// Buffer holds a program's output. It can be read while the program writes.
type Buffer struct {
	program *Program
	mu      sync.Mutex
	text    bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Says waits until the program has written text at least the given number of times.
func (b *Buffer) Says(text string, times int) {
	b.program.t.Helper()
	b.program.Eventually(fmt.Sprintf("%d times %q", times, text), func() bool { return strings.Count(b.String(), text) >= times })
}

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares text with a file, or first writes the file with -update.
func Golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("differs from %s; if that is right, run with -update. Got:\n%s\nwant:\n%s", file, text, want)
	}
}

// WriteFile writes a file for a test and returns its path.
func WriteFile(t testing.TB, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}
