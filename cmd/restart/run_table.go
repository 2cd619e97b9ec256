package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	ages "k8s.io/apimachinery/pkg/util/duration"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/screen"
)

// row is a task in the table.
type row struct {
	name, state string
	restarts    int64
	began, next time.Time // last and next start; zero if there is none
	exit        string    // last one
}

// outcome is the meaning of a state for a reader of the table.
type outcome struct {
	rank   int    // lowest first
	word   string // in the last line
	colour screen.Colour
}

func (r row) outcome() outcome {
	switch r.state {
	case "CrashLoopBackOff":
		return outcome{0, "crashed", screen.Yellow}
	case "Error", "GivenUp":
		return outcome{0, "failed", screen.Red}
	case "Running":
		return outcome{1, "running", screen.Green}
	case "Terminating":
		return outcome{1, "terminating", screen.Yellow}
	}
	return outcome{2, strings.ToLower(r.state), ""} // Pending, Completed, Stopped
}

// say adds an event of a task to the pending lines.
func (k *keeper) say(t *task, text string) {
	text = time.Now().Format("2006-01-02T15:04:05 ") + t.name + ": " + human.Escape(text)
	k.messages = append(k.messages, message{text: text})
}

// advise adds a note to the pending lines.
func (k *keeper) advise(text string) { k.messages = append(k.messages, message{text, true}) }

// tell prints the pending lines. The table shows enough of the events, unless the user
// wants explanations.
func (k *keeper) tell() {
	for _, m := range k.messages {
		switch {
		case m.note:
			k.note("%s", m.text)
		case k.explain || !k.screen.Live():
			k.screen.Say(m.text)
		}
	}
	k.messages = nil
}

// note prints a line on standard error.
func (k *keeper) note(format string, args ...any) {
	k.screen.Note("restart run: " + human.Escape(fmt.Sprintf(format, args...)))
}

// prefix returns the text before each output line of a command.
func (k *keeper) prefix(name string) string {
	width := 0
	for _, t := range k.tasks {
		width = max(width, len(t.name))
	}
	const readable = 20
	if k.screen.Live() && width > readable {
		width, name = readable, screen.Shorten(name, readable)
	}
	return screen.Pad(name, width) + " | "
}

// show updates the table.
func (k *keeper) show() {
	rows := make([]row, len(k.tasks))
	for i, t := range k.tasks {
		r := row{name: t.name, state: k.stateOf(t), restarts: max(t.run-1, 0), began: t.began, exit: "-"}
		if t.decision.Action != "" || t.stopped {
			r.exit = fmt.Sprint(t.exit.Code)
			if t.exit.Signal != 0 {
				r.exit += fmt.Sprintf(" (%v)", t.exit.Signal)
			}
		}
		if wait := k.wait(t); k.waiting(t) && t.decision.Action != "" && wait != backoff.Forever {
			r.next = time.Now().Add(wait)
		}
		rows[i] = r
	}
	k.rows.Store(&rows)
	k.screen.Redraw()
}

// stateOf returns the STATE column, in kubectl's words where they exist.
func (k *keeper) stateOf(t *task) string {
	switch {
	case t.process != nil && t.stopping:
		return "Terminating"
	case t.process != nil:
		return "Running"
	case t.stopped:
		return "Stopped"
	case t.decision.Action == "":
		return "Pending"
	case t.decision.Action == backoff.ActionGiveUp:
		return "GivenUp"
	case t.over() && t.exit.Code == 0:
		return "Completed"
	case t.over():
		return "Error"
	}
	return "CrashLoopBackOff"
}

// table returns the table for a terminal: those that have failed first, as many as there is
// room for, and a line that counts them if there are several.
func (k *keeper) table(width, height int) []string {
	current := k.rows.Load()
	if current == nil {
		return nil
	}
	rows := slices.Clone(*current)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.outcome().rank, b.outcome().rank) })
	room := height - 1
	if len(rows) > 1 {
		room--
	}
	shown := rows[:min(len(rows), max(room, 0))]
	var lines []string
	if len(shown) > 0 {
		lines = tableOf(shown, width, time.Now())
		for i, r := range shown {
			lines[i+1] = k.screen.Style().Paint(r.outcome().colour, lines[i+1])
		}
	}
	if len(rows) > 1 {
		lines = append(lines, totalOf(rows, len(shown)))
	}
	return lines
}

// tableOf returns the header and the rows, with fewer details the narrower the terminal is.
func tableOf(rows []row, width int, now time.Time) []string {
	const readable, short = 20, 12 // columns of a name
	tables := make([][][]string, 5)
	tables[0] = [][]string{{"NAME", "STATE", "RESTARTS", "NEXT", "EXIT"}}
	tables[1], tables[2] = slices.Clone(tables[0]), slices.Clone(tables[0])
	tables[3] = [][]string{{"NAME", "STATE", "NEXT", "EXIT"}}
	tables[4] = [][]string{{"NAME", "STATE", "NEXT"}}
	for _, r := range rows {
		restarts := fmt.Sprint(r.restarts)
		since := restarts
		if r.restarts > 0 && !r.began.IsZero() {
			since += fmt.Sprintf(" (%s ago)", ages.HumanDuration(now.Sub(r.began)))
		}
		in, at := "-", "-"
		if !r.next.IsZero() {
			in = "in " + human.Wait(max(r.next.Sub(now).Round(time.Second), 0))
			at = r.next.Format(time.TimeOnly) + " " + in
		}
		exit, _, _ := strings.Cut(r.exit, " ")
		tables[0] = append(tables[0], []string{r.name, r.state, since, at, r.exit})
		tables[1] = append(tables[1], []string{screen.Shorten(r.name, readable), r.state, since, in, exit})
		tables[2] = append(tables[2], []string{screen.Shorten(r.name, readable), r.state, restarts, in, exit})
		tables[3] = append(tables[3], []string{screen.Shorten(r.name, short), r.state, in, exit})
		tables[4] = append(tables[4], []string{screen.Shorten(r.name, short), r.state, in})
	}
	return screen.Columns(width, tables...)
}

// totalOf counts rows by outcome.
func totalOf(rows []row, shown int) string {
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
	if hidden := len(rows) - shown; hidden > 0 {
		text += fmt.Sprintf(" (%d not shown)", hidden)
	}
	return text
}
