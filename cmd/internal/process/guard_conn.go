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

// The requests of a program to its guard.
const (
	startRequest   = iota + 1 // start Args
	signalRequest             // send Signal to the child
	releaseRequest            // the child's output has been read to its end
	forgetRequest             // the records of the owner are not needed any more
)

type request struct {
	Kind      int
	ID        int64 // names the child
	Signal    syscall.Signal
	Args, Env []string
	Dir       string
	Record    RecordKey
}

// The replies of a guard to its program.
const (
	readyReply   = iota + 1 // the guard is ready
	startedReply            // the child runs; the read end of its output is attached
	failedReply             // the child could not be started
	endedReply              // the child has ended, with all processes that it left
	leftReply               // a process cannot be killed, as Text says
)

type reply struct {
	Kind       int
	ID         int64
	Code       int // of a StartError; 0: the machine is short of something
	Text       string
	Status     syscall.WaitStatus
	Unrecorded string // why the end could not be written to the journal, or ""
}

// conn carries messages and open files between a program and its guard. One
// goroutine may receive while others send.
type conn struct {
	file *os.File
	raw  syscall.RawConn
	in   *gob.Decoder
	fds  []int // received, not taken yet; each belongs to a message that follows

	mu   sync.Mutex
	out  *gob.Encoder
	text bytes.Buffer // to be sent
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

// send sends a message and, if file is not nil, an open file with it. With canWait the
// message may wait for the next one.
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

// withFd calls use with the descriptor of a file, without other effects on the file.
func withFd(file *os.File, use func(fd int)) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { use(int(fd)) })
}

// receive receives a message. The error is io.EOF when the other side is gone.
func (c *conn) receive(message any) error { return c.in.Decode(message) }

// takeFile returns the file that came with a message, nil if this process has too many
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

// receiver reads the bytes of a conn and keeps the files that come with them.
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
