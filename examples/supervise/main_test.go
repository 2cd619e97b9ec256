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

// binary is the built program: signals, exit codes and what is left behind can only
// be seen on a process.
var binary string

func TestMain(m *testing.M) {
	if os.Args[0] == "" {
		// Never: but go test takes the results of an unchanged test program from
		// its cache, so this one must change with what it tests.
		main()
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "supervise-test-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "supervise")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go %v: %v\n%s", args, err, out))
	}
	go watchMachine()
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// program is a started supervise.
type program struct {
	*exec.Cmd
	t              *testing.T
	dir            string // where it runs
	mark           string // in the environment of its processes
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

// start starts supervise in dir, and makes sure that nothing of it survives the
// test.
func start(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(binary, args...), t: t, dir: dir, mark: "SUPERVISE_TEST=" + rand.Text(), ended: make(chan struct{})}
	p.Dir = dir
	p.Env = append(os.Environ(), p.mark)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.WaitDelay = 5 * time.Second
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		for pid := range p.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if t.Failed() {
			t.Logf("supervise %q wrote\n%s%s", args, &p.stdout, &p.stderr)
		}
	})
	return p
}

// file writes a file for a test.
func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// processes returns all that supervise has brought forth, itself and its guard
// included, with their command lines.
func (p *program) processes() map[int]string {
	found := make(map[int]string)
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte(p.mark)) {
			continue
		}
		var pid int
		_, _ = fmt.Sscanf(file, "/proc/%d/", &pid)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
	}
	return found
}

// eventually waits for something, for as long as a busy machine may need.
func (p *program) eventually(what string, ok func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("still not: %s", what)
		}
	}
}

// says waits until standard output has that text so many times.
func (p *program) says(text string, times int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("%d times %q", times, text), func() bool { return strings.Count(p.stdout.String(), text) >= times })
}

// done waits for the end with that exit code. No process may be left then.
func (p *program) done(code int) {
	p.t.Helper()
	p.eventually("ended", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if left := p.processes(); len(left) > 0 {
		p.t.Errorf("processes left: %v", left)
	}
	if got := p.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
}

func (p *program) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// refused runs supervise, which must start nothing, and returns what it says.
func refused(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var failure *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &failure) || failure.ExitCode() != exitUsage || stdout.Len() > 0 {
		t.Errorf("supervise %q: %v, and %q", args, err, &stdout)
	}
	return stderr.String()
}
