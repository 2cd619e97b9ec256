package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/restartkit/restart/conformance/vectors"
)

// print writes the result as plain text, with at most n failed cases.
func (r *result) print(w io.Writer, n int) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tab, "cases\tpass\tknown\tfail\tunsupported\t  kind\n")
	for _, t := range append(slices.Clone(r.kinds), r.total()) {
		fmt.Fprintf(tab, "%d\t%d\t%d\t%d\t%d\t  %s\n", t.cases, t.pass, t.known, t.failed, t.unsupported, t.kind)
	}
	_ = tab.Flush()
	for _, g := range r.unsupported {
		fmt.Fprintf(w, "unsupported, %s: %s\n", count(len(g.cases)), oneLine(g.reason))
	}
	for _, g := range r.known {
		fmt.Fprintf(w, "known, %s: %s\n", count(len(g.cases)), g.reason)
	}
	for i, d := range r.failed {
		if i == max(n, 0) {
			fmt.Fprintf(w, "and %d more failed\n", len(r.failed)-i)
			break
		}
		fmt.Fprintf(w, "failed: %s\n\t%s\n", d.id, strings.Join(firstFew(d.diff), "\n\t"))
	}
	for _, text := range r.wrong {
		fmt.Fprintf(w, "wrong: %s\n", oneLine(text))
	}
	if !r.ok() && r.stderr != "" {
		fmt.Fprintf(w, "the end of the program's stderr:\n\t%s\n", strings.ReplaceAll(r.stderr, "\n", "\n\t"))
	}
}

// markdown returns the result as a report. It depends only on the cases, the answers
// and the options.
func (r *result) markdown(o options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", cmp.Or(o.name, strings.Join(o.command, " ")))
	fmt.Fprintf(&b, "Answers to the [recorded cases](../vectors/README.md), version %s. ", vectors.Version())
	b.WriteString("Written by `.ci/conformance -w`.\n\n")
	b.WriteString("| kind | cases | pass | known | fail | unsupported |\n|---|---|---|---|---|---|\n")
	for _, t := range append(slices.Clone(r.kinds), r.total()) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", t.kind, t.cases, t.pass, t.known, t.failed, t.unsupported)
	}
	if len(r.known) > 0 {
		b.WriteString("\n## Known differences\n")
		for _, g := range r.known {
			fmt.Fprintf(&b, "\n%s, %s:\n\n", upper(g.reason), count(len(g.cases)))
			for _, d := range g.cases {
				fmt.Fprintf(&b, "- `%s`: %s\n", d.id, code(firstFew(d.diff)[0], len(d.diff)-1))
			}
		}
	}
	if len(r.failed) > 0 {
		b.WriteString("\n## Failures\n\n")
		for _, d := range r.failed {
			fmt.Fprintf(&b, "- `%s`: %s\n", d.id, code(firstFew(d.diff)[0], len(d.diff)-1))
		}
	}
	if len(r.unsupported) > 0 {
		b.WriteString("\n## Unsupported\n\n")
		for _, g := range r.unsupported {
			fmt.Fprintf(&b, "- %s: %s\n", count(len(g.cases)), oneLine(g.reason))
		}
	}
	return b.String()
}

func count(cases int) string {
	if cases == 1 {
		return "1 case"
	}
	return fmt.Sprintf("%d cases", cases)
}

// code quotes a difference as code, and says how many more there are.
func code(diff string, more int) string {
	text := "`" + strings.ReplaceAll(oneLine(diff), "`", "'") + "`"
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// firstFew returns the first differences of a case, each of them shortened.
func firstFew(diff []string) []string {
	const most, long = 5, 300
	var few []string
	for _, text := range diff[:min(len(diff), most)] {
		few = append(few, shorten(text, long))
	}
	if len(diff) > most {
		few = append(few, fmt.Sprintf("and %d more", len(diff)-most))
	}
	return few
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
