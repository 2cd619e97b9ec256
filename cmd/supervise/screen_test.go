package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/rivo/uniseg"
)

// display is a terminal that shows what is written behind what stands on a line
// already: the program does nothing else. Its last lines are those that can be seen.
type display struct {
	t             *testing.T
	width, height int
	lines         []string
	at            int // the cursor's line
	wrapped       int
}

var steering = regexp.MustCompile(`^(\r|\n|\x1b\[A|\x1b\[2K|\x1b\[\d+m)`)

// newDisplay returns a terminal after that output.
func newDisplay(t *testing.T, width, height int, text string) *display {
	t.Helper()
	d := &display{t: t, width: width, height: height, lines: []string{""}}
	for len(text) > 0 {
		n := len(steering.FindString(text))
		if n > 0 {
			d.steer(text[:n])
		} else {
			var character string
			character, _, _, _ = uniseg.FirstGraphemeClusterInString(text, -1)
			n = len(character)
			d.put(character)
		}
		text = text[n:]
	}
	return d
}

func (d *display) steer(sequence string) {
	switch sequence {
	case "\n":
		if d.at++; d.at == len(d.lines) {
			d.lines = append(d.lines, "")
		}
	case "\x1b[A":
		if d.at == d.scrolled() {
			d.t.Fatalf("up from the first line of %q", d.lines)
		}
		d.at--
	case "\x1b[2K":
		d.lines[d.at] = ""
	}
}

func (d *display) put(character string) {
	if terminal.Width(d.lines[d.at]+character) > d.width {
		d.wrapped++
		d.steer("\n")
	}
	d.lines[d.at] += character
}

// scrolled is how many lines have left the terminal at its top.
func (d *display) scrolled() int { return max(len(d.lines)-d.height, 0) }

// text is what stands above the cursor.
func (d *display) text() string {
	return strings.Join(d.lines[:d.at], "\n")
}

// drawn returns what a screen has written, without a size of its own.
func drawn(t *testing.T, commands []command, use func(*screen)) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(write, write, commands)
	use(s)
	s.printer.Flush(nil)
	write.Close()
	text, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// On a terminal the table stays below what the commands write, once.
func TestTableStaysBelowTheOutput(t *testing.T) {
	out := drawn(t, []command{{name: "a"}, {name: "long-name"}}, func(s *screen) {
		s.live, s.colours = true, true
		rows := []row{{name: "long-name", state: "Running", exit: "-"}, {name: "a", state: "Running", exit: "-"}}
		s.output("a", []byte("before the table"))
		s.show(rows)
		s.output("long-name", []byte("no newline"))
		s.note("something \x1b[2J else")
		rows = slices.Clone(rows)
		rows[1] = row{name: "a", state: "CrashLoopBackOff", restarts: 2, ago: 7300 * time.Millisecond, next: time.Date(2024, 1, 2, 3, 4, 5, 0, time.Local), in: 9500 * time.Millisecond, exit: "1"}
		s.show(rows)
		s.show(rows)
	})
	want := []string{
		"a         | before the table",
		"long-name | no newline",
		`supervise: something \x1b[2J else`,
		"NAME        STATE              RESTARTS     NEXT               EXIT",
		"a           CrashLoopBackOff   2 (7s ago)   03:04:05 in 9.5s   1",
		"long-name   Running            0            -                  -",
		"2 commands: 1 crashed, 1 running",
	}
	if got := newDisplay(t, 80, 24, out).text(); got != strings.Join(want, "\n") {
		t.Errorf("on the terminal:\n%s", got)
	}
	if !strings.Contains(out, "\x1b[33ma  ") {
		t.Errorf("no colour: %q", out)
	}
}

// A terminal of another size has perhaps wrapped lines anew, and perhaps not: the screen
// is erased, and the last lines that fit are drawn again above the table.
func TestResizedTerminalIsDrawnAgain(t *testing.T) {
	out := drawn(t, []command{{name: "a"}}, func(s *screen) {
		s.live = true
		for i := range 400 {
			s.output("a", fmt.Appendf(nil, "line %d", i))
		}
		s.output("a", bytes.Repeat([]byte("long "), 30)) // two lines of 80 columns
		s.show([]row{{name: "a", state: "Running", exit: "-"}})
		s.resized()
		s.show([]row{{name: "a", state: "Running", exit: "-"}})
	})
	_, again, found := strings.Cut(out, "\x1b[H\x1b[2K")
	if !found || strings.Count(again, "\x1b[B\x1b[2K") != 23 || strings.Contains(again, "\x1b[A") {
		t.Fatalf("the screen of 24 lines was not erased: %q", again)
	}
	// 23 lines above the cursor: header, row, the long line, and 19 others.
	if lines := strings.Split(again, "\n"); len(lines) != 23 || !strings.HasSuffix(lines[0], "| line 381") || !strings.Contains(lines[19], "long long") {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

// Elsewhere each change is a line, and what is wider than its column widens it for
// the lines after it.
func TestEachChangeIsALine(t *testing.T) {
	out := drawn(t, nil, func(s *screen) {
		a := row{name: "a", state: "Running", exit: "-"}
		b := row{name: "b", state: "Running", restarts: 1, ago: time.Second, exit: "-"}
		s.show([]row{a, b})
		b.ago = time.Minute
		s.show([]row{a, b})
		a.exit = "3"
		s.show([]row{a, b})
		a.restarts, a.ago = 1234, 119*time.Second
		s.show([]row{a, b})
		b.state = "Completed"
		s.show([]row{a, b})
	})
	want := `TIME                  NAME   STATE              RESTARTS       NEXT                EXIT
2006-01-02T15:04:05   a      Running            0              -                   -
2006-01-02T15:04:05   b      Running            1 (1s ago)     -                   -
2006-01-02T15:04:05   a      Running            0              -                   3
2006-01-02T15:04:05   a      Running            1234 (1m59s ago)   -                   3
2006-01-02T15:04:05   b      Completed          1 (1m0s ago)       -                   -
`
	stamps := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`)
	if stamps.ReplaceAllString(out, timestamp) != want {
		t.Errorf("printed\n%s", out)
	}
}
