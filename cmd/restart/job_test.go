package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen, even on a busy machine.
const patience = 2 * time.Minute

// program is this program as a process, which a test can watch and signal.
type program struct {
	*exec.Cmd
	t        *testing.T
	Out, Err text
	ended    chan struct{}
}

// text is what a program has written so far.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *text) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *text) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts the program. The end of the test kills it.
func start(t *testing.T, stdin string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command("restart", args...), t: t, ended: make(chan struct{})}
	p.Stdin = strings.NewReader(stdin)
	p.Stdout, p.Stderr = &p.Out, &p.Err
	p.begin()
	return p
}

func (p *program) begin() {
	p.t.Helper()
	p.WaitDelay = patience / 4
	if err := p.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = p.Cmd.Wait()
		close(p.ended)
	}()
	p.t.Cleanup(func() {
		p.kill()
		if p.t.Failed() {
			p.t.Logf("%q wrote\n%.20000s%.20000s", p.Args[1:], p.Out.String(), p.Err.String())
		}
	})
}

func (p *program) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// done waits for the end, with an exit code.
func (p *program) done(code int) {
	p.t.Helper()
	p.eventually("its end", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if got := p.ProcessState.ExitCode(); got != code {
		p.t.Errorf("%q: exit code %d, want %d", p.Args[1:], got, code)
	}
}

// says waits until a text stands in standard error that many times.
func (p *program) says(want string, times int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("%d times %q", times, want), func() bool { return strings.Count(p.Err.String(), want) >= times })
}

func (p *program) eventually(what string, ok func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("never: %s", what)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file.
func golden(t *testing.T, file, text string) {
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

// times is what the golden files do not hold.
var times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)

// Every manifest of testdata, but for those of a thousand pods, comes to the status in
// its golden file, which does not depend on which process is faster.
func TestJobStatusOfEveryManifest(t *testing.T) {
	runManifests(t, func(name string) bool { return !strings.HasSuffix(name, "-1000") })
}

// runManifests runs the manifests of these names.
func runManifests(t *testing.T, wanted func(name string) bool) {
	t.Helper()
	manifests, err := filepath.Glob("../testdata/*.yaml")
	if err != nil || len(manifests) < 15 {
		t.Fatalf("%d manifests, %v", len(manifests), err)
	}
	for _, file := range manifests {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if !wanted(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "", "job", "--backoff", "1ms", file)
			p.eventually("its end", func() bool {
				select {
				case <-p.ended:
					return true
				default:
					return false
				}
			})
			status := times.ReplaceAllString(p.Out.String(), "TIME")
			golden(t, "../testdata/golden/"+name+".txt", fmt.Sprintf("%s# exit code %d\n", status, p.ProcessState.ExitCode()))
		})
	}
}

// Of what is no Job that can run, nothing is started, and everything that is wrong is
// named with its line.
func TestBadManifestStartsNothing(t *testing.T) {
	inputs, err := filepath.Glob("../testdata/bad/*.[yj]*")
	if err != nil || len(inputs) < 20 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			var out, said bytes.Buffer
			if code := run([]string{"job", input}, nil, &out, &said); code != exitUsage || out.Len() > 0 {
				t.Errorf("exit code %d, standard output: %s", code, out.String())
			}
			golden(t, "../testdata/golden/bad/"+filepath.Base(input)+".txt", said.String())
		})
	}
}

// Of several contradictions, always the first one is told.
func TestContradictionsComeInOrder(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--state= --events= --timeline= job.yaml", "--state: the file has no name"},
		{"--events= --timeline= job.yaml", "--events: the file has no name"},
		{"--state=a.html --events=a.html --timeline=a.html a.html", "--state: a.html is the manifest"},
		{"--state=a.html --events=a.html --timeline=a.html job.yaml", "--state: a.html is the file of --events"},
	} {
		for range 20 {
			c := jobCommand()
			c.SilenceErrors, c.SilenceUsage = true, true
			c.SetArgs(strings.Fields(tt.args))
			if err := c.Execute(); err == nil || err.Error() != tt.want {
				t.Fatalf("%s: %v, want %s", tt.args, err, tt.want)
			}
		}
	}
}

// No golden file is left of a manifest that is gone.
func TestGoldenFilesAreUsed(t *testing.T) {
	for files, source := range map[string]func(name string) string{
		"../testdata/golden/*.txt":     func(name string) string { return "../testdata/" + name + ".yaml" },
		"../testdata/golden/bad/*.txt": func(name string) string { return "../testdata/bad/" + name },
	} {
		found, _ := filepath.Glob(files)
		for _, file := range found {
			name := strings.TrimSuffix(filepath.Base(file), ".txt")
			if _, err := os.Stat(source(name)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
