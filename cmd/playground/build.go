package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed static
var static embed.FS

// site holds the files of the page, by name.
type site map[string][]byte

// programFile is the packed program. Its name also marks a folder written by this
// program.
const programFile = "playground.bin"

const thisPackage = "github.com/restartkit/restart/cmd/playground"

// build builds the page. The go command builds its program and caches it.
func build(ctx context.Context) (site, error) {
	folder, err := moduleFolder(ctx)
	if err != nil {
		return nil, err
	}
	s := make(site)
	if err := s.addStatic(); err != nil {
		return nil, err
	}
	if err := s.addExamples(filepath.Join(folder, "testdata")); err != nil {
		return nil, err
	}
	s.addAbout(ctx, folder)
	root, err := goCommand(ctx, folder, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	// The program needs the wasm_exec.js of its own Go version.
	if s["wasm_exec.js"], err = os.ReadFile(filepath.Join(strings.TrimSpace(root), "lib", "wasm", "wasm_exec.js")); err != nil {
		return nil, fmt.Errorf("this Go distribution is not complete: %w", err)
	}
	program, err := buildProgram(ctx, folder)
	if err != nil {
		return nil, err
	}
	s[programFile] = pack(program)
	return s, nil
}

// moduleFolder returns the folder of the module cmd, either from this program's source
// or from the working folder and its parents.
func moduleFolder(ctx context.Context) (string, error) {
	from := ""
	if _, file, _, ok := runtime.Caller(0); ok {
		if _, err := os.Stat(file); err == nil {
			from = filepath.Dir(file)
		}
	}
	folder, err := goCommand(ctx, from, nil, "list", "-f", "{{.Module.Dir}}", thisPackage)
	if err != nil {
		return "", fmt.Errorf("the source of this program is needed: run it as go -C cmd run ./playground in a clone of the repository: %w", err)
	}
	return strings.TrimSpace(folder), nil
}

// buildProgram returns the program as WebAssembly. Without inlining, the packed program
// is a tenth smaller. Speed matters less because the page bounds its work.
func buildProgram(ctx context.Context, folder string) ([]byte, error) {
	scratch, err := os.MkdirTemp("", "playground-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	file := filepath.Join(scratch, "playground.wasm")
	target := []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}
	if _, err := goCommand(ctx, folder, target, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-gcflags=all=-l", "-o", file, thisPackage+"/wasm"); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// goCommand runs the go command in a folder and returns its output.
func goCommand(ctx context.Context, folder string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The go command finishes its current steps and removes its files, or is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if message := strings.TrimSpace(stderr.String()); err != nil && message != "" {
		err = errors.New(message)
	}
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return stdout.String(), nil
}

// kubernetes is the version whose decisions the library makes, see docs/kubernetes.md.
const kubernetes = "1.37"

const repository = "https://github.com/restartkit/restart"

// addAbout writes the Kubernetes version and the page's commit into the page.
// Without git or outside a clone it writes only the repository.
func (s site) addAbout(ctx context.Context, folder string) {
	source, link := strings.TrimPrefix(repository, "https://"), repository
	if commit, ok := git(ctx, folder, "rev-parse", "HEAD"); ok {
		source, link = source+" at "+commit[:min(12, len(commit))], repository+"/tree/"+commit
		if changes, ok := git(ctx, folder, "status", "--porcelain", "--untracked-files=no"); !ok || changes != "" {
			source += ", with changes"
		}
	}
	s["index.html"] = []byte(strings.NewReplacer("{{kubernetes}}", kubernetes, "{{link}}", link, "{{source}}", source).Replace(string(s["index.html"])))
}

// git returns the output of a git command in a folder, and whether it succeeded.
func git(ctx context.Context, folder string, args ...string) (string, bool) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...).Output()
	return strings.TrimSpace(string(out)), err == nil
}

// addStatic adds the unchanged files.
func (s site) addStatic() error {
	return fs.WalkDir(static, "static", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		s[entry.Name()], err = static.ReadFile(path)
		return err
	})
}

// example is a manifest offered by the page.
type example struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// addExamples adds the Jobs of a folder.
func (s site) addExamples(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	var all []example
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("kind: Job\n")) {
			all = append(all, example{strings.TrimSuffix(filepath.Base(file), ".yaml"), string(text)})
		}
	}
	s["examples.json"], err = json.Marshal(all)
	return err
}
