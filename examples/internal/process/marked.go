package process

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// marker is the variable in the environment of every process of a run. Its value
// is the tag of the process that was started; what that starts inherits it.
func marker(run string) string { return "RESTART_RUN_" + run }

// marked returns the processes of a run that are there now, with their tags.
// Without a /proc file system it finds none.
func marked(run string) map[int]string {
	found := make(map[int]string)
	want := []byte("\x00" + marker(run) + "=")
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil {
			continue // gone, or another user's
		}
		environ = append([]byte{0}, environ...)
		if _, after, ok := bytes.Cut(environ, want); ok {
			tag, _, _ := bytes.Cut(after, []byte{0})
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				found[pid] = string(tag)
			}
		}
	}
	return found
}

// KillRun kills the processes of a run, until there are none. It gives up after a
// while on what does not die.
func KillRun(run string) {
	killMarked(run, func(string) bool { return true })
}

// killMarked kills the processes of a run whose tags are to be gone, and what they
// may have started meanwhile. They are stopped first, so that none of them sees
// another one's end and acts upon it.
func killMarked(run string, gone func(tag string) bool) {
	for range 100 {
		found := marked(run)
		maps.DeleteFunc(found, func(_ int, tag string) bool { return !gone(tag) })
		if len(found) == 0 {
			return
		}
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for pid := range found {
				_ = syscall.Kill(pid, sig)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// sweepDelay gathers processes that have ended, since looking at all processes of
// the machine costs milliseconds.
const sweepDelay = time.Second

// sweepLater has what is left of an ended process killed soon. The caller holds
// the lock.
func (c *Children) sweepLater(tag string) {
	if c.strays == nil {
		c.strays = make(map[string]bool)
		time.AfterFunc(sweepDelay, c.sweep)
	}
	c.strays[tag] = true
}

func (c *Children) sweep() {
	c.mu.Lock()
	tags := c.strays
	c.strays = nil
	c.mu.Unlock()
	killMarked(c.run, func(tag string) bool { return tags[tag] })
}
