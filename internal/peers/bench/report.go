package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is everything that PERFORMANCE.md says.
type Report struct {
	Machine string   // processor, cores, system
	Go      string   // version
	Peers   []string // module and version
	Date    string
	Command string // what to type in a shell to get this report again
	Options Options
	Results []Result
}

// Missed is the number of goals that were not met, and of all.
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

// WriteMarkdown prints the report.
func (p Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	missed, goals := p.Missed()
	fmt.Fprintf(&b, "# Performance\n\n")
	fmt.Fprintf(&b, "Ours and theirs ran in one process and took turns, %d rounds in each of %d runs. "+
		"A ratio is the median over the rounds of ours divided by theirs within a round; "+
		"\"x\" counts the other way round, how many times better ours is. "+
		"Absolute figures are medians and hold for this machine only. "+
		"Where the runs differ, the judged figure is given as best … worst; a goal is met if every run met it.\n\n",
		p.Options.Rounds, max(1, p.Options.Runs))
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

// packages are the packages measured, in order of appearance.
func (p Report) packages() []string {
	var names []string
	for _, r := range p.Results {
		if !slices.Contains(names, r.Row.Package) {
			names = append(names, r.Row.Package)
		}
	}
	return names
}

// writePackage prints a package's table, and its misses below it.
func (p Report) writePackage(b *strings.Builder, name string) {
	fmt.Fprintf(b, "\n## %s\n\n", name)
	fmt.Fprintf(b, "| | ours | theirs | judged | goal | |\n|---|---|---|---|---|---|\n")
	var notes []string
	for _, r := range p.Results {
		if r.Row.Package != name {
			continue
		}
		var missed []string
		for _, v := range r.verdicts() {
			word := v.String()
			if !v.Met() {
				word = "**" + word + "**"
				missed = append(missed, v.Figure+" instead of "+v.Goal)
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", r.Row.Name, v.Ours, v.Theirs, v.Figure, v.Goal, word)
		}
		if len(missed) > 0 {
			note := r.Row.Note
			if note == "" {
				note = "Not explained yet."
			}
			notes = append(notes, fmt.Sprintf("- **%s**: %s. %s", r.Row.Name, strings.Join(missed, "; "), note))
		}
	}
	if len(notes) > 0 {
		fmt.Fprintf(b, "\nMissed:\n\n%s\n", strings.Join(notes, "\n"))
	}
}
