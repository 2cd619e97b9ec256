//go:build long

package testenv

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A snapshot holds the parts of the machine that a node could change, by kind.
type snapshot map[string][]string

func takeSnapshot(t *testing.T) snapshot {
	t.Helper()
	s := snapshot{
		"mounts":     lines("/proc/self/mountinfo"),
		"sysctls":    sysctlValues(t),
		"routes":     lines("/proc/net/route"),
		"IPv4 rules": lines("/proc/net/ip_tables_names"),
		"IPv6 rules": lines("/proc/net/ip6_tables_names"),
		"interfaces": interfaces(t),
		"files":      suspectFiles(t),
	}
	for _, h := range hierarchies() {
		s["cgroups"] = append(s["cgroups"], strings.Join(lines(filepath.Join(h.folder, "cgroup.subtree_control")), " "))
		found, err := filepath.Glob(filepath.Join(h.folder, "testenv-*"))
		if err != nil {
			t.Fatal(err)
		}
		s["cgroups"] = append(s["cgroups"], found...)
	}
	return s
}

// lines returns the lines of a file, or none if it cannot be read.
func lines(path string) []string {
	text, _ := os.ReadFile(path)
	return slices.Collect(strings.Lines(string(text)))
}

// counters are sysctls that change by themselves.
var counters = regexp.MustCompile(`^(fs/(aio-nr|dentry-state|file-nr|inode-.*|quota/.*)|kernel/(ns_last_pid|pty/nr|random/.*)|net/netfilter/nf_conntrack_count|vm/stat_refresh)$`)

func sysctlValues(t *testing.T) []string {
	var values []string
	root := "/proc/sys"
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, root+"/")
		if err != nil || entry.IsDir() || counters.MatchString(name) {
			return nil // unreadable files are not compared
		}
		values = append(values, name+" "+strings.Join(lines(path), ""))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func interfaces(t *testing.T) []string {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range all {
		addresses, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprint(i.Name, i.Flags, addresses))
	}
	return names
}

// suspectFiles returns the files outside temporary folders whose paths name something
// that belongs to a node.
func suspectFiles(t *testing.T) []string {
	suspect := regexp.MustCompile(`kube|containerd|/cni|runc|netns|testenv|/pods`)
	var found []string
	for _, root := range []string{"/etc", "/opt", "/run", "/usr/libexec", "/usr/local/lib", "/var/lib", "/var/log"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && suspect.MatchString(path) {
				found = append(found, path)
			}
			return nil // unreadable files are not compared
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// processesOf returns the processes of a node, by their cgroup or by their command line.
func processesOf(dir string) []string {
	var found []string
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		cgroup, _ := os.ReadFile(filepath.Join(folder, "cgroup"))
		cmdline, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		if strings.Contains(string(cgroup), "/"+filepath.Base(dir)) || strings.Contains(string(cmdline), dir) {
			found = append(found, filepath.Base(folder)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return found
}

// The test runs itself as the program that uses the node, and ends it in each way. While
// the node runs a pod, and after its end, the machine is as before.
func TestNodeChangesNothingOnTheMachine(t *testing.T) {
	if os.Getenv("TESTENV_VICTIM") == "1" {
		runVictim(t)
	}
	skipWithoutNode(t)
	for _, tt := range []struct {
		name string
		end  func(*os.Process) error
	}{
		{"Stop", func(p *os.Process) error { return p.Signal(syscall.SIGTERM) }},
		{"kill -9", (*os.Process).Kill},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := takeSnapshot(t)
			dir, cmd := startVictim(t)
			if len(processesOf(dir)) < 5 { // containerd, kubelet, a shim, pause and sleep at least
				t.Errorf("the node runs %q", processesOf(dir))
			}
			during := takeSnapshot(t)
			delete(during, "cgroups") // compared below
			if diff := cmp.Diff(withoutCgroups(before), during); diff != "" {
				t.Errorf("before and while it runs: %s", diff)
			}
			if err := tt.end(cmd.Process); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			await(t, func() error {
				if left := processesOf(dir); len(left) > 0 {
					return fmt.Errorf("processes are left: %q", left)
				}
				if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
					return fmt.Errorf("the folder %s is left: %v", dir, err)
				}
				if diff := cmp.Diff(before, takeSnapshot(t)); diff != "" {
					return errors.New("before and after: " + diff)
				}
				return nil
			})
		})
	}
}

func withoutCgroups(s snapshot) snapshot {
	rest := snapshot{}
	for kind, values := range s {
		if kind != "cgroups" {
			rest[kind] = values
		}
	}
	return rest
}

// runVictim runs a node until SIGTERM.
func runVictim(t *testing.T) {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGTERM)
	n, err := StartNode(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	addStaticPod(t, n, staticPod("sleeps", "sleep 100000"))
	awaitContainer(t, n, "sleeps", isRunning)
	fmt.Println("victim", n.guard.dir)
	<-interrupted
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	os.Exit(0)
}

func startVictim(t *testing.T) (dir string, cmd *exec.Cmd) {
	cmd = exec.Command(os.Args[0], "-test.run=^TestNodeChangesNothingOnTheMachine$")
	cmd.Env = append(os.Environ(), "TESTENV_VICTIM=1")
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(output); dir == "" && lines.Scan(); {
		fmt.Sscanf(lines.Text(), "victim %s", &dir)
	}
	if dir == "" {
		t.Fatalf("the victim ended: %v", cmd.Wait())
	}
	return dir, cmd
}
