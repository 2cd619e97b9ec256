//go:build long

package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The guard looks at its children after a child has ended and once per generation of
// killed orphans, and not whenever one ends: ending many takes time in proportion to
// their number. (A program of its own is the guard: orphans become its children.)
func TestLooksDoNotGrowWithOrphans(t *testing.T) {
	const orphans, most = 300, 3
	if os.Getenv("PROCESS_TEST_LOOKS") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestLooksDoNotGrowWithOrphans$", "-test.v")
		cmd.Env = append(os.Environ(), "PROCESS_TEST_LOOKS=1")
		if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "--- PASS: TestLooks") {
			t.Fatalf("%v:\n%s", err, text)
		}
		return
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	guardEnd, err1 := newConn(pair[0])
	programEnd, err2 := newConn(pair[1])
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	g := newGuard(newRun(), guardEnd)
	if err := g.prepare(guardSettings{}); err != nil {
		t.Fatal(err)
	}
	g.overdue = true // no look because time passes
	looks, list := 0, g.look
	g.look = func() []int { looks++; return list() }
	go g.reap()
	script := fmt.Sprintf("for i in $(seq %d); do (true &); (sleep 1000 &); (setsid sleep 1000 &); done", orphans/3)
	g.start(&request{ID: 1, Args: []string{"sh", "-c", script}, Env: os.Environ()})
	for r := (reply{}); r.Kind != endedReply; {
		r = reply{}
		if err := programEnd.receive(&r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == startedReply {
			programEnd.takeFile().Close()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t.Logf("%d looks for %d orphans", looks, orphans)
	if looks == 0 || looks > most || len(list()) > 0 || g.dying != 0 {
		t.Errorf("%d looks, at most %d expected; %d children are left, %d dying", looks, most, len(list()), g.dying)
	}
}

// rootLeaver returns a program that an ordinary user can run and that runs what follows
// it as root, as sudo does.
func rootLeaver(t *testing.T) string {
	t.Helper()
	setpriv, err := exec.LookPath("setpriv")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("not tried: needs root, and setpriv")
	}
	path := copyForAll(t, setpriv, "become", 0o755|os.ModeSetuid)
	command := path + " --reuid 0 --regid 0 --clear-groups"
	cmd := exec.Command("sh", "-c", command+" id -ru")
	asOrdinaryUser(cmd)
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "0" {
		t.Skipf("not tried: needs a temporary folder whose programs may change their user: %v, %s", err, out)
	}
	return command
}

// copyForAll copies a program to a temporary folder that all users may read.
func copyForAll(t *testing.T, program, name string, mode os.FileMode) (path string) {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// ordinaryUser is a user that has no process and no rights.
const ordinaryUser = 54_321

// asOrdinaryUser has a program run as such a user.
func asOrdinaryUser(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
}

// A process that the user may not kill, such as one that sudo has started, is named, and
// holds up neither its program nor its guard.
func TestProcessThatCannotBeKilledIsNamed(t *testing.T) {
	become := rootLeaver(t)
	for name, script := range map[string]string{
		"left by a command": become + " setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000",
		"the command":       "exec " + become + " sh -c 'echo $$; exec sleep 1000'",
	} {
		for how, end := range map[string]func(p *testProgram){
			"closed":       func(p *testProgram) { p.stdin.Close() },
			"killed":       func(p *testProgram) { _ = p.Process.Kill() },
			"guard killed": func(p *testProgram) { _ = syscall.Kill(p.guard, syscall.SIGKILL); p.stdin.Close() },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				p := startProgram(t, script, asOrdinaryUser)
				t.Cleanup(func() {
					for _, pid := range p.pids {
						n, _ := strconv.Atoi(pid)
						_ = syscall.Kill(n, syscall.SIGKILL)
					}
				})
				end(p)
				text, _ := io.ReadAll(p.rest())
				if how != "killed" {
					for _, pid := range p.pids {
						if want := "process " + pid + " (sleep 1000) cannot be killed and is left: operation not permitted\n"; strings.Count(string(text), want) != 1 {
							t.Errorf("want %q in\n%s", want, text)
						}
					}
					if !strings.Contains(string(text), "closed\n") {
						t.Errorf("it wrote\n%s", text)
					}
				}
				gone(t, []string{strconv.Itoa(p.guard), strconv.Itoa(p.Process.Pid)})
				for _, pid := range p.pids {
					if !alive(t, pid) {
						t.Errorf("process %s was killed after all", pid)
					}
				}
			})
		}
	}
}

