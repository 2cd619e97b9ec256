//go:build long

package process

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A guard that is killed is reported, and what ran below it is killed by the
// program, which goes on with another one.
func TestKilledGuardIsReplaced(t *testing.T) {
	p := startProgram(t, family()+"wait")
	_ = syscall.Kill(p.guard, syscall.SIGKILL)
	text := ""
	for strings.Count(text, "ended 137 true\n") < 3 || !strings.Contains(text, "the guard") {
		if !p.lines.Scan() {
			t.Fatalf("it wrote %q", text)
		}
		text += p.lines.Text() + "\n"
	}
	for _, pid := range p.pids {
		if alive(t, pid) {
			t.Errorf("process %s is left: %s", pid, commandLine(pid))
		}
	}
	if want := fmt.Sprintf("the guard (process %d) has ended (killed); the 3 running below it", p.guard); !strings.Contains(text, want) {
		t.Errorf("want %q:\n%s", want, text)
	}
}

// With another guard the program goes on as before. (A program of its own does that,
// since the killed guard's children become those of its program.)
func TestNextGuardServesAsTheFirst(t *testing.T) {
	if os.Getenv("PROCESS_TEST_NEXT_GUARD") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestNextGuardServesAsTheFirst$", "-test.v")
		cmd.Env = append(os.Environ(), "PROCESS_TEST_NEXT_GUARD=1")
		if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "--- PASS: TestNextGuardServesAsTheFirst") {
			t.Fatalf("%v:\n%s", err, text)
		}
		return
	}
	guard := func() int {
		shared().mu.Lock()
		defer shared().mu.Unlock()
		if shared().guard == nil {
			return 0
		}
		return shared().guard.pid
	}
	p, _ := start(t, "sleep", "1000")
	first := guard()
	_ = syscall.Kill(first, syscall.SIGKILL)
	if e := p.Wait(); e.Code != 137 || !e.Lost {
		t.Errorf("%+v", e)
	}
	for i := range 50 {
		if pid := guard(); i%10 == 0 && pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if e, out := run(t, "sh", "-c", "echo hello; exit 3"); !e.Lost && (e.Code != 3 || out != "hello\n") {
			t.Errorf("%+v, %q", e, out)
		}
	}
	if guard() == first {
		t.Error("it has the same guard")
	}
	shared().Close()
}

// A stopped guard continues when its program ends in any way.
func TestStoppedGuardGoesOn(t *testing.T) {
	for name, end := range map[string]func(p *testProgram){
		"killed": func(p *testProgram) { _ = p.Process.Kill() },
		"closed": func(p *testProgram) { p.stdin.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := startProgram(t, "echo $$; exec sleep 1000")
			_ = syscall.Kill(p.guard, syscall.SIGSTOP)
			t.Cleanup(func() { _ = syscall.Kill(p.guard, syscall.SIGCONT) })
			end(p)
			gone(t, append(p.pids, strconv.Itoa(p.guard)))
		})
	}
}

// A child can be signalled whose guard was stopped.
func TestSignalReachesAStoppedGuard(t *testing.T) {
	p, _ := start(t, "sleep", "1000")
	_ = syscall.Kill(p.guard.pid, syscall.SIGSTOP)
	p.Signal(syscall.SIGTERM)
	if e := p.Wait(); e.Signal != syscall.SIGTERM {
		t.Errorf("%+v", e)
	}
}
