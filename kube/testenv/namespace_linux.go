package testenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// ownNamespaces returns the attributes of the first process. With a cgroup, the process
// starts in it and then makes a cgroup namespace, whose root is the cgroup therefore.
func ownNamespaces(cgroup *os.File) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if cgroup != nil {
		a.UseCgroupFD = true
		a.CgroupFD = int(cgroup.Fd())
		a.Unshareflags = syscall.CLONE_NEWCGROUP
	}
	return a
}

// A program that links this package becomes the first process of a namespace if it is
// started under that name. A library has no other way to run code in a new process of
// the program that uses it.
func init() {
	if len(os.Args) == 2 && os.Args[0] == firstProcessName {
		os.Exit(firstProcess(os.Args[1]))
	}
}

// firstProcess mounts, then starts and kills programs as the commands on its input say,
// and reports their ends on its output. It reaps orphans, and ends with its input.
func firstProcess(folder string) int {
	reports := json.NewEncoder(os.Stdout)
	overlay, err := arrange(folder)
	if err != nil {
		reports.Encode(report{Failed: err.Error()})
		return 1
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	commands := make(chan command)
	go func() {
		defer close(commands)
		for decoder := json.NewDecoder(os.Stdin); ; {
			var c command
			if decoder.Decode(&c) != nil {
				return
			}
			commands <- c
		}
	}()
	reports.Encode(report{Overlay: overlay})
	running := map[int]string{} // names by id
	for {
		select {
		case c, ok := <-commands:
			if !ok {
				return 0
			}
			if c.Path == "" {
				for pid, name := range running {
					if name == c.Name {
						syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			} else if pid, err := spawn(c); err != nil {
				reports.Encode(report{Name: c.Name, Status: err.Error()})
			} else {
				running[pid] = c.Name
			}
		case <-children:
			for {
				var status syscall.WaitStatus
				pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
				if err != nil || pid == 0 {
					break
				}
				if name, ok := running[pid]; ok {
					delete(running, pid)
					reports.Encode(report{Name: name, Status: exitText(status)})
				}
			}
		}
	}
}

func spawn(c command) (pid int, err error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	return syscall.ForkExec(c.Path, append([]string{c.Path}, c.Args...), &syscall.ProcAttr{
		Dir:   filepath.Dir(c.Log),
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

func exitText(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "killed by " + status.Signal().String()
	}
	return fmt.Sprint("exit code ", status.ExitStatus())
}

// sysctls are the values of the machine that a kubelet sets, and to which it sets them.
// A node has files with these values in their places, so the kubelet changes nothing.
var sysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// arrange makes the mounts of a new mount namespace. overlay says whether the folder
// can hold the layers of an overlay, which some file systems cannot.
func arrange(folder string) (overlay bool, err error) {
	steps := []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE}, // no mount reaches the machine
		{"", "/", "", syscall.MS_REC | syscall.MS_SHARED},  // but containers see those of the kubelet
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC},
	}
	for _, s := range steps {
		if err := syscall.Mount(s.source, s.target, s.kind, s.flags, ""); err != nil {
			return false, fmt.Errorf("mounting %s: %w", s.target, err)
		}
	}
	if unified() {
		if err := enterLeaf(); err != nil {
			return false, err
		}
	}
	for _, target := range replaced {
		source := filepath.Join(folder, target)
		err := errors.Join(os.MkdirAll(source, 0o755), syscall.Mount(source, target, "", syscall.MS_BIND, ""))
		if err != nil {
			return false, fmt.Errorf("replacing %s: %w", target, err)
		}
	}
	for name, value := range sysctls {
		source, target := filepath.Join(folder, "sysctl", name), filepath.Join("/proc/sys", name)
		err := errors.Join(
			os.MkdirAll(filepath.Dir(source), 0o755),
			os.WriteFile(source, []byte(value+"\n"), 0o644),
			syscall.Mount(source, target, "", syscall.MS_BIND, ""))
		if err != nil {
			return false, fmt.Errorf("replacing %s: %w", target, err)
		}
	}
	return canOverlay(filepath.Join(folder, "overlay")), nil
}

// enterLeaf mounts the cgroups of this namespace, in the place of the machine's, and
// moves this process from their root to a leaf.
func enterLeaf() error {
	if err := syscall.Unmount(cgroupFolder, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting %s: %w", cgroupFolder, err)
	}
	if err := syscall.Mount("cgroup2", cgroupFolder, "cgroup2", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", cgroupFolder, err)
	}
	return os.WriteFile(filepath.Join(cgroupFolder, leaf, "cgroup.procs"), []byte("0"), 0o644)
}

func canOverlay(dir string) bool {
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if os.MkdirAll(filepath.Join(dir, name), 0o755) != nil {
			return false
		}
	}
	merged := filepath.Join(dir, "merged")
	layers := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir)
	return syscall.Mount("overlay", merged, "overlay", 0, layers) == nil && syscall.Unmount(merged, 0) == nil
}
