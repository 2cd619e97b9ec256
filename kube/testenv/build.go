package testenv

import (
	"bytes"
	"context"
	_ "embed" // the module that kube-apiserver is built from
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
)

// The module that kube-apiserver and kubectl are built in. It requires
// k8s.io/kubernetes and replaces the modules of its staging folder with their releases.
var (
	//go:embed kubernetes.mod
	goMod []byte
	//go:embed kubernetes.sum
	goSum []byte

	kubernetesVersion = string(regexp.MustCompile(`k8s\.io/kubernetes (v\S+)`).FindSubmatch(goMod)[1])
)

// Programs are the paths of executables.
type Programs struct {
	Etcd, Server string
}

// Build returns the programs of an Environment. If missing, it builds kube-apiserver
// with the go command, and takes etcd from PATH or from Debian's package, with apt-get
// and dpkg. The programs stay in the user's cache folder or, without one, in a private
// temporary folder. Concurrent builds wait for each other. log receives a line for each
// slow step and may be nil.
func Build(ctx context.Context, log io.Writer) (Programs, error) {
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		etcd, err = cached(ctx, log, "etcd", fetchEtcd)
		if err != nil {
			return Programs{}, err
		}
	}
	server, err := BuildKubernetes(ctx, "kube-apiserver", log)
	if err != nil {
		return Programs{}, err
	}
	return Programs{Etcd: etcd, Server: server}, nil
}

// BuildKubernetes is like Build for one program, kube-apiserver or kubectl.
func BuildKubernetes(ctx context.Context, program string, log io.Writer) (string, error) {
	return cached(ctx, log, program, buildKubernetes)
}

// cached returns the program's path in the cache. If it is missing, cached calls make
// in a scratch folder, where make must leave the program under its name.
func cached(ctx context.Context, log io.Writer, program string, make func(ctx context.Context, dir, program string) error) (_ string, err error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "restartkit", "testenv", kubernetesVersion+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	path := filepath.Join(cache, program)
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
		return "", fmt.Errorf("locking %s: %w", program, err)
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil // another process made it meanwhile
	}
	if log != nil {
		fmt.Fprintf(log, "making %s in %s, only this time\n", program, cache)
	}
	dir, err := os.MkdirTemp(cache, program+"-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := make(ctx, dir, program); err != nil {
		return "", fmt.Errorf("cannot make %s: %w", program, err)
	}
	return path, os.Rename(filepath.Join(dir, program), path)
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

func buildKubernetes(ctx context.Context, dir, program string) error {
	for name, text := range map[string][]byte{"go.mod": goMod, "go.sum": goSum} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	const set = "-X k8s.io/component-base/version."
	release := regexp.MustCompile(`v(\d+)\.(\d+)`).FindStringSubmatch(kubernetesVersion)
	return run(ctx, dir, []string{"CGO_ENABLED=0", "GOWORK=off"}, "go", "build", "-trimpath",
		"-ldflags", "-s -w "+set+"gitVersion="+kubernetesVersion+" "+set+"gitMajor="+release[1]+" "+set+"gitMinor="+release[2],
		"-o", program, "k8s.io/kubernetes/cmd/"+program)
}

// fetchEtcd unpacks Debian's package. Installing it would start a service.
func fetchEtcd(ctx context.Context, dir, program string) error {
	download := func() error { return run(ctx, dir, nil, "apt-get", "download", "etcd-server") }
	if download() != nil { // the package lists may be missing or old
		if err := run(ctx, dir, nil, "apt-get", "update"); err != nil {
			return err
		}
		if err := download(); err != nil {
			return err
		}
	}
	packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("apt-get download left %d packages", len(packages))
	}
	if err := run(ctx, dir, nil, "dpkg-deb", "-x", packages[0], "."); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "usr", "bin", "etcd"), filepath.Join(dir, program))
}

// run runs a command. Errors include its output.
func run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(env, "DEBIAN_FRONTEND=noninteractive")...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, args[0], err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}
