package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/restartkit/restart/cmd/internal/terminal"
)

// bar is the last line of a terminal, which shows how far the Job is. It never takes
// more than one line, however narrow the terminal is.
type bar struct {
	size   func() (width, height int) // of the terminal
	total  *int32                     // completions; nil: one success is enough, nobody knows when
	done   int
	counts string // "": there is nothing to show yet
	drawn  string // what stands on the terminal
}

func newBar(out *os.File, total *int32) *bar {
	return &bar{size: func() (int, int) { return terminal.Size(out) }, total: total}
}

// erase returns what removes the bar from the terminal.
func (b *bar) erase() string {
	if b.drawn == "" {
		return ""
	}
	width, _ := b.size()
	text := terminal.EraseLine(b.drawn, width)
	b.drawn = ""
	return text
}

// draw returns what draws the bar where the cursor is.
func (b *bar) draw() string {
	width, _ := b.size()
	b.drawn = b.line(width - 1) // some terminals wrap a full line
	return b.drawn
}

// shortestBar is less than what is worth drawing.
const shortestBar = 4

// line returns the bar in at most width columns.
func (b *bar) line(width int) string {
	if b.total == nil || b.counts == "" {
		return terminal.Cut(b.counts, width)
	}
	total := int(*b.total)
	done := min(b.done, total)
	percent := 100
	if total > 0 {
		percent = 100 * done / total
	}
	before, after := fmt.Sprintf("%s %3d%% |", b.counts, percent), fmt.Sprintf("| (%d/%d)", done, total)
	room := width - terminal.Width(before) - terminal.Width(after)
	if room <= shortestBar {
		return terminal.Cut(fmt.Sprintf("(%d/%d) %s", done, total, b.counts), width)
	}
	room = min(room, longestBar)
	full := room * percent / 100
	return before + strings.Repeat("█", full) + strings.Repeat(" ", room-full) + after
}

// longestBar is enough to see each percent.
const longestBar = 100
