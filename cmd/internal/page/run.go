package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/picture"
	"github.com/restartkit/restart/cmd/internal/timeline"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/check"
)

// runQuestion is a request of the tab Run.
type runQuestion struct {
	Manifest string  `json:"manifest"`
	Job      string  `json:"job"`    // the name of a Job in it; "" for the first
	Script   *string `json:"script"` // nil for a suggestion
	Step     int     `json:"step"`   // from 1; 0 for the last
	Width    float64 `json:"width"`  // of the picture, in CSS pixels
}

// runAnswer is the content of the tab Run.
type runAnswer struct {
	Summary string   `json:"summary"`
	Script  string   `json:"script"`
	NoJob   string   `json:"noJob,omitempty"` // why nothing runs
	Wrong   []Remark `json:"wrong,omitempty"` // in the script
	Notes   []string `json:"notes,omitempty"` // of the controller, and why the run was cut off
	Steps   int      `json:"steps"`
	Step    int      `json:"step"` // shown, from 1
	At      string   `json:"at"`   // time of the step
	Lines   []string `json:"lines,omitempty"`
	Status  string   `json:"status"` // after the step, as YAML
	Picture *Picture `json:"picture,omitempty"`
}

// Picture is a picture with a separate style sheet, because the page forbids inline
// styles.
type Picture struct {
	SVG string `json:"svg"`
	CSS string `json:"css"`
}

// Bounds of the width of a picture in pixels.
const (
	narrowest = 320
	widest    = 2400
)

// runs runs Jobs and keeps the last run, since people step through it. The zero value is
// ready to use. It is safe for concurrent use by multiple goroutines.
type runs struct {
	mu   sync.Mutex
	of   runQuestion // without step and width
	text string      // its script, or "suggest"
	last *run
}

// view answers a request.
func (r *runs) view(ctx context.Context, q runQuestion) runAnswer {
	text := "suggest"
	if q.Script != nil {
		text = "=" + *q.Script
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || r.of.Manifest != q.Manifest || r.of.Job != q.Job || r.text != text {
		done := newRun(ctx, q)
		if ctx.Err() != nil {
			r.last = nil // it was cut off by the time
			return done.view(q)
		}
		r.of, r.text, r.last = q, text, done
	}
	return r.last.view(q)
}

// run is a finished run.
type run struct {
	script  string
	noJob   string
	wrong   []Remark // in the script
	stopped string
	log     recorder
	chart   *timeline.Chart
}

// newRun runs the Job of a request.
func newRun(ctx context.Context, q runQuestion) *run {
	r := &run{}
	if q.Script != nil {
		r.script = *q.Script
	}
	if len(q.Manifest) > largestManifest {
		r.noJob = fmt.Sprintf("The manifest is too long: this page reads at most %d bytes.", largestManifest)
		return r
	}
	job, pod, _, why := jobOf(check.Parse("manifest", []byte(q.Manifest)), q.Job)
	if job == nil {
		r.noJob = why
		return r
	}
	if q.Script == nil {
		r.script = suggestedScript(job)
	}
	script, wrong := parseScript(r.script, job)
	if script == nil {
		r.wrong = wrong
		return r
	}
	s := newSimulation(job, exitPolicies(pod), script)
	stopped, err := s.run(ctx)
	if err != nil {
		r.noJob = "This Job cannot be run here: " + clean(err.Error())
		return r
	}
	r.stopped, r.log = stopped, s.log
	if r.stopped == "" {
		r.log.add(s.c.Now, timeline.Ended, nil)
	}
	r.chart = timeline.Layout(r.log.events)
	return r
}

// view shows the step of a request.
func (r *run) view(q runQuestion) runAnswer {
	a := runAnswer{Script: r.script, Wrong: r.wrong, NoJob: r.noJob, Notes: r.log.notes}
	switch {
	case r.noJob != "":
		a.Summary = "Nothing runs. " + r.noJob
		return a
	case len(r.wrong) > 0:
		a.Summary = "Nothing runs, because the outcomes have " + human.Count(len(r.wrong), "mistake") + "."
		return a
	case len(r.log.steps) == 0:
		a.Summary = "Nothing happens: this Job creates no pod."
		return a
	}
	if r.stopped != "" {
		a.Notes = append(slices.Clone(a.Notes), r.stopped)
	}
	a.Steps = len(r.log.steps)
	if a.Step = min(q.Step, a.Steps); q.Step <= 0 {
		a.Step = a.Steps
	}
	shown := r.log.steps[a.Step-1]
	a.At, a.Lines, a.Status = human.Duration(shown.at), shown.lines, statusYAML(shown.status)
	a.Summary = fmt.Sprintf("%s. Step %d of %d, after %s.", r.chart.Title(), a.Step, a.Steps, a.At)
	options := timeline.Options{Width: min(max(q.Width, narrowest), widest)}
	if a.Step < a.Steps {
		options.Until = max(shown.at, 1)
	}
	svg := string(r.chart.Draw(options).SVG(picture.SVGOptions{Prefix: "run", Fluid: true}))
	before, rest, _ := strings.Cut(svg, "<style>")
	css, after, _ := strings.Cut(rest, "</style>")
	a.Picture = &Picture{SVG: before + after, CSS: css}
	return a
}

// statusYAML returns a status as kubectl prints it.
func statusYAML(s batch.JobStatus) string {
	seconds := func(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
	s.StartTime, s.CompletionTime = seconds(s.StartTime), seconds(s.CompletionTime)
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		c := &s.Conditions[i]
		c.LastProbeTime, c.LastTransitionTime = seconds(c.LastProbeTime), seconds(c.LastTransitionTime)
	}
	text, err := yaml.Marshal(map[string]any{"status": s})
	if err != nil {
		return "# " + clean(err.Error()) + "\n"
	}
	return string(text)
}
