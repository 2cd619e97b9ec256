package explain

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/convert"
)

// Printer prints explanations for a person.
type Printer struct {
	W       io.Writer
	Options Options
	Colour  bool // use the terminal's colours
}

const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
)

func (w *Printer) paint(colour, text string) string {
	if !w.Colour || text == "" {
		return text
	}
	return colour + text + "\x1b[0m"
}

func (w *Printer) printf(format string, args ...any) { fmt.Fprintf(w.W, format, args...) }

// field prints a line of a section, with its name in a column.
func (w *Printer) field(name, format string, args ...any) {
	w.printf("  %-12s  %s\n", name, fmt.Sprintf(format, args...))
}

// verdict returns the colour of a summary.
func verdict(trouble bool) string {
	if trouble {
		return red
	}
	return green
}

// Pod prints an explanation of a pod.
func (w *Printer) Pod(x Pod) {
	w.printf("%s %s\n", w.paint(bold, "pod "+line(x.Namespace)+"/"+line(x.Name)+":"), w.paint(verdict(x.Trouble), x.Summary))
	if x.Phase != "" {
		node := "no node"
		if x.Node != "" {
			node = "node " + line(x.Node)
		}
		w.field("phase", "%s, %s", line(x.Phase), node)
	}
	if x.Owner != "" {
		w.field("owner", "%s", line(x.Owner))
	}
	for i, wait := range x.Waits {
		w.field(first(i, "waits for"), "%s", wait)
	}
	for _, l := range x.Limits {
		w.field("limit", "%s %d: %s", l.Name, l.Max, l.Text)
	}
	if len(x.Ephemeral) > 0 {
		w.field("left out", "ephemeral containers, never restarted: %s", line(strings.Join(x.Ephemeral, ", ")))
	}
	for i := range x.Containers {
		w.container(&x.Containers[i])
	}
	w.findings("lint", x.Lint)
}

// first returns the name for the first line of a list, and "" for the others.
func first(i int, name string) string {
	if i == 0 {
		return name
	}
	return ""
}

var roles = map[convert.Role]string{convert.RoleInit: "init container", convert.RoleSidecar: "sidecar", convert.RoleMain: "container"}

func (w *Printer) container(c *Container) {
	now := w.Options.Now
	state := line(c.State)
	if c.Reason != "" {
		state += " (" + line(c.Reason) + ")"
	}
	if !c.Since.IsZero() {
		state += " since " + clock(c.Since, now)
	}
	colour := green
	switch {
	case c.Trouble:
		colour = red
	case c.State != "running":
		colour = yellow
	}
	w.printf("\n%s %s%s\n", w.paint(bold, roles[c.Role]+" "+line(c.Name)+":"), w.paint(colour, state), restartsText(c.Restarts))
	if c.Why != "" {
		w.field("why", "%s", c.Why)
	}
	if c.Message != "" {
		w.field("message", "%s", line(c.Message))
	}
	for i := len(c.Exits) - 1; i >= 0; i-- {
		w.field(first(len(c.Exits)-1-i, "last exit"), "%s", w.exit(c.Exits[i]))
	}
	if c.Unseen > 0 {
		w.field("earlier", "%s, which the cluster no longer has", counted(c.Unseen, "exit"))
	}
	if d := c.Decision; d != nil {
		w.field("decided by", "%s: %s", d.By, actions[d.Action])
		for _, r := range d.Rules {
			w.field("", "%s", r)
		}
	}
	if c.Start != nil {
		w.start(*c.Start)
	}
}

func restartsText(n int32) string {
	if n <= 0 {
		return ""
	}
	return ", " + counted(n, "restart")
}

var actions = map[backoff.Action]string{
	backoff.ActionRestart: "restart", backoff.ActionRestartAll: "restart all containers of the pod",
	backoff.ActionStop: "no restart", backoff.ActionGiveUp: "no restart",
}

func (w *Printer) start(s Start) {
	if !s.Known() {
		w.field("next start", "unknown: %s", s.Why)
		return
	}
	w.field("next start", "%s", w.paint(yellow, s.when(w.Options.Now)))
	w.field("", "from %s", s.Why)
}

func (w *Printer) exit(e Exit) string {
	text := exitText(e.Code, e.Signal, e.Reason)
	if e.Run > 0 {
		text = fmt.Sprintf("run %d: ", e.Run) + text
	}
	switch {
	case e.Started.IsZero():
		text += ", it never started"
	case !e.Finished.Before(e.Started) && !e.Finished.IsZero():
		text += ", after " + short(e.Finished.Sub(e.Started))
	}
	if e.Finished.IsZero() {
		return text + ", at an unknown time"
	}
	return text + ", at " + ago(e.Finished, w.Options.Now)
}

