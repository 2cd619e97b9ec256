package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is the content of PERFORMANCE.md.
type Report struct {
	Machine string   // processor, cores, system
	Go      string   // version
	Peers   []string // module and version
	Date    string
	Command string // shell command that reproduces this report
	Others  string // other measurements and their commands
	Options Options
	Results []Result
}

// Missed returns the number of missed goals and of all goals.
func (p Report) Missed() (missed, goals int) {
	for _, r := range p.Results {
		for _, v := range r.verdicts() {
			goals++
			if !v.Met() {
				missed++
			}
		}
	}
	return missed, goals
}

// WriteMarkdown writes the report to w.
func (p Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	missed, goals := p.Missed()
	fmt.Fprintf(&b, "# Performance\n\n")
	fmt.Fprintf(&b, "This library and its peers ran in one process and took turns, %d rounds in each of %d runs.\n\n"+
		"- A judged figure without a unit is a ratio: each round divides ours by theirs, and the median over the rounds counts. "+
		"With an x it is theirs divided by ours, so how many times better ours is.\n"+
		"- A goal is met if every run met it. Where the runs differ, the table gives the best and the worst figure.\n"+
		"- Times and sizes are medians and hold for this machine only.\n"+
		"- Allocations are those of one operation, ours / theirs, with our limit if it is not 0.\n\n",
		p.Options.Rounds, max(1, p.Options.Runs))
	if p.Others != "" {
		fmt.Fprintf(&b, "%s\n\n", p.Others)
	}
	if p.Options.Short {
		fmt.Fprintf(&b, "**A quick look with `-short`: smaller sizes, short samples. Not to be quoted.**\n\n")
	}
	fmt.Fprintf(&b, "**%d of %d goals met.**\n\n", goals-missed, goals)
	fmt.Fprintf(&b, "| | |\n|---|---|\n| machine | %s |\n| Go | %s |\n| peers | %s |\n| date | %s |\n\n```sh\n%s\n```\n",
		p.Machine, p.Go, strings.Join(p.Peers, ", "), p.Date, p.Command)
	for _, name := range p.packages() {
		p.writePackage(&b, name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// packages returns the packages measured, in order of appearance.
func (p Report) packages() []string {
	var names []string
	for _, r := range p.Results {
		if !slices.Contains(names, r.Row.Package) {
			names = append(names, r.Row.Package)
		}
	}
	return names
}

// writePackage writes a package's table, followed by the rows with a missed goal. Rows
// with the same note share one copy.
func (p Report) writePackage(b *strings.Builder, name string) {
	fmt.Fprintf(b, "\n## %s\n\n", name)
	fmt.Fprintf(b, "| | ours | theirs | allocs | judged | goal | |\n|---|---|---|---|---|---|---|\n")
	var notes []string // in order of appearance
	missedRows := make(map[string][]string)
	for _, r := range p.Results {
		if r.Row.Package != name {
			continue
		}
		for _, v := range r.lines() {
			word := v.String()
			if !v.Met() {
				word = "**" + word + "**"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.Row.Name, v.Ours, v.Theirs, v.Allocs, v.Figure, v.Goal, word)
		}
		var missed []string
		for _, v := range r.verdicts() {
			if !v.Met() {
				missed = append(missed, v.Figure+" instead of "+v.Goal)
			}
		}
		if len(missed) > 0 {
			note := r.Row.Note
			if note == "" {
				note = "Not explained yet."
			}
			if missedRows[note] == nil {
				notes = append(notes, note)
			}
			missedRows[note] = append(missedRows[note], fmt.Sprintf("**%s**: %s.", r.Row.Name, strings.Join(missed, "; ")))
		}
	}
	if len(notes) > 0 {
		fmt.Fprintf(b, "\nMissed:\n\n")
		for _, note := range notes {
			fmt.Fprintf(b, "- %s %s\n", strings.Join(missedRows[note], " "), note)
		}
	}
}
