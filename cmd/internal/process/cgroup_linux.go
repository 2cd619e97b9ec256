package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroup is the folder of a version 2 control group for a run's guard and all processes
// below it. The methods of "" do nothing.
type cgroup string

// cgroupFor returns the group of a run, below the group of this process. It returns ""
// if this process's group is unknown.
func cgroupFor(run mark) cgroup {
	parent := ownCgroup()
	if parent == "" {
		return ""
	}
	return cgroup(filepath.Join(parent, "restart-"+run.String()))
}

// ownCgroup returns the folder of this process's group, or "" if unknown.
func ownCgroup() string {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	groups, _ := os.ReadFile("/proc/self/cgroup")
	path := ""
	for line := range strings.Lines(string(groups)) {
		if own, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(own, "\n")
		}
	}
	for line := range strings.Lines(string(mounts)) {
		// 41 31 0:38 ROOT FOLDER rw,relatime - cgroup2 cgroup2 rw
		words := strings.Fields(line)
		if path == "" || len(words) < 5 || !strings.Contains(line, " - cgroup2 ") {
			continue
		}
		below, err := filepath.Rel(words[3], path)
		if err != nil {
			continue
		}
		folder := filepath.Join(words[4], below)
		if text, err := os.ReadFile(filepath.Join(folder, "cgroup.procs")); err == nil && hasLine(text, strconv.Itoa(os.Getpid())) {
			return folder
		}
	}
	return ""
}

func hasLine(text []byte, line string) bool {
	return bytes.Contains(append([]byte("\n"), text...), []byte("\n"+line+"\n"))
}

// write writes text to one of the group's files.
func (c cgroup) write(file, text string) error {
	if c == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(string(c), file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// join moves this process into the group, which it makes if necessary. It fails without
// cgroup.kill, available since Linux 5.14.
func (c cgroup) join() error {
	if c == "" {
		return nil
	}
	if err := os.Mkdir(string(c), 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	_, err := os.Stat(filepath.Join(string(c), "cgroup.kill"))
	if err == nil {
		err = c.write("cgroup.procs", "0")
	}
	if err != nil {
		_ = c.remove()
	}
	return err
}

// leave moves this process to the parent group.
func (c cgroup) leave() error {
	if c == "" {
		return nil
	}
	return cgroup(filepath.Dir(string(c))).write("cgroup.procs", "0")
}

// kill kills all processes in the group.
func (c cgroup) kill() { _ = c.write("cgroup.kill", "1") }

// processes returns the pids in the group.
func (c cgroup) processes() []int {
	if c == "" {
		return nil
	}
	text, _ := os.ReadFile(filepath.Join(string(c), "cgroup.procs"))
	return numbers(text)
}

// remove removes the group if it is empty.
func (c cgroup) remove() error {
	if c == "" {
		return nil
	}
	return os.Remove(string(c))
}
