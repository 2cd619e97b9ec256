//go:build unix

package process

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mark is a number carried by a run's processes. It combines the numbers of the run and
// of the child. 0 means no mark.
//
// An environment variable would be simpler. But env -i drops it, programs that set
// their title, such as PostgreSQL, overwrite it, and programs that forbid core dumps,
// such as ssh-agent, hide it. Those are the daemons for which the mark is the only link
// to their command.
type mark uint64

// Numbers of bits in a mark for the child and the run. Marks stay below the largest
// possible limit.
const (
	childBits = 24
	runBits   = 38
)

// newRun returns a random number for a new run.
func newRun() mark {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return mark(binary.LittleEndian.Uint64(b[:])>>(64-runBits)) | 1
}

// child returns the mark of a run's child.
func (run mark) child(id int64) mark { return run<<childBits | mark(id)&(1<<childBits-1) }

// run returns the run of a child's mark.
func (m mark) run() mark { return m >> childBits }

// String returns the run's name.
func (run mark) String() string { return fmt.Sprintf("%0*x", runBits/4+1, uint64(run)) }

// parseRun returns the run with the given name.
func parseRun(name string) (mark, error) {
	n, err := strconv.ParseUint(name, 16, runBits)
	if run := mark(n); err == nil && n > 0 && run.String() == name {
		return run, nil
	}
	return 0, fmt.Errorf("process: %q does not name a run", name)
}

// ValidRun reports whether name is a valid name of a run.
func ValidRun(name string) bool {
	_, err := parseRun(name)
	return err == nil
}

// KillRun kills the remaining processes of another run, whose guard was killed. On
// Linux these are the processes with its mark, their descendants, and those in its
// control group. KillRun spares this process, its ancestors and its descendants. The
// error lists unkillable processes.
func KillRun(name string) error {
	run, err := parseRun(name)
	if err != nil {
		return err
	}
	group := cgroupFor(run)
	left := endAll(func() map[int]error {
		found := make(map[int]error)
		for _, pid := range group.processes() {
			found[pid] = nil
		}
		group.kill()
		for _, p := range familyOf(run) {
			found[p.Pid] = p.Kill()
			_ = p.Release()
		}
		return found
	})
	_ = group.remove()
	if len(left) > 0 {
		return fmt.Errorf("process: KillRun(%s): %s", name, strings.Join(left, "; "))
	}
	return nil
}

// endAll calls killAll until it finds no more processes, and returns messages about
// survivors. killAll kills all processes it finds and returns the results by pid.
func endAll(killAll func() map[int]error) (left []string) {
	const pause = 10 * time.Millisecond
	due := make(map[int]time.Time)
	for {
		found, fresh, waiting := killAll(), false, false
		for pid, err := range found {
			if _, known := due[pid]; !known {
				due[pid], fresh = dueAfter(err), true
			}
			waiting = waiting || time.Now().Before(due[pid])
		}
		switch {
		case fresh: // children may have appeared meanwhile
		case waiting:
			time.Sleep(pause)
		default:
			for _, pid := range slices.Sorted(maps.Keys(found)) {
				left = append(left, leftText(pid))
			}
			return left
		}
	}
}

// familyOf returns the processes with the mark of a run and their descendants. The
// handles refer to the processes themselves, even after a pid is reused.
func familyOf(run mark) []*os.Process {
	parents, marked := make(map[int]int), make(map[int]bool)
	for pid := range processes {
		parent, ended := parentOf(pid)
		if !ended {
			parents[pid], marked[pid] = parent, markOf(pid).run() == run
		}
	}
	kept := make(map[int]bool)
	for pid := os.Getpid(); pid > 0 && !kept[pid]; pid = parents[pid] {
		kept[pid] = true
	}
	var family []*os.Process
	for pid := range parents {
		belongs := false
		for above := pid; above > 0 && above != os.Getpid(); above = parents[above] {
			belongs = belongs || marked[above] && !kept[above]
			if parents[above] == os.Getpid() {
				belongs = false
				break
			}
		}
		if !belongs || kept[pid] {
			continue
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if parent, _ := parentOf(pid); parent != parents[pid] { // the pid was reused, or the next pass finds it
			_ = p.Release()
			continue
		}
		family = append(family, p)
	}
	return family
}