// findings prints findings under a heading, or nothing if there are none.
func (w *Printer) findings(heading string, all []Finding) {
	if len(all) == 0 {
		return
	}
	w.printf("\n%s\n", w.paint(bold, heading+":"))
	for _, f := range all {
		w.finding(f)
	}
}

func (w *Printer) finding(f Finding) {
	severity := ""
	if f.Severity != "" && f.Kind != "version" {
		severity = w.paint(yellow, f.Severity) + ": "
	}
	value := ""
	if f.Value != "" {
		value = ": " + f.Value
	}
	w.printf("  %s%s\n    %s%s\n", line(f.Field), value, severity, f.Text)
}

// Job prints an explanation of a Job.
func (w *Printer) Job(x Job) {
	now := w.Options.Now
	w.printf("%s %s\n", w.paint(bold, "job "+line(x.Namespace)+"/"+line(x.Name)+":"), w.paint(verdict(x.Trouble), x.Summary))
	w.field("pods", "%s", x.Counts.text())
	if x.Counts.CompletedIndexes != "" || x.Counts.FailedIndexes != "" {
		w.field("indexes", "completed %s; failed %s", orNone(x.Counts.CompletedIndexes), orNone(x.Counts.FailedIndexes))
	}
	for i, c := range x.Ends {
		w.field(first(i, "conditions"), "%s since %s%s", line(c.Type), clock(c.Since, now), conditionText(c.Reason, c.Message))
	}
	if x.Start != nil {
		w.start(*x.Start)
	}
	if len(x.Limits) > 0 {
		w.printf("\n%s\n", w.paint(bold, "limits:"))
		for _, l := range x.Limits {
			colour := ""
			if l.Left <= 1 && l.Name != "completions" && l.At.IsZero() {
				colour = yellow
			}
			limit := fmt.Sprintf("%s %d", l.Name, l.Max)
			w.printf("  %-26s  %s\n", limit, w.paintIf(colour, l.Text))
		}
	}
	w.indexes(x.Indexes)
	w.failures(x.Failures, x.Unseen)
	if len(x.Waiting) > 0 {
		w.printf("\n%s\n", w.paint(bold, "pods in trouble:"))
		for _, p := range x.Waiting[:min(len(x.Waiting), mostLines)] {
			w.printf("  %s: %s\n", line(p.Name), p.Summary)
			for i := range p.Containers {
				if c := &p.Containers[i]; c.Start != nil && c.Start.Known() {
					w.printf("    next start of %s %s\n", line(c.Name), w.paint(yellow, c.Start.when(now)))
				}
			}
		}
		w.others(len(x.Waiting))
	}
	w.findings("lint", x.Lint)
	w.findings("fields that an older cluster lacks", x.Older)
	if len(x.Notes) > 0 {
		w.printf("\n%s\n", w.paint(bold, "notes:"))
		for _, n := range x.Notes {
			w.printf("  %s\n", n)
		}
	}
}

func (w *Printer) paintIf(colour, text string) string {
	if colour == "" {
		return text
	}
	return w.paint(colour, text)
}

// mostLines is the number of items of a list that are printed. JSON has all.
const mostLines = 5

// others says how many items of a list were left out.
func (w *Printer) others(n int) {
	if n > mostLines {
		w.printf("  and %d more; -o json shows all\n", n-mostLines)
	}
}

func (c *Counts) text() string {
	text := fmt.Sprintf("%d active, %d ready, %d terminating, %d succeeded, %d failed", c.Active, c.Ready, c.Terminating, c.Succeeded, c.Failed)
	if c.Uncounted > 0 {
		text += fmt.Sprintf("; %d in uncountedTerminatedPods", c.Uncounted)
	}
	if c.Unrecorded > 0 {
		text += fmt.Sprintf("; %d ended but not yet in the status", c.Unrecorded)
	}
	return text
}

func orNone(text string) string { return cmp.Or(line(text), "none") }

func (w *Printer) indexes(all []Index) {
	if len(all) == 0 {
		return
	}
	w.printf("\n%s\n", w.paint(bold, "indexes with failures:"))
	for _, x := range all[:min(len(all), mostLines)] {
		ignored := ""
		if x.Ignored > 0 {
			ignored = fmt.Sprintf(", %d ignored", x.Ignored)
		}
		next := "its pod " + line(x.Pod) + " is active"
		if x.Start != nil {
			next = "next pod " + w.paint(yellow, x.Start.when(w.Options.Now))
		}
		w.printf("  %d: %s%s; %s\n", x.Index, counted(x.Failures, "failure"), ignored, next)
	}
	w.others(len(all))
}

