// Package page is the playground without a browser: from what a person has entered it
// makes what the page shows, as JSON. It starts nothing, reads no clock and no file, and
// bounds its work whatever was entered.
package page

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/restartkit/restart/cmd/internal/picture"
	"github.com/restartkit/restart/jobpolicy"
)

// The tabs.
const (
	TabJob      = "job"
	TabSimulate = "simulate"
	TabCurves   = "curves"
)

// State is all that a person has entered. A link to the page holds it as JSON, so the
// names of its fields are stable. The zero value shows an empty page.
type State struct {
	Tab      string   `json:"tab"`
	Manifest string   `json:"manifest"`
	Name     string   `json:"name"`             // of the Job to look at; "": the only one
	Trials   []Trial  `json:"trials"`           // pods to try; nil: suggestions
	Script   *string  `json:"script,omitempty"` // of the simulation; nil: a suggestion
	Step     int      `json:"step"`             // of the simulation, from 1; 0: the last
	Curves   Settings `json:"curves"`
}

// Request is what the page asks for.
type Request struct {
	State State   `json:"state"`
	Link  *string `json:"link,omitempty"` // a state as a link has it, in place of State
	Width float64 `json:"width"`          // of pictures, in CSS pixels
}

// View is what the page shows: the part of the tab, and the state as it was understood;
// its manifest is there only if it is from a link.
type View struct {
	State    State       `json:"state"`
	Notice   string      `json:"notice,omitempty"` // what of the request could not be understood
	Job      *Job        `json:"job,omitempty"`
	Simulate *Simulation `json:"simulate,omitempty"`
	Curves   *Curves     `json:"curves,omitempty"`
}

// Page makes views. It remembers the last simulation, so that stepping through it is
// quick. Its zero value is ready to use. A Page is not safe for concurrent use.
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
		r, notice = Request{}, "The page has asked for something that cannot be understood: "+err.Error()
	}
	if r.Link != nil {
		r.State = State{}
		if err := json.Unmarshal([]byte(*r.Link), &r.State); err != nil {
			r.State, notice = State{}, "The link is damaged, so what it showed is lost: "+err.Error()
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

// View returns what the page shows.
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

// The widths of a picture.
const (
	narrowest = 320
	widest    = 2400
)

// bounded returns the state within the bounds of the page.
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

// Picture is a picture whose style stands apart: the page's policy admits no style inside
// of an element.
type Picture struct {
	SVG string `json:"svg"`
	CSS string `json:"css"`
}

// drawn returns a picture for the page. All names in it begin with the prefix, since
// those of several pictures must differ.
func drawn(p *picture.Picture, prefix string) *Picture {
	svg := string(p.SVG(picture.SVGOptions{Prefix: prefix, Dark: true, Fluid: true}))
	before, rest, _ := strings.Cut(svg, "<style>")
	css, after, _ := strings.Cut(rest, "</style>")
	return &Picture{SVG: before + after, CSS: css}
}

// clean returns a line that may have parts of what was entered: without characters that
// control something, and not too long.
func clean(text string) string { return picture.Clean(text, 1000) }

// count returns a number of things, such as 1 pod or 2 pods.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
