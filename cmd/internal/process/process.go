//go:build unix

// Package process runs programs below a guard: a second process of this program, which
// starts them, is their parent, and outlives this program. However a run ends, no
// process of it is left.
//
//   - Each child has its own process group. When the child ends, the guard kills the rest
//     of the group, as in a container whose first process ends.
//   - On Linux a process that loses its parent becomes a child of the guard. It may run as
//     long as the child that it came from. The guard knows its origin by a mark: the soft
//     limit of file locks, which processes inherit and Linux does not enforce. A new
//     environment, session, title or program keeps the mark. A process without the mark
//     (su and sudo set limits) is killed when the next child ends. A child is reported as
//     ended when all these processes are gone.
//   - When this program ends, even by SIGKILL, the guard kills its children, and then the
//     processes that they leave, until it has none.
//   - When the guard is killed, its children become children of this program, which kills
//     them and starts a new guard (see Exit.Lost). This program also continues a guard
//     that is stopped.
//   - When both are killed, the first process of each child dies with the guard. KillRun
//     finds the others by the mark.
//   - Where this user may make a control group (version 2), guard and children are in one.
//     The guard and KillRun then kill all processes in it at once, whatever their marks.
//   - A process that cannot be killed, since it belongs to another user or is frozen, is
//     reported and given up. A guard that is frozen itself is abandoned.
//   - If this process has children of others, as process 1 has, it reaps them.
//
// No process is signalled by a pid that another process may have by now: the guard
// signals only children that it has not reaped. On systems other than Linux, processes
// that have left their group are not found, nor those that a killed guard has left.
package process

import (
	"syscall"
	"time"
)

// Command is what to start.
type Command struct {
	Args   []string // the program and its arguments; at least one
	Env    []string // its whole environment, NAME=VALUE
	Dir    string   // "": this program's
	Output Sink     // takes its standard output and error; nil: they are dropped
	Record RecordKey
}

// Sink takes what a process writes.
type Sink interface {
	Line(line []byte) // of its output, line break included if there was one
	Ended()           // the process has ended: Line must not wait long any more
	Close()           // no more lines follow
}

// Exit is how a process ended.
type Exit struct {
	Code   int            // its exit code, 128+n if signal n killed it
	Signal syscall.Signal // the signal that killed it, or 0
	At     time.Time
	Lost   bool // it was killed because its guard was, or its guard does not answer
}

// exitOf returns how a process ended that has been waited for.
func exitOf(s syscall.WaitStatus, at time.Time) Exit {
	if s.Signaled() {
		return Exit{Code: 128 + int(s.Signal()), Signal: s.Signal(), At: at}
	}
	return Exit{Code: s.ExitStatus(), At: at}
}

// Process is a running program. It is safe for concurrent use by multiple
// goroutines.
type Process struct {
	Began   time.Time // when it was started
	id      int64
	guard   *guardian     // its parent
	started chan struct{} // closed when it has started or cannot start
	failure error         // why it cannot start
	output  *output
	ended   chan struct{} // closed when the exit is known
	exit    Exit
	done    chan struct{} // closed when its output is read, too
}

// Done returns a channel that is closed when the process has ended, with all processes
// that it left, and the Sink has its output.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the process ended, once Done is closed.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Signal sends sig to the process; SIGKILL goes to its whole group. Signal does nothing
// once the process has ended.
func (p *Process) Signal(sig syscall.Signal) {
	select {
	case <-p.ended:
	default:
		p.guard.signal(p.id, sig)
		if sig == syscall.SIGKILL {
			go p.guard.insist(p.ended)
		}
	}
}
