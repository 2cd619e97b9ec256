package bench

import (
	"cmp"
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

// restated returns the number of goals met after their limit was restated.
func (p Report) restated() (n int) {
	for _, r := range p.Results {
		for i, v := range r.verdicts() {
			if v.Met() && r.Row.Goals[i].first != 0 {
				n++
			}
		}
	}
	return n
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
		"- A goal with two limits was restated, because the first one was missed for the reason below the table.\n"+
		"- Times and sizes are medians and hold for this machine only.\n"+
		"- Allocations are those of one operation, ours / theirs, with our limit if it is not 0.\n\n",
		p.Options.Rounds, max(1, p.Options.Runs))
	if p.Others != "" {
		fmt.Fprintf(&b, "%s\n\n", p.Others)
	}
	if p.Options.Short {
		fmt.Fprintf(&b, "**A quick look with `-short`: smaller sizes, short samples. Not to be quoted.**\n\n")
	}
	fmt.Fprintf(&b, "**%d of %d goals met, %d of them restated.**\n\n", goals-missed, goals, p.restated())
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

// writePackage writes a package's table, followed by the rows with a missed or a restated
// goal.
func (p Report) writePackage(b *strings.Builder, name string) {
	fmt.Fprintf(b, "\n## %s\n\n", name)
	fmt.Fprintf(b, "| | ours | theirs | allocs | judged | goal | |\n|---|---|---|---|---|---|---|\n")
	var missed, restated reasons
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
		var misses, changes []string
		for i, v := range r.verdicts() {
			switch {
			case !v.Met():
				misses = append(misses, v.Figure+" instead of "+v.Goal)
			case r.Row.Goals[i].first != 0:
				changes = append(changes, v.Goal)
			}
		}
		missed.add(r.Row, misses)
		restated.add(r.Row, changes)
	}
	missed.write(b, "Missed")
	restated.write(b, "Goals restated")
}

// reasons lists rows by their notes, in order of appearance. Rows with the same note
// share one copy.
type reasons struct {
	notes []string
	rows  map[string][]string // by note
}

// add adds a row with facts about its goals, if there are any.
func (r *reasons) add(row Row, facts []string) {
	if len(facts) == 0 {
		return
	}
	note := cmp.Or(row.Note, "Not explained yet.")
	if r.rows == nil {
		r.rows = make(map[string][]string)
	}
	if r.rows[note] == nil {
		r.notes = append(r.notes, note)
	}
	r.rows[note] = append(r.rows[note], fmt.Sprintf("**%s**: %s.", row.Name, strings.Join(facts, "; ")))
}

func (r *reasons) write(b *strings.Builder, title string) {
	if len(r.notes) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n\n", title)
	for _, note := range r.notes {
		fmt.Fprintf(b, "- %s %s\n", strings.Join(r.rows[note], " "), note)
	}
}