func (w *Printer) failures(all []Failure, unseen int64) {
	if len(all) == 0 && unseen == 0 {
		return
	}
	w.printf("\n%s\n", w.paint(bold, "failed pods:"))
	for _, f := range all[:min(len(all), mostLines)] {
		index := ""
		if f.Index >= 0 {
			index = fmt.Sprintf(" (index %d)", f.Index)
		}
		w.printf("  %s%s at %s: %s\n", line(f.Pod), index, ago(f.At, w.Options.Now), f.Exit)
		switch {
		case f.Rule >= 0:
			counts := "it counts"
			if !f.Counted {
				counts = "it does not count"
			}
			w.printf("    decided by podFailurePolicy.rules[%d]: %s, %s\n", f.Rule, line(string(f.Action)), counts)
		case len(f.Rules) > 0:
			w.printf("    no rule of the podFailurePolicy matches, so it counts\n")
		}
		for _, r := range f.Rules {
			w.printf("      %s\n", r)
		}
	}
	w.others(len(all))
	if unseen > 0 {
		w.printf("  %s that the cluster no longer has\n", counted(unseen, "earlier failed pod"))
	}
}

// Next prints a table of waiting containers and Jobs.
func (w *Printer) Next(all []Waiting) {
	if len(all) == 0 {
		w.printf("nothing waits\n")
		return
	}
	t := tabwriter.NewWriter(w.W, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAMESPACE\tOBJECT\tCONTAINER\tREASON\tRESTARTS\tSTARTS\tWHY")
	for i := range all {
		fmt.Fprintln(t, w.row(&all[i]))
	}
	t.Flush()
}

func (w *Printer) row(x *Waiting) string {
	starts := Start{From: x.From, To: x.To}
	return strings.Join([]string{
		line(x.Namespace), strings.ToLower(x.Kind) + "/" + line(x.Name), cmp.Or(line(x.Container), "-"), line(x.Reason),
		fmt.Sprint(x.Restarts), starts.brief(w.Options), line(x.Why),
	}, "\t")
}

// brief formats a Start for a table.
func (s Start) brief(o Options) string {
	now := o.Now
	switch {
	case !s.Known():
		return "unknown"
	case now.After(s.To):
		return "overdue by " + short(now.Sub(s.To))
	case now.Before(s.From):
		return "in " + short(s.From.Sub(now)) + " to " + short(s.To.Sub(now))
	}
	return "within " + short(s.To.Sub(now))
}

// Compare prints comparisons of a pod's containers.
func (w *Printer) Compare(namespace, name string, all []Comparison) {
	w.printf("%s\n", w.paint(bold, "pod "+line(namespace)+"/"+line(name)))
	for i := range all {
		c := &all[i]
		if c.Impossible != "" {
			w.printf("\n%s nothing to compare: %s\n", w.paint(bold, "container "+line(c.Container)+":"), c.Impossible)
			continue
		}
		w.printf("\n%s %s from %s to %s\n  %s\n", w.paint(bold, "container "+line(c.Container)+":"), short(c.Elapsed.Duration),
			clock(c.Since, w.Options.Now), clock(c.Since.Add(c.Elapsed.Duration), w.Options.Now), c.assumption())
		t := tabwriter.NewWriter(w.W, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  CURVE\tRESTARTS\tDOWN\tDELAYS")
		for i, r := range c.Curves {
			down := short(r.Down.Duration)
			if i == 0 && !r.Exact {
				down = "about " + down
			}
			restarts := fmt.Sprint(r.Restarts)
			if r.GaveUp {
				restarts += ", gave up"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", r.Name, restarts, down, r.Text)
		}
		t.Flush()
	}
}

// Groups prints the findings of Lint.
func (w *Printer) Groups(all []Group) {
	for i, g := range all {
		if i > 0 {
			w.printf("\n")
		}
		w.printf("%s\n", w.paint(bold, strings.ToLower(g.Kind)+" "+line(g.Namespace)+"/"+line(g.Name)+":"))
		for _, f := range g.Findings {
			w.finding(f)
		}
	}
}

// Change prints a line about something that waits, or that waits no longer.
func (w *Printer) Change(x Waiting, over bool) error {
	name := strings.ToLower(x.Kind) + "/" + line(x.Name)
	if x.Container != "" {
		name += "/" + line(x.Container)
	}
	text := "waits no longer"
	if !over {
		starts := Start{From: x.From, To: x.To}
		text = fmt.Sprintf("%s, starts %s: %s", line(x.Reason), starts.when(w.Options.Now), line(x.Why))
	}
	_, err := fmt.Fprintf(w.W, "%s %s/%s %s\n", clock(w.Options.Now, w.Options.Now), line(x.Namespace), name, text)
	return err
}
