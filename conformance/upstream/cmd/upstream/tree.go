package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// The copied modules. A build uses at most one copy, because nearly every package
// imports client-go and would have to be recompiled.
var modules = []string{"k8s.io/kubernetes", "k8s.io/client-go"}

// A tree holds the copies.
type tree struct {
	dir      string
	swapped  bool
	version  string   // of Kubernetes, such as 1.37
	mod      string   // the go.mod that chose it
	replaced []string // what every build takes from the tree, besides a copied module
}

// newTree copies the modules to dir. If swapped, it swaps in the adapters.
func newTree(ctx context.Context, dir string, swapped bool) (*tree, error) {
	mod, err := modFlag(ctx)
	if err != nil {
		return nil, err
	}
	t := &tree{dir: dir, swapped: swapped, mod: mod}
	for _, module := range modules {
		source, err := moduleDir(ctx, module)
		if err != nil {
			return nil, err
		}
		if module == modules[0] {
			t.version = minor.FindString(filepath.Base(source))
		}
		target := filepath.Join(dir, module)
		if err := os.RemoveAll(target); err != nil {
			return nil, err
		}
		if err := copyTree(target, source); err != nil {
			return nil, err
		}
		// -trimpath names a file by its module and version.
		if err := relink(filepath.Join(dir, filepath.Dir(module), filepath.Base(source)), filepath.Base(module)); err != nil {
			return nil, err
		}
	}
	if swapped {
		of := "before-1.38"
		if t.version == "1.38" {
			of = t.version
		}
		for _, swaps := range []string{"all", of} {
			if err := copyTree(dir, filepath.Join("swaps/testdata", swaps)); err != nil {
				return nil, err
			}
		}
		if err := t.edit(); err != nil {
			return nil, err
		}
	}
	if t.version == "1.38" {
		return t, t.addTesting(ctx)
	}
	return t, nil
}

// minor finds the minor version of Kubernetes in the name of a folder of the module cache.
var minor = regexp.MustCompile(`\d+\.\d+`)

// addTesting adds the module k8s.io/ktesting, which the tests of Kubernetes 1.38 import. In
// 1.37 it was a package of Kubernetes, which is taken here, because module proxies refuse
// betas of the module. Only in 1.38 does the context of a SyncTest end with the test.
func (t *tree) addTesting(ctx context.Context) error {
	const module = "k8s.io/ktesting"
	source, err := moduleDir(ctx, modules[0]+"@v1.37.2")
	if err != nil {
		return err
	}
	dir := filepath.Join(t.dir, module)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	const before = "test/utils/ktesting"
	if err := copyTree(dir, filepath.Join(source, before)); err != nil {
		return err
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte(modules[0]+"/"+before), []byte(module))
		text = bytes.Replace(text, []byte("tCtx.WithoutCancel().withTB(t)"), []byte("tCtx.WithoutCancel().withTB(t).WithCancel()\ndefer tCtx.Cancel(\"the test has ended\")"), 1)
		return os.WriteFile(path, text, 0o644)
	})
	t.replaced = append(t.replaced, module)
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+module+"\n\ngo 1.26.0\n"), 0o644))
}

// modFlag returns the go.mod that -modfile in GOFLAGS names, which chooses the version of
// Kubernetes. Without it, that is the module's own.
func modFlag(ctx context.Context) (string, error) {
	flags, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	for _, flag := range strings.Fields(string(flags)) {
		if file, ok := strings.CutPrefix(flag, "-modfile="); ok {
			return file, nil
		}
	}
	return "../go.mod", nil
}

func relink(link, target string) error {
	if err := os.RemoveAll(link); err != nil {
		return err
	}
	return os.Symlink(target, link)
}

func moduleDir(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w\n%s%s", module, err, output, stderr.Bytes())
	}
	var info struct{ Dir string }
	if err := json.Unmarshal(output, &info); err != nil {
		return "", err
	}
	return info.Dir, nil
}

// copyTree copies the folder source over target. Unlike the module cache, the copy is
// writable.
func copyTree(target, source string) error {
	return filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		to := filepath.Join(target, relative)
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
}

// modFile writes the go.mod for building a package and returns its path.
func (t *tree) modFile(pkg string) (string, error) {
	path := filepath.Join(t.dir, "kubernetes.mod")
	replaced := modules[0]
	if strings.HasPrefix(pkg, modules[1]+"/") {
		path, replaced = filepath.Join(t.dir, "client-go.mod"), modules[1]
	}
	text, err := os.ReadFile(t.mod)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return "", err
	}
	sums, err := os.ReadFile(strings.TrimSuffix(t.mod, ".mod") + ".sum")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(strings.TrimSuffix(path, ".mod")+".sum", sums, 0o644); err != nil {
		return "", err
	}
	edit := []string{"mod", "edit"}
	for _, module := range append([]string{replaced}, t.replaced...) {
		edit = append(edit, "-replace="+module+"="+filepath.Join(t.dir, module))
	}
	output, err := exec.Command("go", append(edit, path)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go mod edit: %w\n%s", err, output)
	}
	return path, nil
}

// build compiles the tests of a suite, without vet, which takes a quarter of an hour for
// Kubernetes. With -trimpath, what it compiles is found by the next run, whose tree is in
// another folder.
func (t *tree) build(ctx context.Context, s suite) (binary string, err error) {
	mod, err := t.modFile(s.pkg)
	if err != nil {
		return "", err
	}
	binary = filepath.Join(t.dir, s.name+".test")
	return binary, compile(ctx, "test", "-c", "-vet=off", "-trimpath", "-mod=mod", "-modfile="+mod, "-o", binary, s.pkg)
}

// compile runs the go command.
func compile(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	inGroup(cmd)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot compile: %w\n%s", err, output)
	}
	return nil
}
