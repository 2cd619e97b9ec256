package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/cmd/internal/timeline"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Simulation is the content of the Simulate tab. With Mistakes, only the Summary and
// the Script are set as well.
type Simulation struct {
	Summary  string   `json:"summary"`
	Script   string   `json:"script"`
	Mistakes []Remark `json:"mistakes,omitempty"` // in the manifest, or notices
	Wrong    []Remark `json:"wrong,omitempty"`    // in the script
	Notes    []string `json:"notes,omitempty"`    // of the Engine, and why the simulation stopped
	Steps    int      `json:"steps"`
	Step     int      `json:"step"` // shown, from 1
	At       string   `json:"at"`   // time of the step
	Lines    []string `json:"lines,omitempty"`
	Status   string   `json:"status"` // after the step, as YAML
	Picture  *Picture `json:"picture,omitempty"`
}

// run is a finished simulation.
type run struct {
	job     string
	script  string
	wrong   []Remark // in the script
	trouble *unread  // with the manifest
	stopped string
	log     recorder
	chart   *timeline.Chart
}

// simulate builds the Simulate tab.
func (p *Page) simulate(s State, width float64) *Simulation {
	given := "suggest"
	if s.Script != nil {
		given = "=" + *s.Script
	}
	if last := &p.last; last.run == nil || last.manifest != s.Manifest || last.name != s.Name || last.script != given {
		last.manifest, last.name, last.script = s.Manifest, s.Name, given
		last.run = simulated(s)
	}
	return p.last.run.view(s.Step, width)
}

// simulated runs the Job of a state.
func simulated(s State) *run {
	r := &run{}
	if s.Script != nil {
		r.script = *s.Script
	}
	m, why := read(s.Manifest, s.Name)
	if why != nil {
		r.trouble = why
		return r
	}
	r.job = m.Job.Name
	if s.Script == nil {
		r.script = suggestedScript(m.Job)
	}
	script, wrong := parseScript(r.script, m.Job)
	if script == nil {
		r.wrong = wrong
		return r
	}
	c := newCluster(m.Job, script)
	stopped, err := c.run()
	if err != nil {
		r.trouble = &unread{"This Job cannot be simulated.", []Remark{{0, "mistake", clean(err.Error())}}}
		return r
	}
	r.stopped, r.log = stopped, c.log
	if r.stopped == "" {
		r.log.add(c.now, timeline.Ended, nil)
	}
	r.chart = timeline.Layout(r.log.events)
	return r
}

// view shows step n of a run, or the last one if n is 0.
func (r *run) view(n int, width float64) *Simulation {
	v := &Simulation{Script: r.script, Wrong: r.wrong}
	switch {
	case r.trouble != nil:
		v.Summary, v.Mistakes = r.trouble.summary, r.trouble.remarks
		return v
	case len(r.wrong) > 0:
		v.Summary = "The script has " + count(len(r.wrong), "mistake") + "."
		return v
	case len(r.log.steps) == 0:
		v.Summary, v.Notes = "Nothing happens.", r.log.notes
		return v
	}
	v.Notes = r.log.notes
	if r.stopped != "" {
		v.Notes = append(slices.Clone(v.Notes), r.stopped)
	}
	v.Steps = len(r.log.steps)
	if v.Step = min(n, v.Steps); n <= 0 {
		v.Step = v.Steps
	}
	shown := r.log.steps[v.Step-1]
	v.At, v.Lines, v.Status = shown.at.String(), shown.lines, statusYAML(shown.status)
	v.Summary = fmt.Sprintf("%s. Step %d of %d, at %s.", r.chart.Title(), v.Step, v.Steps, v.At)
	options := timeline.Options{Width: width}
	if v.Step < v.Steps {
		options.Until = max(shown.at, 1)
	}
	v.Picture = drawn(r.chart.Draw(options), "run")
	return v
}

// statusYAML returns a status as printed by kubectl.
func statusYAML(s batch.JobStatus) string {
	s.StartTime, s.CompletionTime = seconds(s.StartTime), seconds(s.CompletionTime)
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		c := &s.Conditions[i]
		c.LastProbeTime, c.LastTransitionTime = seconds(c.LastProbeTime), seconds(c.LastTransitionTime)
	}
	var value any
	text, err := json.Marshal(map[string]any{"status": s})
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		return "# " + clean(err.Error()) + "\n"
	}
	return YAML(value)
}

func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