// A command that the user may not kill counts as killed when its program has tried to.
func TestCommandThatCannotBeKilledCountsAsKilled(t *testing.T) {
	p := startProgram(t, "exec "+rootLeaver(t)+" sh -c 'echo $$; exec sleep 1000'", asOrdinaryUser)
	t.Cleanup(func() {
		for _, pid := range p.pids {
			n, _ := strconv.Atoi(pid)
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	})
	fmt.Fprintln(p.stdin, "kill")
	ended, named := 0, 0
	for (ended < 3 || named < 3) && p.lines.Scan() {
		switch line := p.lines.Text(); {
		case line == "ended 137 false":
			ended++
		case strings.Contains(line, "(sleep 1000) cannot be killed and is left"):
			named++
		default:
			t.Errorf("it wrote %s", line)
		}
	}
	p.stdin.Close()
	if text, _ := io.ReadAll(p.rest()); string(text) != "closed\n" {
		t.Errorf("%d ended, %d are named; then it wrote %s", ended, named, text)
	}
}

// A killed process that does not end, since it is frozen, is named and holds nothing up.
func TestFrozenProcessIsNamed(t *testing.T) {
	freezer := filepath.Join("/sys/fs/cgroup/freezer", "process-test-"+newRun().String())
	if err := os.Mkdir(freezer, 0o755); err != nil {
		t.Skip("not tried: needs the freezer of control groups version 1, and root: ", err)
	}
	t.Cleanup(func() { _ = os.Remove(freezer) })
	freeze := func(t *testing.T, state string) {
		if err := os.WriteFile(filepath.Join(freezer, "freezer.state"), []byte(state), 0); err != nil {
			t.Fatal(err)
		}
	}
	p := startProgram(t, "setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000")
	for _, pid := range p.pids {
		for !strings.HasPrefix(commandLine(pid), "sleep") { // it said its number before
			time.Sleep(time.Millisecond)
		}
		if err := os.WriteFile(filepath.Join(freezer, "cgroup.procs"), []byte(pid), 0); err != nil {
			t.Fatal(err)
		}
	}
	freeze(t, "FROZEN")
	defer freeze(t, "THAWED")
	p.stdin.Close()
	text, _ := io.ReadAll(p.rest())
	for _, pid := range p.pids {
		if want := "process " + pid + " (sleep 1000) was killed but does not end"; strings.Count(string(text), want) != 1 {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	gone(t, []string{strconv.Itoa(p.guard)})
	freeze(t, "THAWED")
	gone(t, p.pids)
	if err := KillRun(p.run); err != nil { // removes the group
		t.Error(err)
	}
}

// A process in a frozen control group of version 2 can be killed.
func TestProcessInAFrozenGroupIsKilled(t *testing.T) {
	own := ownCgroup()
	group := cgroup(filepath.Join(own, "process-test-"+newRun().String()))
	if err := os.Mkdir(string(group), 0o755); own == "" || err != nil {
		t.Skip("not tried: needs the right to make a control group of version 2: ", err)
	}
	t.Cleanup(func() { _ = group.remove() })
	p := startProgram(t, "echo $$; exec sleep 1000")
	for _, pid := range p.pids {
		if err := group.write("cgroup.procs", pid); err != nil {
			t.Fatal(err)
		}
	}
	if err := group.write("cgroup.freeze", "1"); err != nil {
		t.Fatal(err)
	}
	p.stdin.Close()
	if text, _ := io.ReadAll(p.rest()); strings.Contains(string(text), "left") || !strings.Contains(string(text), "closed\n") {
		t.Errorf("it wrote\n%s", text)
	}
	gone(t, append(p.pids, strconv.Itoa(p.guard)))
}

// A guard that somebody stops again and again starts children and ends nonetheless.
func TestStoppedGuardServes(t *testing.T) {
	guard := func() int {
		p, _ := start(t, "true")
		<-p.Done()
		return p.guard.pid
	}
	pid := guard()
	for range 20 {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		if e, out := run(t, "sh", "-c", "echo hello; exit 3"); e.Code != 3 || out != "hello\n" {
			t.Fatalf("%+v, %q", e, out)
		}
	}
	if guard() != pid {
		t.Error("it was abandoned")
	}
}

// A guard that is silent for answerTime while an answer is due is abandoned; one that
// answers others is only busy.
func TestSilentGuardIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var abandoned time.Duration
		g := &guardian{exited: make(chan struct{})}
		g.abandon = func() { abandoned = time.Since(began) }
		for i := range 5 {
			time.AfterFunc(time.Duration(i)*answerTime*2/3, func() { g.heard.Store(time.Now().UnixNano()) })
		}
		g.awaitAnswer(make(chan struct{}))
		if want := 4*answerTime*2/3 + answerTime; abandoned != want {
			t.Errorf("abandoned after %v, want %v", abandoned, want)
		}
		abandoned = 0
		done := make(chan struct{})
		time.AfterFunc(answerTime/2, func() { close(done) })
		if g.awaitAnswer(done); abandoned != 0 {
			t.Error("abandoned although it has answered")
		}
		time.AfterFunc(answerTime/2, func() { close(g.exited) })
		if g.awaitAnswer(make(chan struct{})); abandoned != 0 {
			t.Error("abandoned although it has ended")
		}
	})
}

