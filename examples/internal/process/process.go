// Package process runs programs below a guard: a second process of this program,
// which starts them, is their parent, and outlives this program. No process of a
// run is left when the run is over, however it ended.
//
//   - Each child has a process group of its own. When the child ends, all that is
//     left of the group is killed, as in a container whose first process ends.
//   - On Linux a process that loses its parent becomes a child of the guard. It may
//     stay as long as the child that it came from. Its origin is known by a mark
//     that it cannot lose by a new environment, session, title or program: the soft
//     limit of file locks, which Linux hands down and enforces nowhere. What has got
//     rid of that too (su and sudo set limits anew) is killed when the next child
//     ends. A child is reported to have ended when all this is gone.
//   - When this program is gone, by an order, a signal or SIGKILL, the guard kills
//     all that it has, and what that leaves, until it has no child any more.
//   - When the guard is killed, its children become this program's, which kills
//     them and begins a new guard (see Exit.Lost).
//   - When both are killed, KillRun finds what is left by the mark.
//
// No process is ever signalled by a number that may be another's by now: the guard
// signals only children that it has not reaped. On systems other than Linux what
// leaves its process group is not found, nor what is left by a guard that was
// killed.
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
	Output Sink     // takes its standard output and error; nil: nobody does
	Record RecordKey
}

// Sink takes what a process writes.
type Sink interface {
	Line(line []byte) // of its output, line break included if there was one
	Ended()           // the process has: Line is not to wait for long any more
	Close()           // there are no more lines
}

// Exit is how a process ended.
type Exit struct {
	Code   int            // its exit code, 128+n if signal n killed it
	Signal syscall.Signal // the signal that killed it, or 0
	At     time.Time
	Lost   bool // it was killed since the guard had been killed
}

// exitOf is how a process ended that has been waited for.
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
	guard   *guardian     // which starts it
	started chan struct{} // closed when it is, or is known not to be
	failure error         // why it is not
	output  *output
	ended   chan struct{} // closed when the exit is known
	exit    Exit
	done    chan struct{} // closed when its output is taken, too
}

// Done returns a channel that is closed when the process has ended, with all that
// it has left behind, and its output has been given to the Sink.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the process ended, once Done is closed.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Signal sends sig to the process or, if it is SIGKILL, to all of its group. It
// does nothing once the process has ended.
func (p *Process) Signal(sig syscall.Signal) {
	select {
	case <-p.ended:
	default:
		p.guard.signal(p.id, sig)
	}
}
