//go:build unix

package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programOf makes the test program one that runs this script three times, until
// its input ends. A line of input kills what runs.
const programOf = "PROCESS_TEST_PROGRAM_OF"

func TestMain(m *testing.M) {
	Guard()
	if os.Getenv(leaver) != "" {
		leaveGroup()
		return
	}
	if script := os.Getenv(programOf); script != "" {
		program(script)
		return
	}
	os.Exit(m.Run())
}

// leaver makes the test program one that joins the group of its parent, and does
// not listen to SIGTERM.
const leaver = "PROCESS_TEST_LEAVER"

func leaveGroup() {
	signal.Ignore(syscall.SIGTERM)
	group, err := syscall.Getpgid(os.Getppid())
	if err == nil {
		err = syscall.Setpgid(0, group)
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(os.Getpid())
	time.Sleep(time.Hour)
}

func program(script string) {
	c, err := New(Options{Report: func(text string) { fmt.Println(text) }})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.Run(), c.guard.pid)
	var all []*Process
	for range 3 {
		p, err := c.Start(Command{Args: []string{"sh", "-c", script}, Env: os.Environ(), Output: sink(func(line []byte) { os.Stdout.Write(line) })})
		if err != nil {
			panic(err)
		}
		all = append(all, p)
		go func() {
			e := p.Wait()
			fmt.Println("ended", e.Code, e.Lost)
		}()
	}
	for input := bufio.NewScanner(os.Stdin); input.Scan(); { // each line kills
		for _, p := range all {
			p.Signal(syscall.SIGKILL)
		}
	}
	c.Close()
	fmt.Println("closed")
}

// sink is a Sink that waits for nothing.
type sink func(line []byte)

func (s sink) Line(line []byte) { s(line) }
func (s sink) Ended()           {}
func (s sink) Close()           {}

// shared is used by the tests: there must be only one.
var shared = sync.OnceValue(func() *Children {
	c, err := New(Options{})
	if err != nil {
		panic(err)
	}
	return c
})

// start starts a program, and returns what it writes.
func start(t *testing.T, args ...string) (*Process, *bytes.Buffer) {
	t.Helper()
	text := new(bytes.Buffer)
	p, err := shared().Start(Command{Args: args, Env: os.Environ(), Output: sink(func(line []byte) { text.Write(line) })})
	if err != nil {
		t.Fatal(err)
	}
	return p, text
}

// run runs a program to its end and returns what it wrote.
func run(t *testing.T, args ...string) (Exit, string) {
	t.Helper()
	p, text := start(t, args...)
	e := p.Wait()
	p.Signal(syscall.SIGKILL) // does nothing to a process that has ended
	return e, text.String()
}

func TestExitsAreReportedAsByAShell(t *testing.T) {
	for _, tt := range []struct {
		script string
		code   int
		signal syscall.Signal
	}{
		{"exit 0", 0, 0},
		{"exit 77", 77, 0},
		{"kill -TERM $$", 143, syscall.SIGTERM},
		{"kill -KILL $$", 137, syscall.SIGKILL},
	} {
		e, _ := run(t, "sh", "-c", tt.script)
		if e.Code != tt.code || e.Signal != tt.signal || e.At.IsZero() {
			t.Errorf("%s: %+v", tt.script, e)
		}
	}
}

// Output arrives whole, on one pipe, in order.
func TestOutputArrivesWholeAndInOrder(t *testing.T) {
	_, out := run(t, "sh", "-c", "echo out; echo err >&2; printf 'no newline'; cat")
	if out != "out\nerr\nno newline" {
		t.Errorf("output %q", out)
	}
	_, out = run(t, "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x")
	if len(out) != 200000 {
		t.Errorf("%d bytes of a long line", len(out))
	}
}

