package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/restartkit/restart/cmd/internal/terminal"
)

// columnGap is the number of spaces between two columns, as in kubectl.
const columnGap = 3

// readableName is the width to which names are shortened before other columns lose
// detail.
const readableName = 20

// tableLine is one line of the table on a terminal.
type tableLine struct {
	text   string
	colour terminal.Colour
}

// fitTable returns the table for a terminal of the given size. Crashed commands come
// first, followed by as many rows as fit and a line with totals. The last column stays
// empty and the last line is the cursor's, so the terminal neither wraps nor scrolls.
func fitTable(rows []row, width, height int) []tableLine {
	width, height = max(width-1, 1), max(height-1, 1)
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b row) int { return cmp.Compare(a.outcome().rank, b.outcome().rank) })
	if len(rows) == 1 {
		lines := fitRows(rows, width)
		return lines[max(len(lines)-height, 0):]
	}
	shown := sorted[:min(len(rows), max(height-2, 0))] // less the header and the totals
	var lines []tableLine
	if len(shown) > 0 {
		lines = fitRows(shown, width)
	}
	return append(lines, tableLine{text: terminal.Cut(total(sorted, len(shown)), width)})
}

// fitRows returns the header and the rows, at most width columns wide. It drops detail
// until the names are readable, then columns until the lines fit. The next start always
// stays.
func fitRows(rows []row, width int) []tableLine {
	var cells [][]string
	room := 0 // columns for the names
	for d := everything; d <= noState; d++ {
		names := 0
		cells = [][]string{slices.Concat([]string{""}, d.headers()[1:])}
		for _, r := range rows {
			names = max(names, terminal.Width(r.name))
			r.name = ""
			cells = append(cells, r.cells(d))
		}
		room = width
		for _, line := range terminal.Align(cells, columnGap) {
			room = min(room, width-terminal.Width(line))
		}
		if room >= min(names, readableName) || d >= noAgo && room >= len(header[0]) {
			break
		}
	}
	cells[0][0] = header[0]
	for i, r := range rows {
		cells[i+1][0] = terminal.Shorten(r.name, max(room, len(header[0])))
	}
	lines := make([]tableLine, len(cells))
	for i, text := range terminal.Align(cells, columnGap) {
		lines[i].text = terminal.Cut(text, width)
		if i > 0 {
			lines[i].colour = rows[i-1].outcome().colour
		}
	}
	return lines
}

// total returns the line with totals by outcome.
func total(rows []row, shown int) string {
	counts := make(map[string]int)
	var words []string
	for _, r := range rows {
		word := r.outcome().word
		if counts[word]++; counts[word] == 1 {
			words = append(words, word)
		}
	}
	for i, word := range words {
		words[i] = fmt.Sprintf("%d %s", counts[word], word)
	}
	text := fmt.Sprintf("%d commands: %s", len(rows), strings.Join(words, ", "))
	if shown < len(rows) {
		text += fmt.Sprintf("; showing %d, kill -USR1 %d shows all", shown, os.Getpid())
	}
	return text
}
