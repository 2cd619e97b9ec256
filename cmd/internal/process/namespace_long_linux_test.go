//go:build long

package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// inNamespace has a program run as process 1 of a PID namespace, by what unshare is told.
func inNamespace(t *testing.T, options ...string) func(cmd *exec.Cmd) {
	t.Helper()
	if err := exec.Command("unshare", append(options, "true")...).Run(); err != nil {
		t.Skip("not tried: needs unshare, and the right to make PID namespaces: ", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func(cmd *exec.Cmd) {
		cmd.Path, _ = exec.LookPath("unshare")
		cmd.Args = append(append([]string{"unshare"}, options...), self)
	}
}

// Process 1 gets the orphans of others, such as those of docker exec. It reaps them, and
// spares them when it kills what a killed guard has left.
func TestProcess1ReapsTheOrphansOfOthers(t *testing.T) {
	p := startProgram(t, daemon+"daemon sleep 1000; exec sleep 1000", inNamespace(t, "-pf", "--mount-proc", "--kill-child"))
	var init string // as this process sees it
	for pid := range processes {
		if parent, _ := parentOf(pid); parent == p.Process.Pid {
			init = strconv.Itoa(pid)
		}
	}
	enter := func(script string) string {
		out, err := exec.Command("nsenter", "-t", init, "-p", "-m", "sh", "-c", script).Output()
		if err != nil {
			t.Skip("not tried: needs nsenter, and the right to enter namespaces: ", err)
		}
		return strings.TrimSpace(string(out))
	}
	stranger := enter("(setsid sleep 1000 <&- >/dev/null 2>&1 & echo $!)")
	ending := enter("(setsid sleep 1000 <&- >/dev/null 2>&1 & echo $!)")
	reaped := func(pid string) bool { return enter("test -d /proc/"+pid+" || echo reaped") == "reaped" }
	if reaped(stranger) || reaped(ending) {
		t.Fatal("the processes of others have ended")
	}
	enter("kill -KILL " + ending)
	programtest.Eventually(t, "an orphan of others is reaped", func() bool { return reaped(ending) })
	enter("kill -KILL " + strconv.Itoa(p.guard))
	var text string
	for strings.Count(text, "ended 137 true\n") < 3 && p.lines.Scan() {
		text += p.lines.Text() + "\n"
	}
	for _, pid := range p.pids {
		programtest.Eventually(t, "what the guard left is reaped", func() bool { return reaped(pid) })
	}
	if reaped(stranger) {
		t.Error("an orphan of others was killed with what the guard has left")
	}
	p.stdin.Close()
	if text, _ := io.ReadAll(p.rest()); !strings.Contains(string(text), "closed\n") {
		t.Errorf("it wrote %s", text)
	}
}

// A program whose process had children before, as after exec in a shell, does the same.
func TestChildrenFromBeforeAreReaped(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before := make([]int, 2)
	p := startProgram(t, "echo $$; exec sleep 1000", func(cmd *exec.Cmd) {
		cmd.Path, _ = exec.LookPath("sh")
		cmd.Args = []string{"sh", "-c", `sleep 1000 <&- >/dev/null & sleep 1000 <&- >/dev/null & exec "$0"`, self}
	})
	i := 0
	for pid := range processes {
		if parent, _ := parentOf(pid); parent == p.Process.Pid && pid != p.guard {
			if i < len(before) {
				before[i] = pid
			}
			i++
		}
	}
	if i != len(before) {
		t.Fatalf("%d children from before", i)
	}
	defer func() { _ = syscall.Kill(before[1], syscall.SIGKILL) }()
	_ = syscall.Kill(before[0], syscall.SIGKILL)
	programtest.Eventually(t, "a child from before is reaped", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", before[0]))
		return os.IsNotExist(err)
	})
	_ = syscall.Kill(p.guard, syscall.SIGKILL)
	gone(t, p.pids)
	p.stdin.Close()
	_, _ = io.ReadAll(p.rest())
	if !alive(t, strconv.Itoa(before[1])) {
		t.Error("a child from before was killed")
	}
}

// With the /proc of another namespace, the program ends nonetheless. It says which
// processes it cannot find, unless they are in a control group.
func TestForeignProcEndsNonetheless(t *testing.T) {
	self := copyForAll(t, "/proc/self/exe", "program", 0o755)
	options := []string{"-pf", "--kill-child"}
	if os.Geteuid() == 0 { // an ordinary user may make no control group
		options = append(options, "setpriv", "--reuid", strconv.Itoa(ordinaryUser), "--clear-groups")
	}
	for name, tt := range map[string]struct {
		script string
		left   bool
	}{
		"found":     {"echo $$; exec sleep 1000", false},
		"not found": {daemon + "daemon sleep 1000; exec sleep 1000", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(self)
			inNamespace(t, options...)(cmd)
			cmd.Args[len(cmd.Args)-1] = self
			cmd.Env = append(os.Environ(), programOf+"="+tt.script)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out := new(programtest.Buffer)
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			programtest.Eventually(t, "all run", func() bool { return strings.Count(out.String(), "\n") >= 5 })
			stdin.Close()
			_ = cmd.Wait()
			text := out.String()
			if !strings.HasPrefix(text, "/proc shows another PID namespace") || !strings.Contains(text, "closed\n") {
				t.Errorf("it wrote %s", text)
			}
			if strings.Contains(text, "processes that /proc does not show are left") != tt.left {
				t.Errorf("it wrote %s", text)
			}
		})
	}
}

// Where the limit of file locks leaves no room for marks, the program says so.
func TestLackOfMarksIsReported(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("prlimit", "--locks=100:100", self)
	cmd.Env = append(os.Environ(), programOf+"=true")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "the limit of file locks (ulimit -x) leaves no room for marks") {
		t.Errorf("%v: %s", err, out)
	}
}

// A limit of processes makes no Go program crash visibly: the program runs, or says why
// it does not.
func TestLimitOfProcessesIsReported(t *testing.T) {
	if os.Geteuid() != 0 || programtest.Race {
		t.Skip("not tried: needs root, to be a user without other processes, and no race detector, which needs threads of its own")
	}
	self := copyForAll(t, "/proc/self/exe", "program", 0o755)
	refused, ran := 0, 0
	for limit := 8; limit <= 8*threadsNeeded(); limit += 4 {
		cmd := exec.Command("prlimit", fmt.Sprintf("--nproc=%d:%[1]d", limit), self)
		cmd.Env = append(os.Environ(), programOf+"=sleep 0.01")
		asOrdinaryUser(cmd)
		// A user for each run, without the processes of the run before or of another test.
		cmd.SysProcAttr.Credential.Uid = uint32(1<<20 + os.Getpid()%1_000_000*1000 + limit)
		out, err := cmd.CombinedOutput()
		switch {
		case err == nil && strings.Contains(string(out), "closed\n"):
			ran++
		case strings.Contains(string(out), "limited (ulimit -u)"):
			refused++
		default:
			t.Errorf("%d processes: %v: %s", limit, err, out)
		}
	}
	if ran == 0 || refused == 0 {
		t.Errorf("it ran %d times and refused to %d times", ran, refused)
	}
}
