package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/convert"
)

// Printer prints explanations for a person.
type Printer struct {
	W          io.Writer
	Options    Options
	Colour     bool // use the terminal's colours
	Namespaces bool // tables have a column for the namespace
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

// head prints the first line about an object, and below it the advice.
func (w *Printer) head(kind, namespace, name, summary string, trouble bool, advice string) {
	w.printf("%s %s\n", w.paint(bold, kind+" "+line(namespace)+"/"+line(name)+":"), w.paint(verdict(trouble), summary))
	if advice != "" {
		w.field("to do", "%s", advice)
	}
}

// Pod prints an explanation of a pod.
func (w *Printer) Pod(x *Pod) {
	summary := x.Summary
	w.head("pod", x.Namespace, x.Name, x.Summary, x.Trouble, x.Advice)
	if x.Phase != "" {
		node := "no node"
		if x.Node != "" {
			node = "node " + line(x.Node)
		}
		w.field("phase", "%s%s, %s", line(x.Phase), conditionText(x.Reason, x.Message), node)
	}
	w.conditions(x.Conditions, summary)
	if x.Owner != "" {
		w.field("owner", "%s", line(x.Owner))
	}
	waits := slices.DeleteFunc(slices.Clone(x.Waits), func(wait string) bool { return says(summary, wait) })
	for i, wait := range waits {
		w.field(first(i, "waits for"), "%s", wait)
	}
	for _, l := range x.Limits {
		w.field("limit", "%s %d: %s", l.Name, l.Max, l.Text)
	}
	if x.Agent != "" {
		w.field("agent", "%s", x.Agent)
	}
	if len(x.Ephemeral) > 0 {
		w.field("left out", "ephemeral containers, never restarted: %s", line(strings.Join(x.Ephemeral, ", ")))
	}
	w.events(x.Events)
	for i := range x.Containers {
		w.container(&x.Containers[i], x)
	}
	w.findings(x.Findings)
}

// says reports whether a headline says a text, so that it need not be repeated below.
func says(headline, text string) bool {
	return strings.Contains(headline, strings.TrimPrefix(text, "it "))
}

// conditions prints conditions, without the messages that the headline says.
func (w *Printer) conditions(all []Condition, headline string) {
	for i, c := range all {
		since := ""
		if !c.Since.IsZero() {
			since = " since " + clock(c.Since, w.Options.Now)
		}
		message := c.Message
		if says(headline, strings.TrimRight(line(message), ". ")) {
			message = ""
		}
		w.field(first(i, "conditions"), "%s %s%s%s", line(c.Type), line(c.Status), since, conditionText(c.Reason, message))
	}
}

func (w *Printer) events(all []Event) {
	for i, e := range all {
		times := ""
		if e.Count > 1 {
			times = fmt.Sprintf(", %d times", e.Count)
		}
		at := ""
		if !e.Last.IsZero() {
			at = clock(e.Last, w.Options.Now) + " "
		}
		w.field(first(i, "events"), "%s%s%s: %s", at, line(e.Reason), times, line(e.Message))
	}
}

// first returns the name for the first line of a list, and "" for the others.
func first(i int, name string) string {
	if i == 0 {
		return name
	}
	return ""
}

var roles = map[convert.Role]string{convert.RoleInit: "init container", convert.RoleSidecar: "sidecar", convert.RoleMain: "container"}

// container prints a container, but for the reasons and the advice that the pod's first
// lines have.
func (w *Printer) container(c *Container, pod *Pod) {
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
	if c.Why != "" && !(c.Trouble && says(pod.Summary, c.Why)) {
		w.field("why", "%s", c.Why)
	}
	if c.Advice != "" && c.Advice != pod.Advice {
		w.field("to do", "%s", c.Advice)
	}
	if message := line(c.Message); !says(pod.Summary, message) {
		w.field("message", "%s", message)
	}
	if c.Start != nil {
		w.start(*c.Start)
	}
	if c.NextExit != nil && !strings.Contains(c.Why, c.NextExit.Text) {
		w.field("next exit", "%s", c.NextExit.Text)
	}
	if c.Agent != "" {
		w.field("agent", "%s", c.Agent)
	}
	for i := len(c.Exits) - 1; i >= 0; i-- {
		w.field(first(len(c.Exits)-1-i, "last exit"), "%s", w.exit(c.Exits[i]))
		if words := ending(c.Exits[i].Message); words != "" && c.Exits[i].neverStarted() {
			w.field("", "the message: %s", words)
		} else if words != "" {
			w.field("", "its last words: %s", words)
		}
	}
	if c.Unseen > 0 {
		w.field("earlier", "%s, which the status does not keep", counted(c.Unseen, "exit"))
	}
	if d := c.Decision; d != nil {
		w.field("decided by", "%s: %s", d.By, actions[d.Action])
		for _, r := range d.Rules {
			w.field("", "%s", r)
		}
	}
	w.events(c.Events)
}

func restartsText(n int32) string {
	if n <= 0 {
		return ""
	}
	return ", " + counted(n, "restart")
}

var actions = map[backoff.Action]string{
	backoff.ActionRestart: "restart", backoff.ActionRestartAll: "restart all containers of the pod, without back-off",
	backoff.ActionStop: "no restart", backoff.ActionGiveUp: "no restart",
}

func (w *Printer) start(s Start) {
	if s.Never {
		w.field("next start", "never: %s", s.Why)
		return
	}
	if !s.Known() {
		w.field("next start", "unknown: %s", s.Why)
		return
	}
	w.field("next start", "%s", w.paint(yellow, s.when(w.Options)))
	w.field("", "from %s", s.Why)
}

func (w *Printer) exit(e Exit) string {
	text := exitText(e.Code, e.Signal, e.Reason)
	if e.Reason == restartingAll { // the kubelet replaces the status by one without times
		text = "removed, because a rule restarts all containers of the pod"
	}
	if e.Run > 0 {
		text = fmt.Sprintf("run %d: ", e.Run) + text
	}
	if e.Reason == restartingAll {
		return text
	}
	switch {
	case e.Reason == lost && e.Started.IsZero():
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

// findings prints findings, or nothing if there are none.
func (w *Printer) findings(all []Finding) {
	if len(all) == 0 {
		return
	}
	w.printf("\n%s\n", w.paint(bold, "likely mistakes:"))
	for _, f := range all {
		w.printf("  %s: %s: %s\n", w.paint(yellow, f.Severity), line(f.Field), f.Text)
	}
}

// Job prints an explanation of a Job.
func (w *Printer) Job(x *Job) {
	w.head("job", x.Namespace, x.Name, x.Summary, x.Trouble, x.Advice)
	w.field("pods", "%s", x.Counts.text())
	if x.Counts.CompletedIndexes != "" || x.Counts.FailedIndexes != "" {
		w.field("indexes", "completed %s; failed %s", orNone(x.Counts.CompletedIndexes), orNone(x.Counts.FailedIndexes))
	}
	w.conditions(x.Conditions, x.Summary)
	w.events(x.Events)
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
	w.failures(x)
	if len(x.Waiting) > 0 {
		w.printf("\n%s\n", w.paint(bold, "pods in trouble:"))
		for _, p := range x.Waiting[:min(len(x.Waiting), mostLines)] {
			summary := p.Summary
			if says(x.Summary, summary) {
				summary = "as said above"
			}
			w.printf("  %s: %s\n", line(p.Name), summary)
			if p.Advice != "" && p.Advice != x.Advice {
				w.printf("    to do: %s\n", p.Advice)
			}
			for i := range p.Containers {
				if c := &p.Containers[i]; c.Start != nil && c.Start.Known() {
					w.printf("    next start of %s %s\n", line(c.Name), w.paint(yellow, c.Start.when(w.Options)))
				}
			}
		}
		w.others(len(x.Waiting))
	}
	w.findings(x.Findings)
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
		if x.Start != nil && x.Start.Never {
			next = "no next pod, because " + x.Start.Why
		} else if x.Start != nil {
			next = "next pod " + w.paint(yellow, x.Start.when(w.Options))
		}
		w.printf("  %d: %s%s; %s\n", x.Index, counted(x.Failures, "failure"), ignored, next)
	}
	w.others(len(all))
}

func (w *Printer) failures(x *Job) {
	all := x.Failures
	if len(all) == 0 && x.Unseen == 0 {
		return
	}
	w.printf("\n%s\n", w.paint(bold, "failed pods:"))
	for _, f := range all[:min(len(all), mostLines)] {
		index := ""
		if f.Index >= 0 {
			index = fmt.Sprintf(" (index %d)", f.Index)
		}
		at := ""
		if !f.At.IsZero() {
			at = " at " + ago(f.At, w.Options.Now)
		}
		w.printf("  %s%s%s: %s\n", line(f.Pod), index, at, f.Exit)
		if words := ending(f.Message); words != "" {
			w.printf("    its last words: %s\n", words)
		}
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
	if x.Unseen > 0 {
		what := "failed pod"
		if len(all) > 0 {
			what = "earlier failed pod"
		}
		w.printf("  %s%s\n", counted(x.Unseen, what), x.unseen)
	}
}

// Workload prints an explanation of a workload and of its pods and Jobs in trouble.
func (w *Printer) Workload(x *Workload) {
	// The trouble of a pod or Job, and the remedy, stand at the pod or Job below.
	w.head(strings.ToLower(x.Kind), x.Namespace, x.Name, x.state, x.Trouble, x.remedy)
	w.conditions(x.Conditions, x.state)
	w.events(x.Events)
	w.findings(x.Findings)
	var objects []any
	for i := range x.Jobs {
		objects = append(objects, &x.Jobs[i])
	}
	for i := range x.Pods {
		objects = append(objects, &x.Pods[i])
	}
	if len(objects) > 0 {
		w.printf("\n")
		w.List(objects)
	}
}

// mostFull is the number of objects of a list printed in full.
const mostFull = 5

// List prints explanations of several objects: those in trouble in full, as long as there
// are few, and the others in a line.
func (w *Printer) List(objects []any) {
	full := 0
	var fine []string
	for _, object := range objects {
		kind, namespace, name, summary, trouble := headOf(object)
		switch {
		case !trouble:
			fine = append(fine, fmt.Sprintf("%s %s/%s: %s", kind, line(namespace), line(name), summary))
			continue
		case full < mostFull:
			if full > 0 {
				w.printf("\n")
			}
			w.Object(object)
		case full == mostFull:
			w.printf("\nAnd in trouble, too:\n")
			fallthrough
		default:
			w.head(kind, namespace, name, summary, true, "")
		}
		full++
	}
	if full > 0 && len(fine) > 0 {
		w.printf("\n")
	}
	for _, text := range fine[:min(len(fine), mostFine)] {
		w.printf("%s\n", text)
	}
	if n := len(fine) - mostFine; n > 0 {
		w.printf("and %d more without trouble\n", n)
	}
}

// mostFine is the number of objects without trouble of a list that are printed.
const mostFine = 20

// Object prints an explanation: a *Pod, *Job or *Workload.
func (w *Printer) Object(object any) {
	switch x := object.(type) {
	case *Pod:
		w.Pod(x)
	case *Job:
		w.Job(x)
	case *Workload:
		w.Workload(x)
	}
}

func headOf(object any) (kind, namespace, name, summary string, trouble bool) {
	switch x := object.(type) {
	case *Pod:
		return "pod", x.Namespace, x.Name, x.Summary, x.Trouble
	case *Job:
		return "job", x.Namespace, x.Name, x.Summary, x.Trouble
	case *Workload:
		return strings.ToLower(x.Kind), x.Namespace, x.Name, x.Summary, x.Trouble
	}
	return "", "", "", "", false
}

// Next prints a table of waiting containers and Jobs.
func (w *Printer) Next(all []Waiting) {
	if len(all) == 0 {
		w.printf("nothing waits\n")
		return
	}
	t := printers.GetNewTabWriter(w.W)
	namespace := ""
	if w.Namespaces {
		namespace = "NAMESPACE\t"
	}
	fmt.Fprintln(t, "STARTS\t"+namespace+"OBJECT\tCONTAINER\tREASON\tRESTARTS\tWHY")
	for i := range all {
		fmt.Fprintln(t, w.row(&all[i]))
	}
	t.Flush()
}

func (w *Printer) row(x *Waiting) string {
	cells := []string{x.start().brief(w.Options)}
	if w.Namespaces {
		cells = append(cells, line(x.Namespace))
	}
	return strings.Join(append(cells, strings.ToLower(x.Kind)+"/"+line(x.Name), cmp.Or(line(x.Container), "-"),
		line(x.Reason), x.counts(), line(x.Why)), "\t")
}

// counts returns the restarts of a container, or the failures of a Job.
func (x *Waiting) counts() string {
	switch {
	case x.Kind != "Job":
		return fmt.Sprint(x.Restarts)
	case x.Failures == 0:
		return "-"
	}
	return counted(x.Failures, "failure")
}

// brief formats a Start for a table. An estimate begins with a tilde.
func (s Start) brief(o Options) string {
	now := o.Now
	text := ""
	switch {
	case s.Never:
		return "never"
	case !s.Known():
		return "unknown"
	case now.After(s.To) && o.Undated:
		text = rest(now.Sub(s.To)) + " ago"
	case now.After(s.To):
		text = "overdue by " + rest(now.Sub(s.To))
	case now.Before(s.From):
		text = "in " + rest(s.From.Sub(now)) + " to " + rest(s.To.Sub(now))
	default:
		text = "within " + rest(s.To.Sub(now))
	}
	if s.Estimated {
		text = "~" + text
	}
	return text
}

// Change prints a line about something that waits, or that waits no longer.
func (w *Printer) Change(x Waiting, over bool) error {
	name := strings.ToLower(x.Kind) + "/" + line(x.Name)
	if x.Container != "" {
		name += "/" + line(x.Container)
	}
	text := "waits no longer"
	if !over {
		text = fmt.Sprintf("%s, starts %s: %s", line(x.Reason), x.start().when(w.Options), line(x.Why))
	}
	_, err := fmt.Fprintf(w.W, "%s %s/%s %s\n", clock(w.Options.Now, w.Options.Now), line(x.Namespace), name, text)
	return err
}
