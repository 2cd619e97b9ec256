package testenv

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// modules holds the go.mod and go.sum of the programs that are built. Kubernetes' replace the modules
// of its staging folder with their releases.
//
//go:embed modules
var modules embed.FS

// versions are the values of Options.Version; the first is the default.
var versions = []string{"1.37", "1.36"}

// A source is a module whose programs are built.
type source struct {
	name    string   // of its files in modules
	folder  string   // of its programs in the cache
	module  string   // import path
	version string   // such as v1.37.2
	flags   []string // of go build
}

// kubernetesSource returns the source of a version such as "1.37". The empty version
// means the default.
func kubernetesSource(version string) (source, error) {
	if version == "" {
		version = versions[0]
	}
	if !slices.Contains(versions, version) {
		return source{}, fmt.Errorf("no Kubernetes %q, only %s", version, strings.Join(versions, " and "))
	}
	s := newSource("kubernetes", "kubernetes-"+version, "k8s.io/kubernetes")
	const set = "-X k8s.io/component-base/version."
	major, minor, _ := strings.Cut(version, ".")
	s.flags = []string{"-ldflags", "-s -w " + set + "gitVersion=" + s.version + " " + set + "gitMajor=" + major + " " + set + "gitMinor=" + minor}
	return s, nil
}

func containerdSource() source {
	s := newSource("containerd", "containerd", "github.com/containerd/containerd/v2")
	s.flags = []string{"-ldflags", "-s -w", "-tags", "no_btrfs no_devmapper no_zfs"}
	return s
}

func newSource(product, name, module string) source {
	found := regexp.MustCompile(regexp.QuoteMeta(module) + ` (v\S+)`).FindSubmatch(moduleFile(name + ".mod"))
	version := string(found[1])
	return source{name: name, folder: product + "-" + version, module: module, version: version}
}

func moduleFile(name string) []byte {
	text, err := modules.ReadFile("modules/" + name)
	if err != nil {
		panic(err) // the files are part of this package
	}
	return text
}

// program returns the recipe for a program of the module. took is the time of a cold
// build on two idle cores, after the programs that Build makes before it.
func (s source) program(name, took string) recipe {
	return recipe{
		name:   name,
		folder: s.folder,
		note:   fmt.Sprintf("building %s %s, only this time; it took %s on two idle cores", name, s.version, took),
		make: func(ctx context.Context, dir string) error {
			for file, text := range map[string][]byte{"go.mod": moduleFile(s.name + ".mod"), "go.sum": moduleFile(s.name + ".sum")} {
				if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
					return err
				}
			}
			// With -trimpath or without cgo, packages that go vet or go test has compiled would be compiled again.
			env := []string{"GOWORK=off", "GOFLAGS=-buildvcs=false", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH}
			args := append([]string{"build", "-o", name}, s.flags...)
			return run(ctx, dir, env, "go", append(args, s.module+"/cmd/"+name)...)
		},
	}
}

// A recipe makes a program that the cache keeps.
type recipe struct {
	name   string
	folder string                                      // in the cache
	note   string                                      // for the log
	found  func() (path string, ok bool)               // looks outside the cache; may be nil
	make   func(ctx context.Context, dir string) error // leaves the program in dir, under its name
}

// path returns the program's path, and makes the program if it is missing.
func (r recipe) path(ctx context.Context, log io.Writer) (_ string, err error) {
	if r.found != nil {
		if path, ok := r.found(); ok {
			return path, nil
		}
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "restartkit", "testenv", r.folder+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	path := filepath.Join(cache, r.name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(path + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close() // unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil // another process made it meanwhile
	}
	fmt.Fprintln(log, r.note)
	start := time.Now()
	dir, err := os.MkdirTemp(cache, r.name+"-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := r.make(ctx, dir); err != nil {
		return "", err
	}
	fmt.Fprintf(log, "%s is in %s after %v\n", r.name, cache, time.Since(start).Round(time.Second))
	return path, os.Rename(filepath.Join(dir, r.name), path)
}

// cacheDir returns the user's cache folder or, if the environment names none, a
// temporary folder. The user must own the temporary folder, because its programs are
// executed.
func cacheDir() (string, error) {
	if dir, err := os.UserCacheDir(); err == nil {
		return dir, nil
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprint("restartkit-", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Getuid() || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return "", fmt.Errorf("%s is not a folder private to this user; set HOME or XDG_CACHE_HOME", dir)
	}
	return dir, nil
}

// run runs a command. Errors include its output.
func run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, args[0], err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}
