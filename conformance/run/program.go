package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/restartkit/restart/conformance/vectors"
)

const (
	maxLine    = 16 << 20    // bytes of an answer
	maxStray   = 5           // broken answers to keep
	maxStderr  = 4 << 10     // bytes of the program's last errors to keep
	graceToEnd = time.Second // from the last answer to the program's end
)

// An answer is a line of the program.
type answer struct {
	ID          *string         `json:"id"`
	Got         json.RawMessage `json:"got"`
	Unsupported bool            `json:"unsupported"`
	Why         string          `json:"why"`
	Error       string          `json:"error"`
}

// asked holds the answers of a program, and how it ended.
type asked struct {
	answers map[string]answer
	missing string   // why answers are missing, if some are
	stray   []string // the first lines that answer no question
	strays  int      // their number
	stderr  string   // the end of the program's errors
}

// ask starts the program, writes all questions and reads the answers, in any order. It
// ends the program, with its children, once every question has an answer, the program
// has closed its stdout, or it has given no awaited answer for the timeout. It returns
// an error if the program cannot be started or ctx has ended.
func ask(ctx context.Context, command []string, cases []*vectors.Case, timeout time.Duration) (*asked, error) {
	var questions bytes.Buffer
	if err := printQuestions(&questions, cases); err != nil {
		return nil, err
	}
	p, err := start(command)
	if err != nil {
		return nil, err
	}
	go func() { // ends when all is written or the program ends
		_, _ = p.stdin.Write(questions.Bytes())
		_ = p.stdin.Close()
	}()

	a := &asked{answers: map[string]answer{}}
	awaited := map[string]bool{}
	for _, c := range cases {
		awaited[c.FullID()] = true
	}
	silence := time.NewTimer(timeout)
	defer silence.Stop()
	closed := false
	for !closed && a.missing == "" && len(awaited) > 0 {
		select {
		case line, ok := <-p.lines:
			switch {
			case !ok:
				closed = true
			case a.take(line, awaited):
				silence.Reset(timeout)
			}
		case <-silence.C:
			a.missing = fmt.Sprintf("no answer within %v", timeout)
		case <-ctx.Done():
			p.end(0)
			return nil, errors.New("interrupted")
		}
	}
	grace := graceToEnd
	if a.missing != "" {
		grace = 0
	}
	if status := p.end(grace); closed {
		a.missing = "the program ended without an answer: " + status
	}
	a.stderr = p.stderr.String()
	return a, nil
}

// take reads one line and reports whether it is an awaited answer.
func (a *asked) take(line line, awaited map[string]bool) bool {
	stray := func(why string) bool {
		if a.strays++; len(a.stray) < maxStray {
			a.stray = append(a.stray, fmt.Sprintf("%s: %s", why, shorten(string(line.text), 200)))
		}
		return false
	}
	if line.tooLong {
		return stray(fmt.Sprintf("a line of more than %d bytes", maxLine))
	}
	var got answer
	if err := json.Unmarshal(line.text, &got); err != nil {
		return stray("not an answer")
	}
	given := 0
	for _, is := range []bool{got.Got != nil && string(got.Got) != "null", got.Unsupported, got.Error != ""} {
		if is {
			given++
		}
	}
	switch {
	case got.ID == nil:
		return stray("an answer without an id")
	case given > 1 || given == 0 && got.Got == nil:
		return stray("an answer with none or several of got, unsupported and error")
	}
	if _, answered := a.answers[*got.ID]; answered {
		return stray("a second answer")
	}
	if !awaited[*got.ID] {
		return stray("an answer to a question not asked")
	}
	a.answers[*got.ID] = got
	delete(awaited, *got.ID)
	return true
}

// program is a running program.
type program struct {
	stdin  io.WriteCloser
	lines  <-chan line // of its stdout; closed at the end
	stderr *tail
	group  group
	ended  <-chan error // the result of waiting for it
	done   chan struct{}
}

func start(command []string) (*program, error) {
	cmd := exec.Command(command[0], command[1:]...)
	p := &program{stderr: &tail{}, done: make(chan struct{})}
	p.group.prepare(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = writer, p.stderr
	cmd.WaitDelay = graceToEnd // for children that hold its stderr
	err = cmd.Start()
	_ = writer.Close()
	if err != nil {
		_ = stdout.Close()
		return nil, err
	}
	p.stdin = stdin
	lines, ended := make(chan line), make(chan error, 1)
	p.lines, p.ended = lines, ended
	go func() {
		defer close(lines)
		defer stdout.Close()
		readLines(stdout, lines, p.done)
	}()
	go func() { ended <- cmd.Wait() }()
	p.group.started(cmd)
	return p, nil
}

// end waits for the program for at most the grace, ends it and all its children, and
// returns how it ended.
func (p *program) end(grace time.Duration) string {
	close(p.done)
	_ = p.stdin.Close()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	var err error
	select {
	case err = <-p.ended:
		p.group.kill()
	case <-timer.C:
		p.group.kill()
		err = <-p.ended
	}
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// A line is one of the program's stdout, without its end.
type line struct {
	text    []byte
	tooLong bool // the text is its beginning
}

// readLines sends the lines of r until its end or done.
func readLines(r io.Reader, lines chan<- line, done <-chan struct{}) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		var l line
		more, err := true, error(nil)
		for more && err == nil {
			var part []byte
			part, more, err = in.ReadLine()
			if len(l.text)+len(part) > maxLine {
				l.tooLong = true
				l.text = l.text[:min(len(l.text), 200)]
			} else if !l.tooLong {
				l.text = append(l.text, part...)
			}
		}
		if len(bytes.TrimSpace(l.text)) > 0 || l.tooLong {
			select {
			case lines <- l:
			case <-done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// tail is a writer that keeps only the last bytes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxStderr):]...)
	t.text = t.text[max(0, len(t.text)-maxStderr):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.text), "�"))
}

// shorten returns the text's first n bytes, if it has more.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
