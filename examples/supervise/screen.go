package main

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/restartkit/restart/examples/internal/printer"
	"github.com/restartkit/restart/examples/internal/terminal"
)

// screen prints the table, the output of the commands, and notes. On a terminal the
// table stays at the bottom; elsewhere each change is a line. It is safe for concurrent
// use by multiple goroutines.
type screen struct {
	printer  *printer.Printer // so that nothing waits for a reader
	out, err *printer.Output
	terminal *os.File // whose size counts
	live     bool     // out is a terminal, where lines can be taken back
	colours  bool
	prefix   int // columns of the names before what the commands write
	mu       sync.Mutex
	rows     []row
	drawn    []tableLine      // what of the table stands on the terminal
	columns  terminal.Columns // where each change is a line
}

func newScreen(out, err *os.File, commands []command) *screen {
	p := printer.New()
	s := &screen{printer: p, out: p.To(out), err: p.To(err), terminal: out, prefix: len(header[0])}
	s.live, s.colours = terminal.Live(out), terminal.Colours(out)
	for _, c := range commands {
		s.prefix = max(s.prefix, terminal.Width(c.name))
	}
	s.columns = terminal.Columns{Gap: columnGap, Widths: []int{s.prefix, len("CrashLoopBackOff"), len("10 (10s ago)"), len("15:04:05 in 2m40s")}}
	if s.live {
		s.prefix = min(s.prefix, readableName)
	}
	return s
}

// refresh returns a channel that ticks when the times in the table must be updated.
func (s *screen) refresh() <-chan time.Time {
	if !s.live {
		return nil
	}
	return time.Tick(time.Second)
}

// show shows the rows: all of them on a terminal, else those that have changed.
func (s *screen) show(rows []row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text bytes.Buffer
	if s.live {
		if s.printer.Behind() {
			return // nobody sees the table now
		}
		s.erase(&text)
		s.rows = rows
		s.draw(&text)
	} else {
		if s.rows == nil {
			text.WriteString(s.columns.Line(header) + "\n")
		}
		for i, r := range rows {
			if s.rows == nil || !r.same(s.rows[i]) {
				text.WriteString(s.columns.Line(r.cells(everything)) + "\n")
			}
		}
		s.rows = rows
	}
	s.write(text.Bytes())
}

// output passes on a line of a command, which has no line break any more.
func (s *screen) output(name string, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text bytes.Buffer
	s.erase(&text)
	fmt.Fprintf(&text, "%s | %s\n", s.name(name), line)
	s.draw(&text)
	s.write(text.Bytes())
}

// note prints a line on standard error, above the table.
func (s *screen) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text bytes.Buffer
	s.erase(&text)
	s.write(text.Bytes())
	logf(s.err, format, args...)
	text.Reset()
	s.draw(&text)
	s.write(text.Bytes())
}

func (s *screen) write(text []byte) {
	if len(text) > 0 {
		_, _ = s.out.Write(text)
	}
}

// name returns a name as it stands before what a command writes.
func (s *screen) name(name string) string {
	if s.live {
		name = terminal.Shorten(name, s.prefix)
	}
	return terminal.Pad(name, s.prefix)
}

// erase removes the table from the terminal.
func (s *screen) erase(text *bytes.Buffer) {
	width, _ := terminal.Size(s.terminal)
	for _, line := range s.drawn {
		text.WriteString(terminal.EraseAbove(line.text, width))
	}
	s.drawn = nil
}

// draw prints the table on the terminal.
func (s *screen) draw(text *bytes.Buffer) {
	if !s.live || s.rows == nil {
		return
	}
	width, height := terminal.Size(s.terminal)
	s.drawn = fitTable(s.rows, width, height)
	for _, line := range s.drawn {
		if s.colours {
			line.text = line.colour.Paint(line.text)
		}
		text.WriteString(line.text + "\n")
	}
}
