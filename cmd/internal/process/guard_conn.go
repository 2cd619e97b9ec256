//go:build unix

package process

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"io"
	"os"
	"sync"
	"syscall"
)

// Requests of a program to its guard.
const (
	startRequest   = iota + 1 // start Args
	signalRequest             // send Signal to the child
	releaseRequest            // the child's output has been read to the end
	forgetRequest             // the owner's records are no longer needed
)

type request struct {
	Kind      int
	ID        int64 // identifies the child
	Signal    syscall.Signal
	Args, Env []string
	Dir       string
	Record    RecordKey
}

// Replies of a guard to its program.
const (
	readyReply   = iota + 1 // the guard is ready
	startedReply            // the child runs; the read end of its output is attached
	failedReply             // the child could not be started
	endedReply              // the child and its descendants have ended
	leftReply               // a process cannot be killed; Text describes it
)

type reply struct {
	Kind       int
	ID         int64
	Code       int // of a StartError; 0 if the machine lacks a resource
	Text       string
	Status     syscall.WaitStatus
	Unrecorded string // error of writing the exit to the journal, or ""
}

// conn carries messages and open files between a program and its guard. Only one
// goroutine may receive; any number may send.
type conn struct {
	file *os.File
	raw  syscall.RawConn
	in   *gob.Decoder
	fds  []int // received but not taken, in the order of their messages

	mu   sync.Mutex
	out  *gob.Encoder
	text bytes.Buffer // unsent messages
}

// newConn returns a conn on a connected socket.
func newConn(fd int) (*conn, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	c := &conn{file: os.NewFile(uintptr(fd), "guard")}
	var err error
	if c.raw, err = c.file.SyscallConn(); err != nil {
		return nil, err
	}
	c.in = gob.NewDecoder(bufio.NewReader(receiver{c}))
	c.out = gob.NewEncoder(&c.text)
	return c, nil
}

// send sends a message, together with an open file unless file is nil. If canWait is
// true, the message may be sent with a later one.
func (c *conn) send(message any, file *os.File, canWait bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.out.Encode(message); err != nil || canWait && c.text.Len() < 4096 {
		return err
	}
	defer c.text.Reset()
	var rights []byte
	if file != nil {
		if err := withFd(file, func(fd int) { rights = syscall.UnixRights(fd) }); err != nil {
			return err
		}
	}
	var failure error
	err := c.raw.Write(func(fd uintptr) bool {
		for c.text.Len() > 0 {
			n, err := syscall.SendmsgN(int(fd), c.text.Bytes(), rights, nil, noSignal)
			switch err {
			case nil:
				c.text.Next(n)
				rights = nil
			case syscall.EINTR:
			case syscall.EAGAIN:
				return false
			default:
				failure = err
				return true
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	return failure
}

// withFd calls use with a file's descriptor, without side effects on the file.
func withFd(file *os.File, use func(fd int)) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { use(int(fd)) })
}

// receive receives a message. It returns io.EOF if the other side has gone.
func (c *conn) receive(message any) error { return c.in.Decode(message) }

// takeFile returns the file sent with a message, or nil if this process had too many
// open files to receive it.
func (c *conn) takeFile() *os.File {
	if len(c.fds) == 0 {
		return nil
	}
	fd := c.fds[0]
	c.fds = c.fds[1:]
	_ = syscall.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "output")
}

// receiver reads the bytes of a conn and keeps the files sent with them.
type receiver struct{ *conn }

func (r receiver) Read(p []byte) (int, error) {
	oob := make([]byte, syscall.CmsgSpace(4*16))
	var n, oobn int
	var failure error
	err := r.raw.Read(func(fd uintptr) bool {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		for {
			n, oobn, _, _, failure = syscall.Recvmsg(int(fd), p, oob, 0)
			if failure != syscall.EINTR {
				break
			}
		}
		if failure == nil && oobn > 0 {
			r.keep(oob[:oobn])
		}
		return failure != syscall.EAGAIN
	})
	switch {
	case err != nil:
		return 0, err
	case failure == syscall.ECONNRESET, failure == nil && n == 0:
		return 0, io.EOF
	}
	return max(n, 0), failure
}

func (r receiver) keep(oob []byte) {
	messages, _ := syscall.ParseSocketControlMessage(oob)
	for _, m := range messages {
		fds, _ := syscall.ParseUnixRights(&m)
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
		}
		r.fds = append(r.fds, fds...)
	}
}
