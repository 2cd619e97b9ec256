package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/restartkit/restart/examples/internal/terminal"
	"github.com/restartkit/restart/pleg"
)

// A writer prints lines and counters. One that fails keeps failing.
type writer interface {
	line(line) error
	stats(counters) error
}

// newWriter returns the writer of a format, text or json.
func newWriter(format string, out io.Writer, colour bool) writer {
	if format == "json" {
		return jsonWriter{out}
	}
	widths := []int{len(clockFormat), len(pleg.ContainerStarted), 28, 14}
	return &textWriter{out, colour, terminal.Columns{Gap: 2, Widths: widths}}
}

// textWriter writes for people: one aligned line per event.
type textWriter struct {
	out     io.Writer
	colour  bool
	columns terminal.Columns
}

const clockFormat = "15:04:05.000"

func (w *textWriter) line(l line) error {
	cells := []string{l.at.Format(clockFormat), string(l.event), podName(l), containerName(l), detail(l)}
	for i := range cells { // the runtime says what it likes
		cells[i] = terminal.Escape(cells[i])
	}
	text := w.columns.Line(cells)
	if w.colour && l.event == pleg.ContainerDied && !l.sandbox() {
		colour := terminal.Red
		if l.exit != nil && l.exit.code == 0 {
			colour = terminal.Green
		}
		text = colour.Paint(text)
	}
	_, err := fmt.Fprintln(w.out, text)
	return err
}

// podName is NAMESPACE/NAME, or the beginning of the sandbox's id.
func podName(l line) string {
	if l.meta == nil {
		return short(l.pod)
	}
	return l.meta.Namespace + "/" + l.meta.Name
}

// containerName is NAME/ATTEMPT, "sandbox", or the beginning of the id.
func containerName(l line) string {
	switch {
	case l.container == "":
		return ""
	case l.sandbox():
		return "sandbox"
	case l.name == "":
		return short(l.container)
	}
	return fmt.Sprintf("%s/%d", l.name, l.attempt)
}

func short(id string) string { return id[:min(len(id), 13)] }

// detail is how a container ended, when it happened and how late that is told.
func detail(l line) string {
	var parts []string
	if l.event == pleg.ContainerDied && !l.sandbox() {
		switch {
		case l.exit == nil:
			parts = append(parts, "exit code not known")
		case l.exit.reason == "" || l.exit.reason == "Completed":
			parts = append(parts, fmt.Sprintf("exit %d", l.exit.code))
		default:
			parts = append(parts, fmt.Sprintf("exit %d %s", l.exit.code, l.exit.reason))
		}
	}
	if !l.happened.IsZero() {
		format := clockFormat
		if l.before {
			format = time.DateTime
		}
		parts = append(parts, "at "+l.happened.Format(format))
	}
	if late, ok := l.late(); ok {
		text := fmt.Sprintf("%.1f ms ago", milliseconds(late))
		if since, ok := l.lateSinceEvent(); ok {
			text += fmt.Sprintf(", its event %.1f ms", milliseconds(since))
		}
		parts = append(parts, "("+text+")")
	}
	return strings.Join(parts, " ")
}

// jsonWriter writes one object per line.
type jsonWriter struct{ out io.Writer }

func (w jsonWriter) write(object any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		return err
	}
	_, err := w.out.Write(terminal.EscapeJSON(text.Bytes()))
	return err
}

// jsonLine is an event in JSON. Times are RFC 3339 with nanoseconds.
type jsonLine struct {
	Time      time.Time      `json:"time"`
	Type      pleg.EventType `json:"type"`
	Pod       *jsonPod       `json:"pod,omitempty"`
	Container *jsonContainer `json:"container,omitempty"`
	Exit      *jsonExit      `json:"exit,omitempty"`       // of a ContainerDied, if known
	At        *time.Time     `json:"at,omitempty"`         // when it happened, if the runtime says
	Latency   *float64       `json:"latency,omitempty"`    // from then until it is told, in seconds
	Since     *float64       `json:"sinceEvent,omitempty"` // from the runtime's event of an exit until it is told, in seconds
	Before    bool           `json:"before,omitempty"`     // it happened before criwatch began
}

type jsonPod struct {
	ID        string `json:"id"` // of the sandbox
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
	Attempt   uint32 `json:"attempt"`
}

type jsonContainer struct {
	ID      string `json:"id"`
	Sandbox bool   `json:"sandbox,omitempty"` // it is the pod's sandbox
	Name    string `json:"name,omitempty"`
	Attempt uint32 `json:"attempt"`
}

type jsonExit struct {
	Code   int32  `json:"code"`
	Reason string `json:"reason,omitempty"`
}

func (w jsonWriter) line(l line) error {
	j := jsonLine{Time: l.at, Type: l.event, Before: l.before}
	if l.pod != "" {
		j.Pod = &jsonPod{ID: l.pod, Namespace: l.meta.GetNamespace(), Name: l.meta.GetName(), UID: l.meta.GetUid(), Attempt: l.meta.GetAttempt()}
	}
	if l.container != "" {
		j.Container = &jsonContainer{ID: l.container, Sandbox: l.sandbox(), Name: l.name, Attempt: l.attempt}
	}
	if l.exit != nil {
		j.Exit = &jsonExit{l.exit.code, l.exit.reason}
	}
	if !l.happened.IsZero() {
		j.At = &l.happened
	}
	if late, ok := l.late(); ok {
		seconds := late.Seconds()
		j.Latency = &seconds
	}
	if since, ok := l.lateSinceEvent(); ok {
		seconds := since.Seconds()
		j.Since = &seconds
	}
	return w.write(j)
}