func TestStartErrorsAreThoseOfAShell(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, binary := file("plain", "echo", 0o644), file("binary", "\x01\x02", 0o755)
	lost := file("lost", "#!/no/such/interpreter\n", 0o755)
	// A link to itself cannot be examined, not even by root.
	locked, loop := filepath.Join(dir, "locked"), filepath.Join(dir, "loop")
	if err := errors.Join(os.Mkdir(locked, 0), os.Symlink("loop", loop)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cmd  Command
		code int
		want string
	}{
		{Command{Args: []string{"no-such-command"}}, 127, "no-such-command: command not found"},
		{Command{Args: []string{"echo a"}}, 127, "echo a: command not found: the name of the program has spaces; a command line needs sh -c before it"},
		{Command{Args: []string{""}}, 127, `"": command not found`},
		{Command{Args: []string{dir + "/missing"}}, 127, dir + "/missing: no such file or directory"},
		{Command{Args: []string{plain + "/x"}}, 127, plain + "/x: not a directory"},
		{Command{Args: []string{plain}}, 126, plain + ": permission denied"},
		{Command{Args: []string{dir}}, 126, dir + ": is a directory"},
		{Command{Args: []string{binary}}, 126, binary + ": exec format error"},
		{Command{Args: []string{lost}}, 127, lost + ": no such file or directory"},
		{Command{Args: []string{"plain"}, Env: []string{"PATH=" + dir}}, 126, plain + ": permission denied"},
		{Command{Args: []string{"plain"}, Env: []string{"PATH=" + locked + ":" + dir}}, 126, plain + ": permission denied"},
		{Command{Args: []string{"missing"}, Env: []string{"PATH=" + locked + ":" + dir + ":" + plain}}, 127, "missing: command not found"},
		{Command{Args: []string{"locked"}, Env: []string{"PATH=" + dir}}, 127, "locked: command not found"},
		{Command{Args: []string{"loop"}, Env: []string{"PATH=" + dir}}, 127, "loop: command not found"},
		{Command{Args: []string{loop}}, 126, loop + ": too many levels of symbolic links"},
		{Command{Args: []string{"sh"}, Env: []string{}}, 127, "sh: command not found"},
		{Command{Args: []string{"true"}, Dir: dir + "/missing"}, 126, "working directory " + dir + "/missing: no such file or directory"},
		{Command{Args: []string{"true"}, Dir: plain}, 126, "working directory " + plain + ": not a directory"},
	} {
		if tt.cmd.Env == nil {
			tt.cmd.Env = os.Environ()
		}
		_, err := shared().Start(tt.cmd)
		failure, ok := err.(*StartError)
		if !ok || failure.Code != tt.code || failure.Error() != tt.want {
			t.Errorf("%q: %v, want %d, %s", tt.cmd.Args, err, tt.code, tt.want)
		}
	}
}

// Folders of PATH that have no such program, for whatever reason, hide none of a later one.
func TestProgramIsFoundInALaterFolder(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Mkdir(at("locked"), 0), // root can search it, but it has nothing
		os.MkdirAll(at("folder/tool"), 0o700),
		os.Mkdir(at("loop"), 0o700), os.Symlink("tool", at("loop/tool")),
		os.Mkdir(at("plain"), 0o700), os.WriteFile(at("plain/tool"), nil, 0o600),
		os.Mkdir(at("found"), 0o700), os.WriteFile(at("found/tool"), []byte("#!/bin/sh\nexit 5\n"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	path := strings.Join([]string{at("none"), at("locked"), at("folder"), at("loop"), at("plain"), at("found")}, ":")
	p, err := shared().Start(Command{Args: []string{"tool"}, Env: []string{"PATH=" + path}})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(); e.Code != 5 {
		t.Errorf("%+v", e)
	}
}

// A relative program is looked for in its directory.
func TestRelativeProgramIsFoundInItsDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\nexit 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := shared().Start(Command{Args: []string{"./here"}, Env: os.Environ(), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(); e.Code != 5 {
		t.Errorf("%+v", e)
	}
}
