//go:build long

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/restartkit/restart/conformance/explore/jobworld"
)

// The patches in testdata mend the faults that the stories of the same names show. They change
// Kubernetes' Job controller by a few lines each. TestPatches builds it with them, from a copy of
// Kubernetes' module. Flags for another version of Kubernetes, such as -modfile, may be in
// GOFLAGS. docs/kubernetes-faults.md describes the faults and the patches.

// patches are in the order in which they apply. Some need another one to compile or to help.
var patches = []struct{ name, needs string }{
	{name: "created-twice"},
	{name: "suspended"},
	{name: "failed-and-completed"},
	{name: "complete-without-success"},
	{name: "ended-beside-a-pod", needs: "created-twice"},
	{name: "counted-again"},
	{name: "ready-above-active"},
	{name: "ended-index-again", needs: "created-twice"},
}

// module is the root of this module.
const module = "../.."

func TestPatches(t *testing.T) {
	c := newCopy(t)
	for _, p := range patches {
		t.Run(p.name, func(t *testing.T) {
			c.patch(t, p.needs, p.name)
			t.Run("mends its fault", func(t *testing.T) { c.mends(t, p.name) })
			t.Run("passes Kubernetes' tests", c.passes)
		})
	}
	t.Run("all", func(t *testing.T) {
		c.patch(t, allPatches()...)
		t.Run("pass Kubernetes' tests", c.passes)
		t.Run("leave no fault", c.leavesNone)
	})
}

// mends checks that the story of a fault either takes another course or breaks nothing.
func (c *copied) mends(t *testing.T, name string) {
	out, err := exec.Command(c.explore(t), "-story", storyOf(name)).CombinedOutput()
	code := exitCode(t, err)
	t.Logf("exit code %d: %s", code, out)
	if code == 1 {
		t.Error("the fault is still there")
	}
}

// passes runs Kubernetes' own tests of the Job controller.
func (c *copied) passes(t *testing.T) {
	out, err := c.command("test", "-count=1", "-vet=off", "k8s.io/kubernetes/pkg/controller/job").CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
}

// leavesNone checks that no history of the stories' Jobs breaks an invariant, and none of the
// table with up to two faults. A takeover by a process with older caches is left out: no patch
// is against it.
func (c *copied) leavesNone(t *testing.T) {
	explore := c.explore(t)
	for _, p := range patches {
		text, err := os.ReadFile(storyOf(p.name))
		if err != nil {
			t.Fatal(err)
		}
		story, err := jobworld.ParseStory(string(text))
		if err != nil {
			t.Fatal(err)
		}
		clean(t, explore, "-job", story.Job.String())
	}
	clean(t, explore, "-faults", "2", "-without", "takeover")
}

func clean(t *testing.T, explore string, args ...string) {
	t.Helper()
	out, err := exec.Command(explore, args...).Output()
	if code := exitCode(t, err); code != 0 {
		t.Errorf("%q: exit code %d", args, code)
	}
	t.Logf("%q:\n%s", args, out)
}

func storyOf(name string) string { return filepath.Join("testdata", name+".story") }

func allPatches() (names []string) {
	for _, p := range patches {
		names = append(names, p.name)
	}
	return names
}

// copied is a copy of Kubernetes' module.
type copied struct {
	dir string
	mod string // a copy of this module's go.mod that names dir
}

func newCopy(t *testing.T) *copied {
	t.Helper()
	file := filepath.Join(module, "go.mod")
	if flag := regexp.MustCompile(`-modfile=(\S+)`).FindStringSubmatch(goPrints(t, "env", "GOFLAGS")); flag != nil {
		if file = flag[1]; !filepath.IsAbs(file) {
			file = filepath.Join(module, file)
		}
	}
	source := goPrints(t, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	c := &copied{dir: filepath.Join(t.TempDir(), filepath.Base(source)), mod: filepath.Join(t.TempDir(), "kubernetes.mod")}
	if err := os.CopyFS(c.dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	copyFile(t, c.mod, file)
	copyFile(t, strings.TrimSuffix(c.mod, ".mod")+".sum", strings.TrimSuffix(file, ".mod")+".sum")
	goPrints(t, "mod", "edit", "-replace=k8s.io/kubernetes="+c.dir, c.mod)
	return c
}

// patch applies patches until the end of the test. An empty name stands for none.
func (c *copied) patch(t *testing.T, names ...string) {
	t.Helper()
	apply := func(name string, flags ...string) {
		patch, err := filepath.Abs(filepath.Join("testdata", name+".patch"))
		if err != nil {
			t.Fatal(err)
		}
		git := exec.Command("git", append(append([]string{"apply"}, flags...), patch)...)
		git.Dir = c.dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	for _, name := range names {
		if name != "" {
			apply(name)
			t.Cleanup(func() { apply(name, "-R") })
		}
	}
}

// explore builds this program with the copy and returns its path.
func (c *copied) explore(t *testing.T) string {
	t.Helper()
	explore := filepath.Join(t.TempDir(), "explore")
	if out, err := c.command("build", "-o", explore, "./explore/kubernetes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return explore
}

// command returns a go command that builds with the copy. Kubernetes' tests may require more
// modules.
func (c *copied) command(command string, args ...string) *exec.Cmd {
	return goCommand(append([]string{command, "-trimpath", "-mod=mod", "-modfile=" + c.mod}, args...)...)
}

// copyFile copies a file, which becomes writable, and makes the folders of the copy.
func copyFile(t *testing.T, to, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// exitCode returns the exit code of a command that was started.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		return failed.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// goCommand returns a go command to be run in the root of this module.
func goCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = module
	return cmd
}

// goPrints returns what a go command prints.
func goPrints(t *testing.T, args ...string) string {
	t.Helper()
	out, err := goCommand(args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
