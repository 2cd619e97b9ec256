package page

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/curve"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/field"
)

// Settings is a request of the tab Curves. Empty and zero fields have defaults.
type Settings struct {
	Policies []Policy `json:"policies"` // nil for the first two presets
	Run      string   `json:"run"`      // length of a run
	Pods     int      `json:"pods"`     // on the node
	Requests int      `json:"requests"` // to the API server, per restart
	Window   string   `json:"window"`   // time span to draw
	Reduce   bool     `json:"reduce"`   // feature gate ReduceDefaultCrashLoopBackOffDecay
	AllowMax bool     `json:"allowMax"` // feature gate KubeletCrashLoopBackOffMax
	Max      string   `json:"max"`      // crashLoopBackOff.maxContainerRestartPeriod; empty if not set

	Width float64 `json:"width"` // of the pictures, in CSS pixels
}

// Policy is a delay curve as entered.
type Policy struct {
	Name    string  `json:"name"`
	Initial string  `json:"initial"`
	Max     string  `json:"max"`
	Factor  float64 `json:"factor"`
	Jitter  float64 `json:"jitter"`
	Reset   string  `json:"reset"` // a duration or "never"; empty means twice Max

	Starts  int    `json:"starts,omitempty"`  // a preset's limit within Within; 0 for none
	Within  string `json:"within,omitempty"`  // empty for no limit
	Outside bool   `json:"outside,omitempty"` // a preset without a kubelet, so without API requests
}

// curvesAnswer is the content of the tab Curves.
type curvesAnswer struct {
	Summary  string        `json:"summary"`
	Settings Settings      `json:"settings"` // with defaults
	Wrong    []Field       `json:"wrong,omitempty"`
	Table    [][]string    `json:"table,omitempty"` // headers in the first row and column
	Charts   []Chart       `json:"charts,omitempty"`
	Node     *Policy       `json:"node,omitempty"` // what the node's settings come to
	NodeText string        `json:"nodeText"`
	Notes    []SettingNote `json:"notes,omitempty"`
	Presets  []Policy      `json:"presets"`
}

// Chart is a picture as the URL of an image.
type Chart struct {
	Title string `json:"title"`
	Text  string `json:"text"` // its content, for people who cannot see it
	URL   string `json:"url"`
}

// Field is a mistake in a field. Policy is -1 outside the policies.
type Field struct {
	Policy int    `json:"policy"`
	Field  string `json:"field"`
	Text   string `json:"text"`
}

// SettingNote describes the effect of a setting of the node.
type SettingNote struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Reason  string `json:"reason"`
	Warning bool   `json:"warning"`
}

const (
	mostPolicies = 4
	mostNodePods = 100_000
	mostRequests = 1000
	mostStarts   = 1_000_000
)

// presets returns the curves of known systems.
func presets() (list []Policy) {
	for _, s := range curve.Systems() {
		if s.Refused != "" {
			continue
		}
		c := s.Curve
		w := written(c.Name, c.Policy)
		if w.Outside = c.Outside; c.Limit.Starts > 0 {
			w.Starts, w.Within = c.Limit.Starts, human.Duration(c.Limit.Within)
		}
		list = append(list, w)
	}
	return list
}

// written returns a policy in the form of the page.
func written(name string, p backoff.Policy) Policy {
	w := Policy{Name: name, Initial: human.Duration(p.Initial), Max: human.Duration(p.Max), Factor: p.Factor, Jitter: p.Jitter}
	if w.Factor == 0 {
		w.Factor = 2
	}
	switch p.ResetAfter {
	case 0:
	case curve.Never:
		w.Reset = "never"
	default:
		w.Reset = human.Duration(p.ResetAfter)
	}
	return w
}

