package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/screen"
	"github.com/restartkit/restart/kube/check"
)

// textPrinter prints for people. It is silent about files without findings, but for the
// worst cases of Jobs and the effects of exits in files that the user named.
type textPrinter struct {
	to    io.Writer
	style screen.Style
}

func newTextPrinter(w io.Writer) *textPrinter {
	return &textPrinter{to: w, style: screen.StyleOf(fileOf(w))}
}

func (p *textPrinter) file(report *fileReport) {
	name := human.Escape(report.Name)
	if len(report.Findings) > 0 {
		p.heading(name)
		p.findings(report.Findings)
	}
	for i := range report.Objects {
		object := &report.Objects[i]
		worst := object.WorstCase != nil && (report.named || len(object.Findings) > 0)
		exits := report.named && (len(object.AfterExit) > 0 || object.AfterDrain != "")
		if len(object.Findings) == 0 && !worst && !exits {
			continue
		}
		p.heading(name + ": " + human.Escape(object.title))
		p.findings(object.Findings)
		if worst {
			p.line("worst case", "", human.Escape(object.WorstCase.Text))
		}
		if exits {
			p.exits(object)
		}
		if object.noExits && report.named {
			p.line("after exits", "", "not told, since the object has errors")
		}
	}
}

func (p *textPrinter) exits(object *objectReport) {
	for _, e := range object.AfterExit {
		p.line(fmt.Sprintf("exit code %d of %s", e.Code, human.Escape(e.Container)), "", human.Escape(e.Text))
	}
	if object.AfterDrain != "" {
		p.line("on a drained node", "", human.Escape(object.AfterDrain))
	}
}

func (p *textPrinter) heading(text string) { fmt.Fprintln(p.to, p.style.Paint(screen.Bold, text)) }

func (p *textPrinter) findings(findings []check.Finding) {
	const most = 100 // more than anybody corrects at once
	for i, finding := range findings {
		if i == most {
			p.line("", "", fmt.Sprintf("and %d more", len(findings)-most))
			return
		}
		p.line(string(finding.Severity), severityColours[finding.Severity], human.Escape(finding.String()))
	}
}

var severityColours = map[check.Severity]screen.Colour{
	check.Error:   screen.Bold + ";" + screen.Red,
	check.Warning: screen.Bold + ";" + screen.Yellow,
	check.Notice:  screen.Bold + ";" + screen.Cyan,
}

// line prints a label and a text, which is wrapped on a terminal.
func (p *textPrinter) line(label string, colour screen.Colour, text string) {
	if label != "" {
		label += ": "
	}
	lines := p.style.Wrap(label+text, 4)
	for i, line := range lines {
		indent := "  "
		if i > 0 {
			indent = "    "
		}
		if i == 0 && label != "" {
			line = p.style.Paint(colour, strings.TrimSuffix(label, " ")) + strings.TrimPrefix(line, strings.TrimSuffix(label, " "))
		}
		fmt.Fprintln(p.to, indent+line)
	}
}

func (p *textPrinter) end(total checkTotal) {
	for _, line := range p.style.Wrap(total.String(), 0) {
		fmt.Fprintln(p.to, line)
	}
}

// jsonPrinter prints one JSON object. Files without judged objects and findings are only
// counted.
type jsonPrinter struct {
	to    io.Writer
	begun bool
}

func (p *jsonPrinter) file(report *fileReport) {
	if len(report.Findings) == 0 && len(report.Objects) == 0 {
		return
	}
	text, err := json.MarshalIndent(report, "    ", "  ")
	if err != nil {
		panic(err) // strings and numbers
	}
	before := ",\n    "
	if !p.begun {
		before = "{\n  \"files\": [\n    "
	}
	p.begun = true
	fmt.Fprintf(p.to, "%s%s", before, text)
}

func (p *jsonPrinter) end(total checkTotal) {
	total.NotJudged = check.NotJudged
	text, err := json.MarshalIndent(total, "  ", "  ")
	if err != nil {
		panic(err)
	}
	if !p.begun {
		fmt.Fprint(p.to, "{\n  \"files\": [")
	} else {
		fmt.Fprint(p.to, "\n  ")
	}
	fmt.Fprintf(p.to, "],\n  \"total\": %s\n}\n", text)
}

// githubPrinter prints commands of GitHub Actions, which become annotations.
type githubPrinter struct{ to io.Writer }

func (p *githubPrinter) file(report *fileReport) {
	p.findings(report.Name, "", report.Findings)
	for i := range report.Objects {
		p.findings(report.Name, report.Objects[i].title, report.Objects[i].Findings)
	}
}

func (p *githubPrinter) findings(file, title string, findings []check.Finding) {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	for _, finding := range findings {
		at := "file=" + property.Replace(file)
		if finding.Line > 0 {
			at += ",line=" + strconv.Itoa(finding.Line)
		}
		if title != "" {
			at += ",title=" + property.Replace(title)
		}
		finding.Line = 0 // stands in front
		fmt.Fprintf(p.to, "::%s %s::%s\n", finding.Severity, at, data.Replace(finding.String()))
	}
}

func (p *githubPrinter) end(total checkTotal) { fmt.Fprintln(p.to, total) }

// quoted returns a text in quotes for a message, shortened if it is long.
func quoted(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strconv.Quote(text)
}
