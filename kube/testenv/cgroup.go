package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A hierarchy is a mounted hierarchy of cgroups. Version 1 has several, with some of
// the controllers each; version 2 has one. A machine may have both versions.
type hierarchy struct {
	folder      string
	controllers []string // of a cgroup in it; also the mount options in version 1
}

// hierarchies returns those of this machine.
func hierarchies() []hierarchy {
	mounts, _ := os.ReadFile("/proc/self/mounts") // unreadable means none
	return parseHierarchies(string(mounts), func(path string) string {
		text, _ := os.ReadFile(path)
		return string(text)
	})
}

// parseHierarchies reads the format of /proc/self/mounts. read returns the text of a
// file. A node may only use the controllers of version 2 that the machine has enabled,
// because enabling others would change the machine.
func parseHierarchies(mounts string, read func(path string) string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		switch folder := fields[1]; fields[2] {
		case "cgroup":
			found = append(found, hierarchy{folder, strings.Split(fields[3], ",")})
		case "cgroup2":
			found = append(found, hierarchy{folder, strings.Fields(read(filepath.Join(folder, "cgroup.subtree_control")))})
		}
	}
	return found
}

// cgroupFolder is where version 2 is mounted, unless the machine uses version 1.
const cgroupFolder = "/sys/fs/cgroup"

// unified reports whether the machine uses version 2 alone.
func unified() bool {
	_, err := os.Stat(filepath.Join(cgroupFolder, "cgroup.controllers"))
	return err == nil
}

// A cgroup is that of a node, in every hierarchy.
//
// In version 1 it is the kubelet's cgroupRoot. In version 2, kubelet and runc enable all
// controllers in each cgroup from the root of the file system down to a container's. To
// keep them from the machine's cgroups, a node has a cgroup namespace, whose root is the
// node's cgroup. Since only leaves may hold processes then, those of the node itself are
// in the cgroup [leaf].
type cgroup struct {
	name    string // such as /testenv-123
	unified bool   // whether the machine uses version 2 alone
}

// leaf is the cgroup of the node's first process in the node's.
const leaf = "node"

// newCgroup makes the cgroup, which the guard removes.
func (g *guard) newCgroup(name string) (cgroup, error) {
	c := cgroup{name, unified()}
	if _, err := fmt.Fprintf(g.input, "cgroup %s\n", name); err != nil {
		return c, err
	}
	for _, h := range hierarchies() {
		if err := os.Mkdir(filepath.Join(h.folder, name), 0o755); err != nil {
			return c, err
		}
	}
	if c.unified {
		return c, os.Mkdir(filepath.Join(cgroupFolder, name, leaf), 0o755)
	}
	return c, inheritCPUs(name)
}

// inheritCPUs gives the cgroup of the controller cpuset in version 1 all CPUs and memory
// nodes. Without, it takes no processes.
func inheritCPUs(name string) error {
	var errs []error
	for _, h := range hierarchies() {
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if all, err := os.ReadFile(filepath.Join(h.folder, file)); err == nil {
				errs = append(errs, os.WriteFile(filepath.Join(h.folder, name, file), all, 0o600))
			}
		}
	}
	return errors.Join(errs...)
}

// root returns the kubelet's cgroupRoot.
func (c cgroup) root() string {
	if c.unified {
		return "/"
	}
	return c.name
}