// bounded fills in defaults and limits the numbers.
func (s Settings) bounded() Settings {
	if s.Policies == nil {
		s.Policies = presets()[:2]
	}
	s.Policies = slices.Clone(s.Policies[:min(len(s.Policies), mostPolicies)])
	for i := range s.Policies {
		name := []rune(clean(strings.TrimSpace(s.Policies[i].Name)))
		s.Policies[i].Name = string(name[:min(len(name), curve.LongestName)])
	}
	s.Run, s.Window = orElse(s.Run, "0s"), orElse(s.Window, "30m")
	s.Pods = between(s.Pods, 110, mostNodePods)
	s.Requests = between(s.Requests, 5, mostRequests)
	s.Width = min(max(s.Width, narrowest), widest)
	return s
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// between limits n to 1..most. If n is 0, it returns otherwise.
func between(n, otherwise, most int) int {
	if n == 0 {
		return otherwise
	}
	return min(max(n, 1), most)
}

// compared answers a request.
func compared(_ context.Context, s Settings) curvesAnswer {
	s = s.bounded()
	a := curvesAnswer{Settings: s, Presets: presets()}
	run, err := curve.ParseDuration(s.Run, 0)
	a.wrong(-1, "run", err)
	window, err := curve.ParseDuration(s.Window, time.Second)
	a.wrong(-1, "window", err)
	var all []curve.Curve
	for i, p := range s.Policies {
		if c, ok := a.curve(i, p); ok {
			c.Run = run
			all = append(all, c)
		}
	}
	a.resolve(s)
	switch {
	case len(a.Wrong) > 0:
		a.Summary = human.Count(len(a.Wrong), "mistake") + " in the settings: " + a.Wrong[0].Text
		return a
	case len(all) == 0:
		a.Summary = "No policy to draw."
		return a
	}
	a.Table = s.table(all, window)
	a.Charts = s.charts(all, window)
	a.Summary = fmt.Sprintf("Restarts of one pod within %s, with runs of %s:", human.Duration(window), human.Duration(run))
	for _, c := range all {
		a.Summary += fmt.Sprintf(" %s %d,", c.Name, c.Restarts(-1, window))
	}
	a.Summary = strings.TrimSuffix(a.Summary, ",") + "."
	return a
}

// charts draws the restarts from the beginning, and those of the first minutes.
func (s Settings) charts(all []curve.Curve, window time.Duration) (charts []Chart) {
	for _, end := range []time.Duration{window, window / 10} {
		p := curve.Picture{Curves: all, End: end, Width: s.Width, Height: min(max(s.Width*0.55, 220), 340)}
		c := Chart{
			Title: "Restarts of one pod in the first " + human.Duration(end.Round(time.Millisecond)),
			URL:   "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(p.SVG()),
		}
		if p.Logarithmic() {
			c.Title += ", on a logarithmic scale"
		}
		var text []string
		for _, one := range all {
			text = append(text, fmt.Sprintf("%s: %d", one.Name, one.Restarts(-1, end)))
		}
		c.Text = c.Title + ". " + strings.Join(text, ", ") + "."
		charts = append(charts, c)
	}
	return charts
}

func (a *curvesAnswer) wrong(policy int, field string, err error) {
	if err != nil {
		a.Wrong = append(a.Wrong, Field{policy, field, clean(err.Error())})
	}
}

// curve parses a policy and records its mistakes.
func (a *curvesAnswer) curve(i int, p Policy) (c curve.Curve, ok bool) {
	before := len(a.Wrong)
	c = curve.Curve{Name: orElse(p.Name, fmt.Sprintf("policy %d", i+1)), Outside: p.Outside}
	var err error
	c.Policy.Initial, err = curve.ParseDuration(p.Initial, curve.ShortestDelay)
	a.wrong(i, "initial", err)
	c.Policy.Max, err = curve.ParseDuration(p.Max, curve.ShortestDelay)
	a.wrong(i, "max", err)
	switch p.Reset {
	case "":
	case "never":
		c.Policy.ResetAfter = curve.Never
	default:
		if c.Policy.ResetAfter, err = curve.ParseDuration(p.Reset, 0); err == nil && c.Policy.ResetAfter == 0 {
			err = errors.New("reset after: 0s is not above 0; an empty field means twice the maximum")
		}
		a.wrong(i, "reset", err)
	}
	c.Policy.Factor, c.Policy.Jitter = p.Factor, p.Jitter
	if p.Factor != 0 && !curve.FactorAllowed(p.Factor) {
		a.wrong(i, "factor", fmt.Errorf("factor: %v is neither 1 nor a number from %v on", p.Factor, curve.LeastFactor))
	}
	if p.Starts != 0 && p.Within != "" {
		c.Limit.Starts = between(p.Starts, 1, mostStarts)
		c.Limit.Within, err = curve.ParseDuration(p.Within, curve.ShortestDelay)
		a.wrong(i, "within", err)
	}
	if len(a.Wrong) == before {
		for _, e := range fieldErrors(c.Policy.Validate()) {
			a.wrong(i, fieldNames[e.Field], e)
		}
	}
	return c, len(a.Wrong) == before
}

// fieldNames maps the fields of a backoff.Policy to their names on the page.
var fieldNames = map[string]string{"Initial": "initial", "Max": "max", "Factor": "factor", "Jitter": "jitter", "ResetAfter": "reset"}

// fieldErrors returns the mistakes in settings.
func fieldErrors(err error) (all field.Errors) {
	errors.As(err, &all)
	return all
}

// resolve resolves the node's gates and maximum to a policy.
func (a *curvesAnswer) resolve(s Settings) {
	config := backoff.CrashLoopConfig{ReduceDefault: s.Reduce, AllowMax: s.AllowMax}
	if s.Max != "" {
		d, err := curve.ParseDuration(s.Max, 0)
		if err != nil {
			a.wrong(-1, "nodeMax", err)
			return
		}
		config.Max = &d
	}
	r, err := config.Resolve()
	for _, e := range fieldErrors(err) {
		a.wrong(-1, "nodeMax", e)
	}
	if err != nil {
		return
	}
	node := written("node", r.Policy)
	a.Node = &node
	a.NodeText = curve.Curve{Policy: r.Policy}.Describe()
	for _, n := range r.Notes {
		a.Notes = append(a.Notes, SettingNote{n.Field, n.Value, n.Reason, n.Warning})
	}
}

// table compares the policies.
func (s Settings) table(all []curve.Curve, window time.Duration) [][]string {
	table := [][]string{{""}}
	for _, c := range all {
		table[0] = append(table[0], c.Name)
	}
	row := func(name string, cell func(c curve.Curve) string) {
		cells := []string{name}
		for _, c := range all {
			cells = append(cells, cell(c))
		}
		table = append(table, cells)
	}
	row("delays", curve.Curve.Describe)
	for i, end := range []time.Duration{time.Minute, 5 * time.Minute, window} {
		if end < window || i == 2 {
			row("restarts of a pod in the first "+human.Duration(end), func(c curve.Curve) string { return fmt.Sprint(c.Restarts(-1, end)) })
		}
	}
	if slices.ContainsFunc(all, func(c curve.Curve) bool { return c.Policy.Jitter > 0 }) {
		row("at most, if jitter shortens every delay", func(c curve.Curve) string { return mostWithJitter(c, window) })
	}
	perSecond := func(c curve.Curve, rate float64) string {
		return human.Number(c.Requests(rate*float64(s.Pods), s.Requests))
	}
	row(fmt.Sprintf("API requests per second for %d such pods, in the busiest 10 s", s.Pods), func(c curve.Curve) string {
		return perSecond(c, float64(c.Busiest(10*time.Second))/10)
	})
	row("in the long run", func(c curve.Curve) string {
		if c.GivenUp() {
			return "no restart: it has given up"
		}
		return fmt.Sprintf("a restart every %s, %s requests per second", human.Duration(c.Steady()), perSecond(c, c.SteadyRate()))
	})
	return table
}

// mostWithJitter returns the number of restarts if jitter shortens every delay as much
// as possible.
func mostWithJitter(c curve.Curve, window time.Duration) string {
	keep := 1 - c.Policy.Jitter
	c.Policy.ResetAfter = c.Policy.ResetThreshold()
	c.Policy.Initial, c.Policy.Max = time.Duration(float64(c.Policy.Initial)*keep), time.Duration(float64(c.Policy.Max)*keep)
	if c.Policy.Initial < curve.ShortestDelay {
		return "any number"
	}
	return fmt.Sprint(c.Restarts(-1, window))
}
