package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/spelling"
	"github.com/restartkit/restart/cmd/internal/statefolder"
)

// verbs are what a person may ask of a supervise that runs.
var verbs = []string{"status", "restart", "stop"}

// request is what a person asks for, one JSON line on the socket.
type request struct {
	Verb  string   `json:"verb"`
	Names []string `json:"names,omitempty"` // of commands; none: all of them, for status only
}

// answer is the JSON line that answers a request.
type answer struct {
	Error string     `json:"error,omitempty"`
	Table [][]string `json:"table,omitempty"` // with its header
}

// control is the socket in the state folder. Only its user can reach it, since the
// folder is only theirs. A nil control asks for nothing.
type control struct {
	listener net.Listener
	asked    chan asked
	closed   chan struct{}
}

// asked is a request that waits for its answer.
type asked struct {
	request request
	answer  chan answer
}

// Limits of a request, so that no client holds up the others.
const (
	longestRequest = 64 << 10
	requestTime    = 10 * time.Second
)

// listen opens the socket. The folder is locked, so a socket that is there is of a run
// that was killed.
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

// close removes the socket. Requests that have no answer yet end without one.
func (c *control) close() {
	if c != nil {
		close(c.closed)
		c.listener.Close()
	}
}

// serve answers one client after the other.
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

// obey does what a person asks for. It changes nothing if a name is unknown.
func (s *supervisor) obey(r request) answer {
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

// named returns the tasks of these names.
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
				return nil, fmt.Errorf("no command is named %q: did you mean %s?", name, meant)
			}
			return nil, fmt.Errorf("no command is named %q: there are %s", name, strings.Join(known, ", "))
		}
		found = append(found, t)
	}
	return found, nil
}

// restart starts a command again at once, whatever its policy and its delay say. One
// that had ended for good begins a new history.
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

// hold ends a command and keeps it from starting.
func (s *supervisor) hold(t *task) {
	t.held, t.again = true, false
	t.terminate(s.grace)
}

// table returns the rows of these tasks, with the header.
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
