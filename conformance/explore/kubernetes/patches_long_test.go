//go:build long

package main

import (
	"encoding/json"
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
// Kubernetes' Job controller by a few lines each. The tests below build it with them, by
// go build -overlay, and leave the cache of modules as it is. Flags for another version of
// Kubernetes, such as -modfile, may be in GOFLAGS. docs/kubernetes-faults.md describes the faults
// and the patches.

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

// Under a controller with its patch, the story of a fault either takes another course or breaks
// nothing.
func TestPatchMendsItsFault(t *testing.T) {
	for _, p := range patches {
		t.Run(p.name, func(t *testing.T) {
			explore := patched(t, p.needs, p.name)
			out, err := exec.Command(explore, "-story", storyOf(p.name)).CombinedOutput()
			code := exitCode(t, err)
			t.Logf("exit code %d: %s", code, out)
			if code == 1 {
				t.Error("the fault is still there")
			}
		})
	}
}

// Under a controller with all patches, no history of the stories' Jobs breaks an invariant, and
// none of the table with up to two faults. A takeover by a process with older caches is left
// out: no patch is against it.
func TestPatchedControllerIsClean(t *testing.T) {
	explore := patched(t, allPatches()...)
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

// Kubernetes' own tests of the Job controller pass with each patch, and with all of them.
func TestPatchesPassTheTestsOfTheController(t *testing.T) {
	mod := requirements(t)
	test := func(name string, names ...string) {
		t.Run(name, func(t *testing.T) {
			out, err := goCommand("test", "-count=1", "-vet=off", "-mod=mod", "-modfile="+mod, "-overlay="+overlay(t, names...), "k8s.io/kubernetes/pkg/controller/job").CombinedOutput()
			if t.Logf("%s", out); err != nil {
				t.Error(err)
			}
		})
	}
	for _, p := range patches {
		test(p.name, p.needs, p.name)
	}
	test("all", allPatches()...)
}

// requirements returns a copy of this module's go.mod, to which the go command adds what only
// the tests of Kubernetes require.
func requirements(t *testing.T) string {
	t.Helper()
	file := filepath.Join(module, "go.mod")
	if flag := regexp.MustCompile(`-modfile=(\S+)`).FindStringSubmatch(goPrints(t, "env", "GOFLAGS")); flag != nil {
		if file = flag[1]; !filepath.IsAbs(file) {
			file = filepath.Join(module, file)
		}
	}
	copied := filepath.Join(t.TempDir(), "kubernetes.mod")
	copyFile(t, copied, file)
	copyFile(t, strings.TrimSuffix(copied, ".mod")+".sum", strings.TrimSuffix(file, ".mod")+".sum")
	return copied
}

func storyOf(name string) string { return filepath.Join("testdata", name+".story") }

func allPatches() (names []string) {
	for _, p := range patches {
		names = append(names, p.name)
	}
	return names
}

// patched builds this program with a patched Kubernetes and returns its path.
func patched(t *testing.T, names ...string) string {
	t.Helper()
	explore := filepath.Join(t.TempDir(), "explore")
	if out, err := goCommand("build", "-overlay", overlay(t, names...), "-o", explore, "./explore/kubernetes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return explore
}

// overlay patches copies of Kubernetes' files and returns the file that puts them in the place
// of the files in the cache of modules. An empty name stands for no patch.
func overlay(t *testing.T, names ...string) string {
	t.Helper()
	dir, source := t.TempDir(), goPrints(t, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	replace := struct{ Replace map[string]string }{map[string]string{}}
	for _, name := range names {
		if name == "" {
			continue
		}
		patch, err := filepath.Abs(filepath.Join("testdata", name+".patch"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(patch)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^--- a/(.+)$`).FindAllSubmatch(text, -1) {
			original, copied := filepath.Join(source, string(m[1])), filepath.Join(dir, string(m[1]))
			if replace.Replace[original] == "" {
				copyFile(t, copied, original)
				replace.Replace[original] = copied
			}
		}
		apply := exec.Command("git", "apply", patch)
		apply.Dir = dir
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	text, err := json.Marshal(replace)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
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
