package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/restartkit/restart/cmd/internal/terminal"
)

// bar is a progress bar of the Job on the last line of a terminal. It is cut to the
// terminal's width.
type bar struct {
	size   func() (width, height int) // of the terminal
	total  *int32                     // completions; nil if any success completes the Job
	done   int
	counts string // empty before the first draw
	drawn  string // on the terminal
}

func newBar(out *os.File, total *int32) *bar {
	return &bar{size: func() (int, int) { return terminal.Size(out) }, total: total}
}

// erase returns the text that removes the bar from the terminal.
func (b *bar) erase() string {
	if b.drawn == "" {
		return ""
	}
	width, _ := b.size()
	text := terminal.EraseLine(b.drawn, width)
	b.drawn = ""
	return text
}

// draw returns the text that draws the bar at the cursor.
func (b *bar) draw() string {
	width, _ := b.size()
	b.drawn = b.line(width - 1) // some terminals wrap a full line
	return b.drawn
}

// shortestBar is the width up to which the bar itself is left out.
const shortestBar = 4

// line formats the bar in at most width columns.
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

// longestBar is one column for each percent.
const longestBar = 100
