package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/statefolder"
	"github.com/restartkit/restart/internal/spelling"
)

// verbs are the requests that a user can send to a running supervise.
var verbs = []string{"status", "restart", "stop"}

// request is a user's request, one JSON line on the socket.
type request struct {
	Verb  string   `json:"verb"`
	Names []string `json:"names,omitempty"` // of commands; with status, no names mean all commands
}

// answer is the reply to a request, one JSON line.
type answer struct {
	Error string     `json:"error,omitempty"`
	Table [][]string `json:"table,omitempty"` // with its header
}

// control serves the socket in the state folder. Only the folder's owner can reach it.
// A nil control never receives a request.
type control struct {
	listener net.Listener
	asked    chan asked
	closed   chan struct{}
}

// asked is a request awaiting its answer.
type asked struct {
	request request
	answer  chan answer
}

// Limits of a request, so that one client cannot hold up the others.
const (
	longestRequest = 64 << 10
	requestTime    = 10 * time.Second
)

// listen opens the socket. It replaces an existing one, which a killed run left behind,
// since the folder is locked.
func listen(folder *statefolder.Folder) (*control, error) {
	listener, err := folder.Listen(socketFile)
	if err != nil {
		return nil, err
	}
	c := &control{listener: listener, asked: make(chan asked), closed: make(chan struct{})}
	go c.serve()
	return c, nil
}

const socketFile = "control"

func (c *control) requests() <-chan asked {
	if c == nil {
		return nil
	}
	return c.asked
}

// close removes the socket. Pending requests end without an answer.
func (c *control) close() {
	if c != nil {
		close(c.closed)
		c.listener.Close()
	}
}

// serve answers clients one at a time.
func (c *control) serve() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(requestTime))
		_ = json.NewEncoder(conn).Encode(c.handle(conn))
		conn.Close()
	}
}

// handle reads a request and returns the supervisor's answer.
func (c *control) handle(conn net.Conn) answer {
	line := bufio.NewReaderSize(conn, longestRequest)
	text, err := line.ReadSlice('\n')
	var r request
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return answer{Error: fmt.Sprintf("not a request: %v", err)}
	}
	a := asked{request: r, answer: make(chan answer, 1)}
	select {
	case c.asked <- a:
		return <-a.answer
	case <-c.closed:
		return answer{Error: "supervise is ending"}
	}
}

// carryOut executes a request. It changes nothing if a name is unknown.
func (s *supervisor) carryOut(r request) answer {
	tasks, err := s.named(r.Names)
	switch {
	case err != nil:
		return answer{Error: err.Error()}
	case r.Verb == "status" && len(r.Names) == 0:
		return s.table(s.tasks)
	case r.Verb == "status":
		return s.table(tasks)
	case len(tasks) == 0:
		return answer{Error: "name at least one command"}
	case s.stopping:
		return answer{Error: "supervise is ending"}
	}
	for _, t := range tasks {
		switch r.Verb {
		case "restart":
			s.restart(t)
		case "stop":
			s.hold(t)
		default:
			return answer{Error: fmt.Sprintf("unknown request %q", r.Verb)}
		}
	}
	return s.table(tasks)
}

// named returns the tasks with the given names.
func (s *supervisor) named(names []string) ([]*task, error) {
	var known []string
	byName := make(map[string]*task)
	for _, t := range s.tasks {
		known = append(known, t.name)
		byName[t.name] = t
	}
	var found []*task
	for _, name := range names {
		t := byName[name]
		if t == nil {
			if meant := spelling.Nearest(name, known); meant != "" {
				return nil, fmt.Errorf("no command is named %q; did you mean %s?", name, meant)
			}
			return nil, fmt.Errorf("no command is named %q; the commands are %s", name, strings.Join(known, ", "))
		}
		found = append(found, t)
	}
	return found, nil
}

// restart starts a command at once, regardless of its policy and delay. A command that
// had ended for good begins a new history.
func (s *supervisor) restart(t *task) {
	t.held = false
	switch {
	case t.process != nil:
		t.again = true
		t.terminate(s.grace)
	case t.over():
		s.restarter.Reset(t.name)
		t.decision = backoff.Decision{}
	default:
		s.wakeOne(t)
	}
}

// hold terminates a command and keeps it stopped.
func (s *supervisor) hold(t *task) {
	t.held, t.again = true, false
	t.terminate(s.grace)
}

// table returns the header and the rows of the given tasks.
func (s *supervisor) table(tasks []*task) answer {
	shown := make(map[string]bool)
	for _, t := range tasks {
		shown[t.name] = true
	}
	a := answer{Table: [][]string{header}}
	for _, r := range s.rows() {
		if shown[r.name] {
			a.Table = append(a.Table, r.cells(everything))
		}
	}
	return a
}
