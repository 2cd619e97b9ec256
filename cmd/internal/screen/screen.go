// Package screen shows lines that scroll and, on a terminal, a block of lines below them that
// is kept up to date. Elsewhere there are only the lines.
package screen

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Screen writes to one output, which may be a terminal, and notes to another one. A goroutine
// of its own writes, so that only Print waits for a slow reader. Create one with New and end
// it with Close. A Screen is safe for concurrent use by multiple goroutines.
//
// The terminal stays as it is: no mode is changed, nothing is read from it, and nothing is
// left to repair if the program is killed.
type Screen struct {
	out, notes io.Writer
	terminal   *os.File // out, if it is a terminal on which lines can be erased
	style      Style
	failed     chan struct{} // closed when out cannot be written
	done       chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	changed *sync.Cond
	lines   []line
	dropped int
	block   func(width, height int) []string
	redraw  bool
	closed  bool
	err     error

	// Of the writer alone:
	drawn    []string          // lines of the block as they stand on the terminal
	progress map[string]string // last progress of a source that has printed no line since
}

// line is a line to write.
type line struct {
	kind         kind
	source, text string
}

type kind int

const (
	printed kind = iota
	progress
	note
)

// mostLines is how many lines wait for the reader before Print waits too. Of other lines, ten
// times as many do before some are dropped.
const mostLines = 256

// New returns a Screen that writes to out, and notes to notes. Both may be the same terminal.
func New(out, notes io.Writer) *Screen {
	s := &Screen{
		out: out, notes: notes, failed: make(chan struct{}), done: make(chan struct{}),
		progress: make(map[string]string),
	}
	s.changed = sync.NewCond(&s.mu)
	if s.style = StyleOf(out); s.style.Width > 0 && os.Getenv("TERM") != "dumb" {
		s.terminal = out.(*os.File)
	}
	go s.write()
	if s.Live() {
		go s.follow()
	}
	return s
}

// follow draws the block again when the size of the terminal has changed.
func (s *Screen) follow() {
	resized := make(chan os.Signal, 1)
	notifyResized(resized)
	defer signal.Stop(resized)
	for {
		select {
		case <-resized:
			s.Redraw()
		case <-s.done:
			return
		}
	}
}

// Live reports whether the block is shown.
func (s *Screen) Live() bool { return s.terminal != nil }

// Style returns how text is written to the output.
func (s *Screen) Style() Style { return s.style }

// Print prints a line of a source, such as a command. It waits while the reader of the output
// is far behind.
func (s *Screen) Print(source, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.lines) >= mostLines && !s.closed && s.err == nil {
		s.changed.Wait()
	}
	s.add(line{printed, source, text})
}

// Progress shows a line until the next one of the same source. Elsewhere than on a terminal it
// is printed, and a Print of the same text that follows is not.
func (s *Screen) Progress(source, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.lines) >= mostLines && !s.closed && s.err == nil {
		s.changed.Wait()
	}
	s.add(line{progress, source, text})
}

// Say prints a line and does not wait.
func (s *Screen) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(line{printed, "", text})
}

// Note prints a line on the output for notes and does not wait.
func (s *Screen) Note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(line{note, "", text})
}

// add adds a line. The caller holds the lock.
func (s *Screen) add(l line) {
	if len(s.lines) >= 10*mostLines {
		s.dropped++
		return
	}
	s.lines = append(s.lines, l)
	s.changed.Broadcast()
}

// Show sets the block. It is called by another goroutine whenever the block is drawn, and
// returns at most height lines of at most width columns.
func (s *Screen) Show(block func(width, height int) []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.block, s.redraw = block, true
	s.changed.Broadcast()
}

// Redraw draws the block again, because its lines have changed.
func (s *Screen) Redraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redraw = true
	s.changed.Broadcast()
}

// Failed returns a channel that closes when the output cannot be written.
func (s *Screen) Failed() <-chan struct{} { return s.failed }

// Close waits until everything is written or ctx is done, and returns the error of the output
// or of ctx, if any. The block stays as it was last drawn.
func (s *Screen) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.changed.Broadcast()
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// write writes lines and draws the block until Close.
func (s *Screen) write() {
	defer close(s.done)
	for {
		s.mu.Lock()
		for len(s.lines) == 0 && !s.redraw && !s.closed {
			s.changed.Wait()
		}
		lines, block, dropped, redraw := s.lines, s.block, s.dropped, s.redraw
		s.lines, s.dropped, s.redraw = nil, 0, false
		end := s.closed && len(lines) == 0 && !redraw
		s.changed.Broadcast() // Print may go on
		s.mu.Unlock()
		if end {
			return
		}
		if dropped > 0 {
			lines = append(lines, line{note, "", fmt.Sprintf("%d lines were dropped, because nobody read them", dropped)})
		}
		if err := s.writeAll(lines, block); err != nil {
			s.mu.Lock()
			if s.err == nil {
				s.err = err
				close(s.failed)
			}
			s.changed.Broadcast()
			s.mu.Unlock()
		}
	}
}

// Terminals that know these sequences show everything between them at once.
const (
	beginUpdate = "\x1b[?2026h"
	endUpdate   = "\x1b[?2026l"
)

func (s *Screen) writeAll(lines []line, block func(width, height int) []string) error {
	var text strings.Builder
	flush := func() error {
		if text.Len() == 0 {
			return nil
		}
		_, err := io.WriteString(s.out, text.String())
		text.Reset()
		return err
	}
	width, height := s.size()
	if s.Live() {
		text.WriteString(beginUpdate)
		s.erase(&text, width)
	}
	for _, l := range lines {
		last, again := s.progress[l.source]
		switch {
		case l.kind == note:
			if err := flush(); err != nil {
				return err
			}
			_, _ = io.WriteString(s.notes, l.text+"\n")
			continue
		case l.kind == progress:
			s.progress[l.source] = l.text
			if s.Live() {
				continue
			}
		case again && l.source != "":
			delete(s.progress, l.source)
			if !s.Live() && last == l.text {
				continue
			}
		}
		text.WriteString(l.text + "\n")
	}
	if s.Live() {
		s.draw(&text, block, width, height)
		text.WriteString(endUpdate)
	}
	return flush()
}

// size returns the columns and lines of the terminal.
func (s *Screen) size() (width, height int) {
	if s.Live() {
		width, height, err := term.GetSize(int(s.terminal.Fd()))
		if err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// erase removes the block. A terminal that has become narrower has wrapped its lines.
func (s *Screen) erase(text *strings.Builder, width int) {
	rows := 0
	for _, one := range s.drawn {
		rows += max((Width(one)+width-1)/width, 1)
	}
	if rows > 0 {
		fmt.Fprintf(text, "\x1b[%dA\r\x1b[J", rows)
	}
	s.drawn = nil
}

// draw draws the progress of sources and the block below it. The last column stays empty and
// the last line is the cursor's, so that the terminal neither wraps nor scrolls.
func (s *Screen) draw(text *strings.Builder, block func(width, height int) []string, width, height int) {
	width, height = max(width-1, 1), max(height-1, 1)
	var below []string
	if block != nil {
		below = block(width, height)
		below = below[:min(len(below), height)]
	}
	for _, source := range slices.Sorted(maps.Keys(s.progress)) {
		if len(s.drawn)+len(below) < height {
			s.drawn = append(s.drawn, s.progress[source])
		}
	}
	s.drawn = append(s.drawn, below...)
	for i, one := range s.drawn {
		s.drawn[i] = Shorten(one, width)
		text.WriteString(s.drawn[i] + "\n")
	}
}
