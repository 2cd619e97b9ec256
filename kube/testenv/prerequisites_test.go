package testenv

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMachineThatLacksSomethingSaysAllOfIt(t *testing.T) {
	good := func() machine {
		return machine{
			os: "linux", root: true,
			controllers: []string{"cpuset", "cpu", "io", "memory", "pids"},
			exists:      func(string) bool { return true },
			inPath:      func(string) bool { return true },
		}
	}
	without := func(missing ...string) func(string) bool {
		return func(name string) bool { return !slices.Contains(missing, name) }
	}
	for _, tt := range []struct {
		name string
		of   func(*machine)
		want []string
	}{
		{"nothing", func(*machine) {}, nil},
		{"Linux", func(m *machine) { m.os, m.root = "darwin", false }, []string{"Linux"}},
		{"root and go", func(m *machine) { m.root, m.inPath = false, without("go") }, []string{"root", "go in PATH"}},
		{"Debian, with the programs", func(m *machine) { m.inPath, m.busybox = without("apt-get"), true }, nil},
		{"Debian, with a busybox that needs libraries", func(m *machine) { m.inPath = without("dpkg-deb") },
			[]string{"a static busybox in PATH or Debian's apt-get"}},
		{"Debian and runc", func(m *machine) { m.inPath, m.busybox = without("dpkg-deb", "runc"), true },
			[]string{"runc in PATH or Debian's apt-get"}},
		{"kernel messages", func(m *machine) { m.exists = without("/dev/kmsg") }, []string{"/dev/kmsg"}},
		{"controllers", func(m *machine) { m.controllers = []string{"cpu", "cpuset", "pids"} }, []string{"the cgroup controller memory"}},
	} {
		t.Run("without "+tt.name, func(t *testing.T) {
			m := good()
			tt.of(&m)
			if diff := cmp.Diff(tt.want, m.lacks()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHierarchiesOfBothVersions(t *testing.T) {
	read := func(path string) string {
		if strings.HasSuffix(path, "unified/cgroup.subtree_control") {
			return "hugetlb rdma\n"
		}
		return "cpuset cpu io memory pids\n"
	}
	for _, tt := range []struct {
		name, mounts string
		want         []hierarchy
	}{
		{"version 2", "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n",
			[]hierarchy{{"/sys/fs/cgroup", []string{"cpuset", "cpu", "io", "memory", "pids"}}}},
		{"both", "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu,cpuacct 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
			[]hierarchy{{"/sys/fs/cgroup/cpu", []string{"rw", "relatime", "cpu", "cpuacct"}}, {"/sys/fs/cgroup/unified", []string{"hugetlb", "rdma"}}}},
		{"neither", "broken\n\nproc /proc proc rw 0 0\n", nil},
	} {
		if diff := cmp.Diff(tt.want, parseHierarchies(tt.mounts, read), cmp.AllowUnexported(hierarchy{})); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
