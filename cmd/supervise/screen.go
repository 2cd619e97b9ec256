package main

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/restartkit/restart/cmd/internal/printer"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

// screen prints the table, the commands' output and notes. On a terminal the table
// stays at the bottom; elsewhere each change is a line with its time. It is safe for
// concurrent use by multiple goroutines.
type screen struct {
	printer    *printer.Printer // writes without waiting for readers
	out, err   *printer.Output
	terminal   *os.File // whose size decides the layout
	live       bool     // out is a terminal, so lines can be erased
	notesShown bool     // err is a terminal
	colours    bool
	prefix     int // columns of the name before a command's output
	mu         sync.Mutex
	rows       []row
	drawn      []tableLine      // the table's lines now on the terminal
	recent     []string         // the last lines above the table
	size       [2]int           // the terminal's columns and lines when the table was drawn
	columns    terminal.Columns // used if each change is a line
}

func newScreen(out, err *os.File, commands []command) *screen {
	p := printer.New()
	s := &screen{printer: p, out: p.To(out), err: p.To(err), terminal: out, prefix: len(header[0])}
	s.live, s.colours, s.notesShown = terminal.Live(out), terminal.Colours(out), terminal.Live(err)
	for _, c := range commands {
		s.prefix = max(s.prefix, terminal.Width(c.name))
	}
	s.columns = terminal.Columns{Gap: columnGap, Widths: []int{len(timestamp), s.prefix, len("CrashLoopBackOff"), len("10 (10s ago)"), len("15:04:05 in 2m40s")}}
	if s.live {
		s.prefix = min(s.prefix, readableName)
	}
	return s
}

// refresh returns channels that signal when to update the times in the table and when
// the terminal's size changed. Both are nil unless the output is a terminal.
func (s *screen) refresh() (<-chan time.Time, <-chan os.Signal) {
	if !s.live {
		return nil, nil
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	return time.Tick(time.Second), resized
}

// resized forgets the terminal's size, so that the next change draws all lines again.
func (s *screen) resized() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = [2]int{}
}

// show shows the rows. A terminal shows all of them, other outputs only the changed
// ones.
func (s *screen) show(rows []row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text bytes.Buffer
	if s.live {
		if s.printer.Behind() {
			return // the reader would see an old table
		}
		s.erase(&text)
		s.rows = rows
		s.draw(&text)
	} else {
		if s.rows == nil {
			text.WriteString(s.line("TIME", header))
		}
		for i, r := range rows {
			if s.rows == nil || !r.same(s.rows[i]) {
				text.WriteString(s.line(time.Now().Format(timestamp), r.cells(everything)))
			}
		}
		s.rows = rows
	}
	s.write(text.Bytes())
}

// showAll prints all rows. On a terminal they appear above the table, which may omit
// some.
func (s *screen) showAll(rows []row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cells := [][]string{header}
	for _, r := range rows {
		cells = append(cells, r.cells(everything))
	}
	var text bytes.Buffer
	s.erase(&text)
	for _, line := range terminal.Align(cells, columnGap) {
		s.remember(line)
		text.WriteString(line + "\n")
	}
	s.draw(&text)
	s.write(text.Bytes())
}

// timestamp is the format of the TIME column, in local time.
const timestamp = "2006-01-02T15:04:05"

// line returns a line for an output without a live table.
func (s *screen) line(at string, cells []string) string {
	return s.columns.Line(slices.Concat([]string{at}, cells)) + "\n"
}

// output prints a line of a command's output, without its line break.
func (s *screen) output(name string, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text bytes.Buffer
	s.erase(&text)
	shown := fmt.Sprintf("%s | %s", s.name(name), line)
	s.remember(shown)
	text.WriteString(shown + "\n")
	s.draw(&text)
	s.write(text.Bytes())
}

// mostRecent is the height of the largest terminal in lines, and longestRecent the
// length in bytes of the longest line kept.
const (
	mostRecent    = 256
	longestRecent = 1024
)

// remember keeps a line above the table, to draw it again when the terminal's size
// changes.
func (s *screen) remember(line string) {
	if !s.live || len(line) > longestRecent {
		return
	}
	if len(s.recent) == mostRecent {
		s.recent = append(s.recent[:0], s.recent[1:]...)
	}
	s.recent = append(s.recent, line)
}

// note prints a line on standard error, above the table.
func (s *screen) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text bytes.Buffer
	s.erase(&text)
	s.write(text.Bytes())
	logf(s.err, format, args...)
	if s.notesShown {
		var line bytes.Buffer
		logf(&line, format, args...)
		s.remember(strings.TrimSuffix(line.String(), "\n"))
	}
	text.Reset()
	s.draw(&text)
	s.write(text.Bytes())
}

func (s *screen) write(text []byte) {
	if len(text) > 0 {
		_, _ = s.out.Write(text)
	}
}

// name returns a command's name as printed before its output.
func (s *screen) name(name string) string {
	if s.live {
		name = terminal.Shorten(name, s.prefix)
	}
	return terminal.Pad(name, s.prefix)
}

// erase removes the table from the terminal.
func (s *screen) erase(text *bytes.Buffer) {
	width, height := terminal.Size(s.terminal)
	if s.live && len(s.drawn) > 0 && s.size != [2]int{width, height} {
		// The terminal may have wrapped any line anew, so draw all of them.
		text.WriteString(terminal.EraseScreen(height))
		for _, line := range lastLines(s.recent, width, height-1-len(s.drawn)) {
			text.WriteString(line + "\n")
		}
		s.drawn = nil
		return
	}
	for _, line := range s.drawn {
		text.WriteString(terminal.EraseAbove(line.text, width))
	}
	s.drawn = nil
}

// lastLines returns the last lines that fit into width columns and height lines.
func lastLines(lines []string, width, height int) []string {
	first := len(lines)
	for first > 0 && height >= terminal.Lines(lines[first-1], width) {
		first--
		height -= terminal.Lines(lines[first], width)
	}
	return lines[first:]
}

// draw prints the table on the terminal.
func (s *screen) draw(text *bytes.Buffer) {
	if !s.live || s.rows == nil {
		return
	}
	width, height := terminal.Size(s.terminal)
	s.drawn, s.size = fitTable(s.rows, width, height), [2]int{width, height}
	for _, line := range s.drawn {
		if s.colours {
			line.text = line.colour.Paint(line.text)
		}
		text.WriteString(line.text + "\n")
	}
}
