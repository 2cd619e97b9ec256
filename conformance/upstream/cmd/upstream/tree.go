package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The copied modules. A build uses at most one copy, because nearly every package
// imports client-go and would have to be recompiled.
var modules = []string{"k8s.io/kubernetes", "k8s.io/client-go"}

// A tree holds the copies.
type tree struct {
	dir     string
	swapped bool
}

// newTree copies the modules to dir. If swapped, it swaps in the adapters.
func newTree(ctx context.Context, dir string, swapped bool) (*tree, error) {
	for _, module := range modules {
		source, err := moduleDir(ctx, module)
		if err != nil {
			return nil, err
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
	t := &tree{dir, swapped}
	if swapped {
		if err := copyTree(dir, "swaps/testdata"); err != nil {
			return nil, err
		}
		if err := t.edit(); err != nil {
			return nil, err
		}
	}
	return t, nil
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
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return "", err
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(strings.TrimSuffix(path, ".mod")+".sum", sums, 0o644); err != nil {
		return "", err
	}
	output, err := exec.Command("go", "mod", "edit", "-replace="+replaced+"="+filepath.Join(t.dir, replaced), path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go mod edit: %w\n%s", err, output)
	}
	return path, nil
}

// build compiles the tests of a suite with the flags of kube/testenv's kube-apiserver,
// so that common packages are compiled only once. It omits vet, which takes a quarter
// of an hour for Kubernetes.
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
