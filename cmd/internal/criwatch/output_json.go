package criwatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/pleg"
)

// jsonWriter writes one object per line.
type jsonWriter struct{ out io.Writer }

func (w jsonWriter) write(object any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		return err
	}
	_, err := w.out.Write(escapeJSON(text.Bytes()))
	return err
}

// jsonLine is an event in JSON. Times are RFC 3339 with nanoseconds.
type jsonLine struct {
	Time      time.Time      `json:"time"`
	Type      pleg.EventType `json:"type"`
	Pod       *jsonPod       `json:"pod,omitempty"`
	Container *jsonContainer `json:"container,omitempty"`
	Exit      *jsonExit      `json:"exit,omitempty"`       // of a ContainerDied, if known
	At        *time.Time     `json:"at,omitempty"`         // by the runtime's clock, if known
	Latency   *float64       `json:"latency,omitempty"`    // from At until it is reported, in seconds
	Since     *float64       `json:"sinceEvent,omitempty"` // from the runtime's event of an exit until it is reported, in seconds
	Before    bool           `json:"before,omitempty"`     // happened before this program began

	Source pleg.ExitSource `json:"source,omitempty"` // how a ContainerDied became known: shown by an answer, told by an event, or inferred from the container's absence
	Lost   int             `json:"lost,omitempty"`   // exits dropped before it
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
	j := jsonLine{Time: l.at, Type: l.event, Before: l.before, Source: l.source, Lost: l.lost}
	if l.pod != "" {
		j.Pod = &jsonPod{ID: l.pod, Namespace: l.meta.GetNamespace(), Name: l.meta.GetName(), UID: l.meta.GetUid(), Attempt: l.meta.GetAttempt()}
	}
	if l.container != "" {
		j.Container = &jsonContainer{ID: l.container, Sandbox: l.sandbox(), Name: l.name, Attempt: l.attempt}
	}
	if l.exit != nil {
		j.Exit = &jsonExit{l.exit.Code, l.exit.Reason}
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

// jsonStats holds the counters in JSON, those of pleg.Stats under their own names.
type jsonStats struct {
	Time      time.Time   `json:"time"`
	Type      string      `json:"type"` // Stats
	Unhealthy string      `json:"unhealthy,omitempty"`
	Stats     pleg.Stats  `json:"stats"`
	Exits     jsonLatency `json:"exitLatency"`    // from exit to printed line
	Since     jsonLatency `json:"exitSinceEvent"` // from the runtime's event of an exit to the printed line
}

// jsonLatency summarizes latencies in seconds.
type jsonLatency struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
}

func (l latencies) json() jsonLatency {
	return jsonLatency{l.all, l.at(.5).Seconds(), l.at(.99).Seconds()}
}

func (w jsonWriter) stats(c counters) error {
	j := jsonStats{Time: c.at, Type: "Stats", Stats: c.stats, Exits: c.late.json(), Since: c.since.json()}
	if c.healthy != nil {
		j.Unhealthy = c.healthy.Error()
	}
	return w.write(j)
}

// escapeJSON escapes, within strings of JSON, the unsafe characters that encoding/json
// keeps.
func escapeJSON(text []byte) []byte {
	unsafe := func(r rune) bool { return r != '\n' && human.Unsafe(r) } // line feeds are between values only
	if !bytes.ContainsFunc(text, unsafe) {
		return text
	}
	var safe []byte
	for _, r := range string(text) {
		if !unsafe(r) {
			safe = utf8.AppendRune(safe, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			safe = fmt.Appendf(safe, `\u%04x`, unit)
		}
	}
	return safe
}
