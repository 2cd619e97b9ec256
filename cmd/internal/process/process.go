//go:build unix

// Package process runs programs as children of a guard, a second process of this
// program that outlives it. However a run ends, no process of the run remains.
//
//   - Each child has its own process group. When the child ends, the guard kills the rest
//     of the group, as in a container whose first process ends.
//   - On Linux the guard adopts processes that lose their parent. They may run as long as
//     the child they came from, which the guard identifies by a mark. The mark is the soft
//     limit of file locks, which processes inherit and Linux does not enforce. A new
//     environment, session, title or program keeps it. A process without the mark (su and
//     sudo set limits) is killed when the next child ends. The end of a child is reported
//     after all these processes have ended.
//   - When this program ends, even by SIGKILL, the guard kills its descendants.
//   - When the guard is killed, this program adopts its children, kills them and starts a
//     new guard (see Exit.Lost). It also continues a stopped guard.
//   - When both are killed, the first process of each child dies with the guard. KillRun
//     finds the others by the mark.
//   - If this user may make a control group (version 2), the guard and its children run in
//     one. The guard and KillRun kill all its processes at once, regardless of marks.
//   - Processes that cannot be killed, because they are frozen or belong to another user,
//     are reported and given up. A frozen guard is abandoned.
//   - If this process has other children, as process 1 does, it reaps them.
//
// The guard signals only children it has not reaped, so signals never reach a reused
// pid. On systems other than Linux, processes that left their group or outlived a
// killed guard are not found.
package process

import (
	"syscall"
	"time"
)

// Command is a program to start.
type Command struct {
	Args   []string // program and arguments; at least one
	Env    []string // complete environment, NAME=VALUE
	Dir    string   // "" means this program's
	Output Sink     // receives standard output and error; nil discards them
	Record RecordKey
}

// Sink receives the output of a process.
type Sink interface {
	Line(line []byte) // includes its line break, if any
	Ended()           // the process has ended, so Line must not wait long
	Close()           // no lines follow
}

// Exit is the end of a process.
type Exit struct {
	Code   int            // exit code, or 128+n after signal n
	Signal syscall.Signal // signal that killed it, or 0
	At     time.Time
	Lost   bool // its guard was killed or does not answer
}

// exitOf returns the exit of a process with wait status s.
func exitOf(s syscall.WaitStatus, at time.Time) Exit {
	if s.Signaled() {
		return Exit{Code: 128 + int(s.Signal()), Signal: s.Signal(), At: at}
	}
	return Exit{Code: s.ExitStatus(), At: at}
}

// Process is a running program. It is safe for concurrent use.
type Process struct {
	Began   time.Time // start time
	id      int64
	guard   *guardian     // its parent
	started chan struct{} // closed after the start or its failure
	failure error         // error of the start
	output  *output
	ended   chan struct{} // closed when exit is known
	exit    Exit
	done    chan struct{} // closed when the output has been read as well
}

// Done returns a channel that closes when the process and its descendants have ended
// and the Sink has all output.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for Done and returns the exit.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Signal sends sig to the process, or SIGKILL to its whole group, unless the process
// has ended.
func (p *Process) Signal(sig syscall.Signal) {
	select {
	case <-p.ended:
	default:
		p.guard.signal(p.id, sig)
		if sig == syscall.SIGKILL {
			go p.guard.awaitAnswer(p.ended)
		}
	}
}
