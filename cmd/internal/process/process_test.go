//go:build unix

package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

func newRunner(t *testing.T) *Runner {
	t.Helper()
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	r.killTimeout = patience // however slow the machine is
	t.Cleanup(r.Close)
	return r
}

// command is a running sh -c, whose lines can be read one by one.
type command struct {
	*Process
	t     *testing.T
	lines chan Line
}

func start(t *testing.T, r *Runner, script string, more ...func(*Command)) *command {
	t.Helper()
	c := &command{t: t, lines: make(chan Line, 1000)}
	cmd := Command{Args: []string{"sh", "-c", script}, Output: func(l Line) { c.lines <- l }}
	for _, change := range more {
		change(&cmd)
	}
	p, err := r.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	c.Process = p
	return c
}

// says waits for a line.
func (c *command) says(want string) {
	c.t.Helper()
	select {
	case l := <-c.lines:
		if l.Text != want {
			c.t.Fatalf("%q, want %q", l.Text, want)
		}
	case <-time.After(patience):
		c.t.Fatalf("no line, want %q", want)
	}
}

// number waits for a line with a number.
func (c *command) number() int {
	c.t.Helper()
	select {
	case l := <-c.lines:
		n, err := strconv.Atoi(l.Text)
		if err != nil {
			c.t.Fatal(err)
		}
		return n
	case <-time.After(patience):
		c.t.Fatal("no line, want a number")
	}
	return 0
}

func (c *command) ended() Exit {
	c.t.Helper()
	select {
	case <-c.Done():
	case <-time.After(patience):
		c.t.Fatal("it has not ended")
	}
	return c.Wait()
}

// apart makes the end of a command the end of its group only: no control group ends other
// processes of it, and a command that goes on keeps orphans alive.
func apart(t *testing.T, r *Runner) (other *command) {
	t.Helper()
	r.cgroup = ""
	other = start(t, r, "echo ready; exec sleep 1000")
	other.says("ready")
	return other
}

// gone waits until a process does not run any more.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); runs(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

func runs(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestExits(t *testing.T) {
	r := newRunner(t)
	for script, want := range map[string]Exit{
		"exit 0":       {},
		"exit 7":       {Code: 7},
		"kill -9 $$":   {Code: 137, Signal: syscall.SIGKILL},
		"kill -TERM 0": {Code: 143, Signal: syscall.SIGTERM}, // its group is its own
	} {
		got := start(t, r, script).ended()
		if got.Began.IsZero() || got.At.Before(got.Began) {
			t.Errorf("%s: from %v to %v", script, got.Began, got.At)
		}
		got.Began, got.At = time.Time{}, time.Time{}
		if got != want {
			t.Errorf("%s: %+v, want %+v", script, got, want)
		}
	}
}

func TestCommandsThatCannotStart(t *testing.T) {
	r := newRunner(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data := write("data", "#!/bin/sh\n", 0o644)
	lost := write("lost", "#!/no/such/interpreter\n", 0o755)
	junk := write("junk", "junk", 0o755)
	for _, c := range []struct {
		name string
		dir  string
		code int
		text string
	}{
		{"no-such-command", "", 127, "no-such-command: command not found"},
		{"echo a", "", 127, "needs sh -c before it"},
		{"", "", 127, `"": command not found`},
		{"/no/such/file", "", 127, "/no/such/file: no such file or directory"},
		{lost, "", 127, lost + ": no such file or directory"},
		{data, "", 126, data + ": permission denied"},
		{dir, "", 126, dir + ": is a directory"},
		{junk, "", 126, junk + ": exec format error"},
		{"sh", "/no/such/dir", 126, "working directory /no/such/dir: no such file or directory"},
	} {
		_, err := r.Start(Command{Args: []string{c.name}, Dir: c.dir})
		var failed *StartError
		if !errors.As(err, &failed) || failed.Code != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q in %q: %#v, want %d %s", c.name, c.dir, err, c.code, c.text)
		}
	}
	p := start(t, r, "pwd; echo $A; read x || echo no input", func(c *Command) { c.Dir, c.Env = dir, []string{"A=b", "PATH=" + os.Getenv("PATH")} })
	real, _ := filepath.EvalSymlinks(dir)
	p.says(real)
	p.says("b")
	p.says("no input")
}

// Stop reaches the whole group, and SIGKILL follows after the grace.
func TestStop(t *testing.T) {
	r := newRunner(t)
	p := start(t, r, `trap 'wait; echo first; exit 3' TERM; (trap 'echo second; exit 0' TERM; sleep 1000 & echo ready; wait) & wait; wait`)
	p.says("ready")
	p.Stop(syscall.SIGTERM, time.Hour)
	lines := []string{(<-p.lines).Text, (<-p.lines).Text}
	slices.Sort(lines)
	if fmt.Sprint(lines) != "[first second]" {
		t.Error(lines)
	}
	if e := p.ended(); e.Code != 3 && e.Code != 143 {
		t.Errorf("%+v", e)
	}

	p = start(t, r, `trap '' TERM; echo ready; exec sleep 1000`)
	p.says("ready")
	p.Stop(syscall.SIGTERM, time.Hour)
	p.Stop(syscall.SIGTERM, time.Millisecond) // a later one shortens the grace
	if e := p.ended(); e.Signal != syscall.SIGKILL {
		t.Errorf("%+v", e)
	}
	p.Stop(syscall.SIGTERM, 0)
	p.Kill()
	p.Signal(syscall.SIGTERM)
}

// The end of the first process is the end of its group.
func TestTheRestOfTheGroupIsKilled(t *testing.T) {
	r := newRunner(t)
	apart(t, r)
	p := start(t, r, `(trap '' TERM HUP; exec sleep 1000) & echo $!`)
	pid := p.number()
	if e := p.ended(); e.Code != 0 || e.Left {
		t.Errorf("%+v", e)
	}
	if runs(pid) {
		t.Error("it still runs when the command has ended")
	}
}

// What a command leaves behind when it ends by itself may stay, if it is to.
func TestLeave(t *testing.T) {
	r := newRunner(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Start(Command{Args: []string{"sh", "-c", "sleep 1000 & echo $!"}, Leave: true, Stdout: write})
	if err != nil {
		t.Fatal(err)
	}
	write.Close()
	line, _ := bufio.NewReader(read).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(); e.Code != 0 || !runs(pid) {
		t.Errorf("%+v, runs: %v", e, runs(pid))
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	r := newRunner(t)
	p := start(t, r, `trap '' TERM; echo ready; exec sleep 1000`)
	p.says("ready")
	r.Close()
	if e := p.ended(); e.Signal != syscall.SIGKILL {
		t.Errorf("%+v", e)
	}
	if _, err := r.Start(Command{Args: []string{"true"}}); err == nil {
		t.Error("it starts after Close")
	}
}
