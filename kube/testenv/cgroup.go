package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A hierarchy is a mounted hierarchy of cgroups. Version 1 has several, with some of
// the controllers each; version 2 has one.
type hierarchy struct {
	folder      string
	controllers []string
}

// hierarchies returns those of this machine. It may have both versions.
func hierarchies() []hierarchy {
	mounts, _ := os.ReadFile("/proc/self/mounts") // unreadable means none
	return parseHierarchies(string(mounts), func(path string) string {
		text, _ := os.ReadFile(path)
		return string(text)
	})
}

// parseHierarchies reads the format of /proc/self/mounts. read returns the text of a file.
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
			found = append(found, hierarchy{folder, strings.Fields(read(filepath.Join(folder, "cgroup.controllers")))})
		}
	}
	return found
}

// makeCgroup makes the cgroup in every hierarchy, and the guard removes it. A cgroup of
// the controller cpuset in version 1 takes processes only once it has CPUs and memory
// nodes.
func (g *guard) makeCgroup(name string) error {
	if _, err := fmt.Fprintf(g.input, "cgroup %s\n", name); err != nil {
		return err
	}
	var errs []error
	for _, h := range hierarchies() {
		dir := filepath.Join(h.folder, name)
		errs = append(errs, os.Mkdir(dir, 0o755))
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			all, err := os.ReadFile(filepath.Join(h.folder, file))
			if err != nil {
				continue // another controller, or version 2
			}
			errs = append(errs, os.WriteFile(filepath.Join(dir, file), all, 0o600))
		}
	}
	return errors.Join(errs...)
}
