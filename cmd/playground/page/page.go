// Package page turns the input of the playground into the content of its page, both as
// JSON. It has no side effects, reads no clock and no file, and bounds its work on any
// input.
package page

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/restartkit/restart/cmd/internal/timeline/picture"
	"github.com/restartkit/restart/jobpolicy"
)

// Names of the tabs.
const (
	TabJob      = "job"
	TabSimulate = "simulate"
	TabCurves   = "curves"
)

// State is everything entered on the page. Links hold it as JSON, so its field names
// are stable. The zero value shows an empty page.
type State struct {
	Tab      string   `json:"tab"`
	Manifest string   `json:"manifest"`
	Name     string   `json:"name"`             // of the Job; may be empty for a single Job
	Trials   []Trial  `json:"trials"`           // nil for suggestions
	Script   *string  `json:"script,omitempty"` // nil for a suggestion
	Step     int      `json:"step"`             // from 1; 0 for the last
	Curves   Settings `json:"curves"`
}

// Request is a request of the page.
type Request struct {
	State State   `json:"state"`
	Link  *string `json:"link,omitempty"` // a State from a link; overrides State
	Width float64 `json:"width"`          // of pictures, in CSS pixels
}

// View is the content of the current tab, with the state as understood. Its manifest is
// set only if the request has a Link.
type View struct {
	State    State       `json:"state"`
	Notice   string      `json:"notice,omitempty"` // a problem of the request
	Job      *Job        `json:"job,omitempty"`
	Simulate *Simulation `json:"simulate,omitempty"`
	Curves   *Curves     `json:"curves,omitempty"`
}

// Page builds Views. It caches the last simulation. The zero value is ready to use. A
// Page is not safe for concurrent use.
type Page struct {
	last struct {
		manifest, name, script string
		run                    *run
	}
}

// engine decides as Kubernetes does.
var engine jobpolicy.Engine

// Answer returns the View of a Request, both as JSON.
func (p *Page) Answer(request []byte) []byte {
	var r Request
	notice := ""
	if err := json.Unmarshal(request, &r); err != nil {
		r, notice = Request{}, "The page has sent an invalid request: "+err.Error()
	}
	if r.Link != nil {
		r.State = State{}
		if err := json.Unmarshal([]byte(*r.Link), &r.State); err != nil {
			r.State, notice = State{}, "The link is damaged and cannot be shown: "+err.Error()
		}
	}
	v := p.View(r)
	if notice != "" {
		v.Notice = clean(notice)
	}
	answer, err := json.Marshal(v)
	if err != nil { // a number that JSON cannot hold
		answer, _ = json.Marshal(View{Notice: clean(err.Error())})
	}
	return answer
}

// View returns the View of a Request.
func (p *Page) View(r Request) View {
	s := r.State.bounded()
	width := min(max(r.Width, narrowest), widest)
	v := View{State: s}
	if r.Link == nil {
		v.State.Manifest = "" // the page has it
	}
	switch s.Tab {
	case TabSimulate:
		v.Simulate = p.simulate(s, width)
	case TabCurves:
		v.Curves = s.Curves.view(width)
	default:
		v.Job = examine(s)
	}
	return v
}

// Bounds of the width of a picture.
const (
	narrowest = 320
	widest    = 2400
)

// bounded limits the state to the bounds of the page.
func (s State) bounded() State {
	switch s.Tab {
	case TabJob, TabSimulate, TabCurves:
	default:
		s.Tab = TabJob
	}
	if len(s.Trials) > mostTrials {
		s.Trials = s.Trials[:mostTrials]
	}
	s.Step = max(s.Step, 0)
	s.Curves = s.Curves.bounded()
	return s
}

// Picture is a picture with a separate style sheet, because the page forbids inline
// styles.
type Picture struct {
	SVG string `json:"svg"`
	CSS string `json:"css"`
}

// drawn converts a picture for the page. Names in it begin with prefix, which keeps the
// names of several pictures apart.
func drawn(p *picture.Picture, prefix string) *Picture {
	svg := string(p.SVG(picture.SVGOptions{Prefix: prefix, Dark: true, Fluid: true}))
	before, rest, _ := strings.Cut(svg, "<style>")
	css, after, _ := strings.Cut(rest, "</style>")
	return &Picture{SVG: before + after, CSS: css}
}

// clean makes a line with parts of the input safe to show. It removes control
// characters and limits the length.
func clean(text string) string { return picture.Clean(text, 1000) }

// count returns a number of things, such as 1 pod or 2 pods.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
