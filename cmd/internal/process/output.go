package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
)

// Line is a line of a command's output.
type Line struct {
	Text string // without its end, and safe to print; at most longestLine bytes before it was made so
	// Progress means that the next line of the command takes the place of this one: a carriage
	// return has ended it, or it is drawn over another one and not complete.
	Progress bool
	// Again means that Text is that of the Progress before it, which is now complete.
	Again bool
}

// longestLine is the length in bytes of the pieces into which a longer line is cut.
const longestLine = 64 << 10

// Programs can draw their progress as often as they like. It is passed on when it stays as it
// is for progressPause, and otherwise at most that often.
const progressPause = 100 * time.Millisecond

// After the end of a command, the rest of its output arrives at once, unless a process that is
// not its own holds the output open, or nobody reads what is printed.
const (
	outputPause = 100 * time.Millisecond // longest wait for more output
	outputRest  = 1 << 20                // most bytes left, as a pipe holds
	outputWait  = time.Second            // longest wait for the reader of the lines
)

// output reads the output of one command. A nil output has none.
type output struct {
	from  *os.File
	lines *lines
	ended atomic.Bool
	done  chan struct{} // closed when all output was passed on
}

// start begins to read.
func (o *output) start(print func(Line), colours bool) {
	if o == nil {
		return
	}
	o.lines = &lines{print: print, colours: colours}
	go func() {
		defer close(o.done)
		defer o.from.Close()
		o.read()
	}()
}

func (o *output) read() {
	defer o.lines.end()
	buffer := make([]byte, 32<<10)
	rest := outputRest
	for rest > 0 {
		ended := o.ended.Load()
		switch {
		case ended:
			_ = o.from.SetReadDeadline(time.Now().Add(outputPause))
		case o.lines.waiting():
			_ = o.from.SetReadDeadline(time.Now().Add(progressPause))
		default:
			_ = o.from.SetReadDeadline(time.Time{})
			if o.ended.Load() { // finish has just set its deadline, which must stay
				continue
			}
		}
		n, err := o.from.Read(buffer)
		if ended {
			rest -= n
		}
		o.lines.write(buffer[:n], time.Now())
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && !ended:
			o.lines.flush()
		case err != nil:
			return
		}
	}
}

// finish waits until the output of an ended command was passed on.
func (o *output) finish() {
	if o == nil {
		return
	}
	o.ended.Store(true)
	_ = o.from.SetReadDeadline(time.Now()) // ends a pending Read
	select {
	case <-o.done:
	case <-time.After(outputWait):
	}
}

// close ends an output that was not started.
func (o *output) close() {
	if o != nil {
		o.from.Close()
	}
}

// lines cuts text into Lines.
type lines struct {
	print   func(Line)
	colours bool

	text    []byte    // of the line so far
	over    bool      // it is drawn over an earlier one
	back    bool      // a carriage return came last, so the next character draws over text
	shown   bool      // text was passed on as progress
	last    string    // last progress of this line that was passed on
	lastAt  time.Time // when that was
	printed bool      // last is valid
}

// write adds text read at the given time.
func (l *lines) write(text []byte, now time.Time) {
	for len(text) > 0 {
		switch text[0] {
		case '\n':
			l.complete()
			text = text[1:]
			continue
		case '\r':
			l.back = true
			text = text[1:]
			continue
		}
		if l.back {
			if now.Sub(l.lastAt) >= progressPause {
				l.progress(now)
			}
			l.text, l.over, l.back, l.shown = l.text[:0], true, false, false
		}
		n := bytes.IndexAny(text, "\r\n")
		if n < 0 {
			n = len(text)
		}
		n = min(n, longestLine-len(l.text))
		l.text, l.shown = append(l.text, text[:n]...), false
		text = text[n:]
		if len(l.text) == longestLine {
			l.complete()
		}
	}
}

// waiting reports whether there is progress to pass on if nothing follows.
func (l *lines) waiting() bool { return (l.over || l.back) && !l.shown && len(l.text) > 0 }

// flush passes on progress after which nothing came for a while.
func (l *lines) flush() { l.flushAt(time.Now()) }

func (l *lines) flushAt(now time.Time) {
	if l.waiting() {
		l.progress(now)
	}
}

func (l *lines) progress(now time.Time) {
	text := l.safe()
	if !l.shown && len(l.text) > 0 && !(l.printed && text == l.last) {
		l.print(Line{Text: text, Progress: true})
		l.last, l.lastAt, l.printed = text, now, true
	}
	l.shown = true
}

// complete passes on a finished line.
func (l *lines) complete() {
	text := l.safe()
	l.print(Line{Text: text, Again: l.printed && text == l.last})
	*l = lines{print: l.print, colours: l.colours, text: l.text[:0], lastAt: l.lastAt}
}

// end passes on the last line, if no line feed has ended it.
func (l *lines) end() {
	if len(l.text) > 0 || l.printed {
		l.complete()
	}
}

// eraseLine are the sequences that erase a part of a line, which programs write around
// progress. A line that takes the place of another one has erased it.
var eraseLine = strings.NewReplacer("\x1b[K", "", "\x1b[0K", "", "\x1b[1K", "", "\x1b[2K", "")

func (l *lines) safe() string {
	text := string(l.text)
	if l.over || l.back {
		text = eraseLine.Replace(text)
	}
	return human.Line(text, l.colours)
}

// null opens the null device as an input or output of a command.
func null() (*os.File, error) { return os.OpenFile(os.DevNull, os.O_RDWR, 0) }

// files are those that a command starts with.
type files struct {
	stdin, stdout, stderr *os.File
	own                   []io.Closer // to close once it was started
}

// open opens the inputs and outputs of the command.
func (p *Process) open() (f files, err error) {
	c := &p.command
	defer func() {
		if err != nil {
			f.close()
			p.output.close()
		}
	}()
	f.stdin, f.stdout, f.stderr = c.Stdin, c.Stdout, c.Stderr
	if f.stdin == nil || c.Output == nil && (f.stdout == nil || f.stderr == nil) {
		file, err := null()
		if err != nil {
			return f, err
		}
		f.own = append(f.own, file)
		f.fill(&f.stdin, file)
		if c.Output == nil {
			f.fill(&f.stdout, file)
			f.fill(&f.stderr, file)
		}
	}
	if f.stdout == nil || f.stderr == nil {
		read, write, err := os.Pipe()
		if err != nil {
			return f, err
		}
		f.own = append(f.own, write)
		f.fill(&f.stdout, write)
		f.fill(&f.stderr, write)
		p.output = &output{from: read, done: make(chan struct{})}
	}
	return f, nil
}

func (f *files) fill(at **os.File, file *os.File) {
	if *at == nil {
		*at = file
	}
}

// list returns the files by their number in the command.
func (f *files) list() []*os.File { return []*os.File{f.stdin, f.stdout, f.stderr} }

func (f *files) close() {
	for _, one := range f.own {
		one.Close()
	}
}
