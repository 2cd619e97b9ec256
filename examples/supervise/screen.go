package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/restartkit/restart/examples/internal/terminal"
	"golang.org/x/term"
)

// screen shows the table, what the commands write, and notes. On a terminal the
// table stays at the bottom and is kept up to date; otherwise each change is a
// line. It is safe for concurrent use by multiple goroutines.
type screen struct {
	out, err   *os.File
	live       bool // out is a terminal, where lines can be taken back
	colours    bool
	nameWidth  int
	broken     chan struct{} // closed when out cannot be written any more
	mu         sync.Mutex
	rows       []row
	drawn      int // lines of the table that stand on the terminal
	headed     bool
	failedOnce sync.Once
}

func newScreen(out, err *os.File, commands []command) *screen {
	s := &screen{out: out, err: err, nameWidth: len("NAME"), broken: make(chan struct{})}
	s.live, s.colours = terminal.Live(out), terminal.Colours(out)
	for _, c := range commands {
		s.nameWidth = max(s.nameWidth, len(c.name))
	}
	return s
}

// refresh returns what ticks when the times in the table are to be brought up to
// date.
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
		s.erase(&text)
		s.rows = rows
		s.draw(&text)
	} else {
		if !s.headed {
			s.headed = true
			text.WriteString(s.line(header) + "\n")
		}
		for i, r := range rows {
			if s.rows == nil || !r.same(s.rows[i]) {
				text.WriteString(s.line(r.columns()) + "\n")
			}
		}
		s.rows = rows
	}
	s.write(text.Bytes())
}

// output passes on a line of a command.
func (s *screen) output(name string, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text bytes.Buffer
	s.erase(&text)
	fmt.Fprintf(&text, "%-*s | %s\n", s.nameWidth, name, bytes.TrimRight(line, "\r\n"))
	s.draw(&text)
	s.write(text.Bytes())
}

// note tells something beside the table, on standard error.
func (s *screen) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text bytes.Buffer
	s.erase(&text)
	s.write(text.Bytes())
	fmt.Fprintf(s.err, "supervise: "+format+"\n", args...)
	text.Reset()
	s.draw(&text)
	s.write(text.Bytes())
}

func (s *screen) write(text []byte) {
	if len(text) == 0 {
		return
	}
	if _, err := s.out.Write(text); err != nil {
		s.failedOnce.Do(func() { close(s.broken) })
	}
}

// erase takes the table off the terminal.
func (s *screen) erase(text *bytes.Buffer) {
	if s.drawn > 0 {
		fmt.Fprintf(text, "\x1b[%dA\r\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// draw puts the table onto the terminal, as much of it as fits.
func (s *screen) draw(text *bytes.Buffer) {
	if !s.live || s.rows == nil {
		return
	}
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	lines, marks := []string{s.line(header)}, []string{""}
	for _, r := range s.rows {
		lines, marks = append(lines, s.line(r.columns())), append(marks, r.colour())
	}
	if most := max(height-2, 2); len(lines) > most {
		left := len(lines) - most + 1
		lines, marks = append(lines[:most-1], fmt.Sprintf("… and %d more", left)), append(marks[:most-1], "")
	}
	for i, line := range lines {
		if len(line) > width-1 {
			line = line[:max(width-1, 0)]
		}
		if s.colours && marks[i] != "" {
			line = marks[i] + line + "\x1b[0m"
		}
		text.WriteString(line + "\n")
	}
	s.drawn = len(lines)
}

// line aligns the columns of a row.
func (s *screen) line(columns [5]string) string {
	return strings.TrimRight(fmt.Sprintf("%-*s   %-16s   %-12s   %-24s   %s",
		s.nameWidth, columns[0], columns[1], columns[2], columns[3], columns[4]), " ")
}