// The first process of a command dies with its guard, even if the program cannot see to
// that any more.
func TestFirstProcessDiesWithItsGuard(t *testing.T) {
	p := startProgram(t, "echo $$; exec sleep 1000")
	_ = syscall.Kill(p.Process.Pid, syscall.SIGSTOP)
	_ = syscall.Kill(p.guard, syscall.SIGKILL)
	_ = p.Process.Kill()
	t.Cleanup(func() { _ = KillRun(p.run) })
	gone(t, p.pids)
}

// A process that has lost its mark and its parents is known by its control group.
func TestKillRunFindsProcessesByTheirGroup(t *testing.T) {
	if g := cgroupFor(newRun()); g == "" || os.Mkdir(string(g), 0o755) != nil || os.Remove(string(g)) != nil {
		t.Skip("not tried: needs the right to make a control group of version 2")
	}
	p := startProgram(t, "(setsid prlimit --locks=5 sh -c 'echo $$; exec sleep 1000' &) ; exec sleep 1000")
	_ = syscall.Kill(p.Process.Pid, syscall.SIGSTOP)
	_ = syscall.Kill(p.guard, syscall.SIGKILL)
	_ = p.Process.Kill()
	_ = p.Wait()
	if err := KillRun(p.run); err != nil {
		t.Error(err)
	}
	gone(t, p.pids)
	run, err := parseRun(p.run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(cgroupFor(run))); !os.IsNotExist(err) {
		t.Errorf("the group is left: %v", err)
	}
}

// However a program and its guard end, the group of the run is removed.
func TestGroupIsRemoved(t *testing.T) {
	for name, end := range map[string]func(p *testProgram){
		"killed":       func(p *testProgram) { _ = p.Process.Kill() },
		"closed":       func(p *testProgram) { p.stdin.Close() },
		"guard killed": func(p *testProgram) { _ = syscall.Kill(p.guard, syscall.SIGKILL); p.stdin.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := startProgram(t, "echo $$; exec sleep 1000")
			run, err := parseRun(p.run)
			if err != nil {
				t.Fatal(err)
			}
			group := string(cgroupFor(run))
			if _, err := os.Stat(group); err != nil {
				t.Skip("not tried: needs the right to make a control group of version 2")
			}
			end(p)
			gone(t, append(p.pids, strconv.Itoa(p.guard)))
			_, _ = io.ReadAll(p.rest())
			gone(t, []string{strconv.Itoa(p.Process.Pid)})
			if _, err := os.Stat(group); !os.IsNotExist(err) {
				t.Errorf("the group is left: %v", err)
			}
		})
	}
}

// A guard whose program has gone before the guard is ready leaves no group.
func TestGuardWithoutProgramLeavesNoGroup(t *testing.T) {
	run := newRun()
	group := cgroupFor(run)
	if group == "" || os.Mkdir(string(group), 0o755) != nil {
		t.Skip("not tried: needs the right to make a control group of version 2")
	}
	settings, err := json.Marshal(guardSettings{Run: run, Group: group})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Close(pair[0])
	socket := os.NewFile(uintptr(pair[1]), "socket")
	defer socket.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{guardName, string(settings)}
	cmd.ExtraFiles = []*os.File{socket}
	if err := cmd.Run(); err == nil {
		t.Error("it ran without a program")
	}
	if _, err := os.Stat(string(group)); !os.IsNotExist(err) {
		t.Errorf("the group is left: %v", err)
	}
}

// rest returns what the program writes that p.lines has not read.
func (p *testProgram) rest() io.Reader {
	read, write := io.Pipe()
	go func() {
		for p.lines.Scan() {
			fmt.Fprintln(write, p.lines.Text())
		}
		write.Close()
	}()
	return bufio.NewReader(read)
}
