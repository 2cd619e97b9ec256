package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// parentOf makes the test program a parent that runs this script, until its input
// ends.
const parentOf = "PROCESS_TEST_PARENT_OF"

func TestMain(m *testing.M) {
	Guard()
	if script := os.Getenv(parentOf); script != "" {
		c, err := New()
		if err != nil {
			panic(err)
		}
		fmt.Println(c.Run())
		for range 3 {
			if _, err := c.Start(Command{Args: []string{"sh", "-c", script}, Env: os.Environ(), Output: os.Stdout}); err != nil {
				panic(err)
			}
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		c.Close()
		return
	}
	os.Exit(m.Run())
}

// children is shared by the tests: there must be only one.
var children = sync.OnceValue(func() *Children {
	c, err := New()
	if err != nil {
		panic(err)
	}
	return c
})

// run runs a script to its end and returns what it wrote.
func run(t *testing.T, args ...string) (Exit, string) {
	t.Helper()
	var text bytes.Buffer
	out, err := OpenOutput(func(line []byte) { text.Write(line) })
	if err != nil {
		t.Fatal(err)
	}
	p, err := children().Start(Command{Args: args, Env: os.Environ(), Output: out.Child})
	out.Child.Close()
	if err != nil {
		t.Fatal(err)
	}
	e := p.Wait()
	out.Finish()
	p.Signal(syscall.SIGKILL) // does nothing to a process that has ended
	return e, text.String()
}

func TestExits(t *testing.T) {
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
		began := time.Now()
		e, _ := run(t, "sh", "-c", tt.script)
		if e.Code != tt.code || e.Signal != tt.signal || e.At.Before(began) {
			t.Errorf("%s: %+v", tt.script, e)
		}
	}
}

// Output arrives whole, on one pipe, in order.
func TestOutput(t *testing.T) {
	_, out := run(t, "sh", "-c", "echo out; echo err >&2; printf 'no newline'; cat")
	if out != "out\nerr\nno newline" {
		t.Errorf("output %q", out)
	}
	_, out = run(t, "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x")
	if len(out) != 200000 {
		t.Errorf("%d bytes of a long line", len(out))
	}
}

func TestStartErrors(t *testing.T) {
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
	for _, tt := range []struct {
		cmd  Command
		code int
		want string
	}{
		{Command{Args: []string{"no-such-command"}}, 127, "no-such-command: command not found"},
		{Command{Args: []string{""}}, 127, `"": command not found`},
		{Command{Args: []string{dir + "/missing"}}, 127, dir + "/missing: no such file or directory"},
		{Command{Args: []string{plain + "/x"}}, 127, plain + "/x: not a directory"},
		{Command{Args: []string{plain}}, 126, plain + ": permission denied"},
		{Command{Args: []string{dir}}, 126, dir + ": is a directory"},
		{Command{Args: []string{binary}}, 126, binary + ": exec format error"},
		{Command{Args: []string{lost}}, 127, lost + ": no such file or directory"},
		{Command{Args: []string{"plain"}, Env: []string{"PATH=" + dir}}, 126, plain + ": permission denied"},
		{Command{Args: []string{"sh"}, Env: []string{}}, 127, "sh: command not found"},
		{Command{Args: []string{"true"}, Dir: dir + "/missing"}, 126, "working directory " + dir + "/missing: no such file or directory"},
		{Command{Args: []string{"true"}, Dir: plain}, 126, "working directory " + plain + ": not a directory"},
	} {
		if tt.cmd.Env == nil {
			tt.cmd.Env = os.Environ()
		}
		tt.cmd.Output = null(t)
		_, err := children().Start(tt.cmd)
		failure, ok := err.(*StartError)
		if !ok || failure.Code != tt.code || failure.Error() != tt.want {
			t.Errorf("%q: %v, want %d, %s", tt.cmd.Args, err, tt.code, tt.want)
		}
	}
}

func null(t *testing.T) *os.File {
	t.Helper()
	file, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// A relative program is looked for in its directory.
func TestDir(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\nexit 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := children().Start(Command{Args: []string{"./here"}, Env: os.Environ(), Dir: dir, Output: null(t)})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(); e.Code != 5 {
		t.Errorf("%+v", e)
	}
}

// family has a process in its group, one that has left it, and one that shows no
// environment; all of them write their numbers down.
const family = `
sleep 1000 & echo $!
setsid sh -c 'echo $$; exec sleep 1000' &
env -i sleep 1000 & echo $!
`

// What a process leaves behind ends soon after it, wherever it has gone, and keeps
// nobody waiting that holds the output open.
func TestStrays(t *testing.T) {
	lines := make(chan string, 10)
	out, err := OpenOutput(func(line []byte) { lines <- strings.TrimSpace(string(line)) })
	if err != nil {
		t.Fatal(err)
	}
	p, err := children().Start(Command{Args: []string{"sh", "-c", family + "exec sleep 1000"}, Env: os.Environ(), Output: out.Child})
	held := out.Child // open for as long as the test waits for its end
	if err != nil {
		t.Fatal(err)
	}
	pids := []string{<-lines, <-lines, <-lines}
	_ = syscall.Kill(p.pid, syscall.SIGKILL) // and not its group
	p.Wait()
	out.Finish()
	held.Close()
	gone(t, pids)
}

// The guard does not touch the number of a group that has ended.
func TestGroupsLeft(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g := guardian{input: w}
	for _, group := range []int{11, 12, -11, 13, -13, 13} {
		g.tell(group)
	}
	fmt.Fprint(w, "garbage\n\n-1")
	w.Close()
	if got := groupsLeft(r); !maps.Equal(got, map[int]bool{12: true, 13: true}) {
		t.Errorf("groups left: %v", got)
	}
}

// What has ended is told to the guard.
func TestGuardIsTold(t *testing.T) {
	c := children()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	real := c.guard.input
	c.mu.Lock()
	c.guard.input = w
	c.mu.Unlock()
	run(t, "true")
	run(t, "false")
	c.mu.Lock()
	c.guard.input = real
	c.mu.Unlock()
	w.Close()
	text, err := io.ReadAll(r)
	if got := groupsLeft(bytes.NewReader(text)); err != nil || len(strings.Fields(string(text))) != 4 || len(got) != 0 {
		t.Errorf("it was told %q: %v", text, err)
	}
}

// parent is another process of the test program that runs family three times.
type parent struct {
	*exec.Cmd
	stdin io.Closer
	run   string
	pids  []string
}

func startParent(t *testing.T, script string) *parent {
	t.Helper()
	p := &parent{Cmd: exec.Command("/proc/self/exe")}
	p.Env = append(os.Environ(), parentOf+"="+script)
	stdin, err1 := p.StdinPipe()
	stdout, err2 := p.StdoutPipe()
	if err := errors.Join(err1, err2, p.Start()); err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	lines := bufio.NewScanner(stdout)
	for len(p.pids) < 10 && lines.Scan() {
		p.pids = append(p.pids, lines.Text())
	}
	if len(p.pids) < 10 {
		t.Fatalf("it wrote %q", p.pids)
	}
	p.run, p.pids = p.pids[0], p.pids[1:]
	return p
}

// When the parent is killed no process of it is left.
func TestKilledParent(t *testing.T) {
	p := startParent(t, family+"wait")
	if n := len(marked(p.run)); n < 9 {
		t.Errorf("%d processes are marked", n)
	}
	_ = p.Process.Kill()
	_ = p.Wait()
	gone(t, p.pids)
}

// Nor when all that have its name are killed, or asked to end.
func TestGuardHasAnotherName(t *testing.T) {
	p := startParent(t, family+"wait")
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	guards := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if !bytes.Contains(line, []byte(guardName+"\x00"+p.run)) {
			continue
		}
		guards++
		if other, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm")); bytes.Equal(comm, other) {
			t.Errorf("the guard has the name of its program, %s", other)
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	if guards != 1 {
		t.Errorf("%d guards", guards)
	}
	_ = p.Process.Kill()
	_ = p.Wait()
	gone(t, p.pids)
}

// Close leaves nothing, not even what does not listen to signals, nor the guard.
func TestClose(t *testing.T) {
	p := startParent(t, "trap '' TERM HUP INT;"+family+"while :; do sleep 1; done")
	for pid := range marked(p.run) {
		p.pids = append(p.pids, strconv.Itoa(pid))
	}
	p.stdin.Close()
	_ = p.Wait() // Children may have reaped it
	if left := marked(p.run); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	gone(t, p.pids)
}

// gone waits until no process of these numbers is left.
func gone(t *testing.T, pids []string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute) // for a busy machine
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Errorf("process %d is left", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// alive reports whether there is such a process, other than one that only waits
// for its parent to notice its end.
func alive(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !bytes.Contains(status, []byte("State:\tZ"))
}
