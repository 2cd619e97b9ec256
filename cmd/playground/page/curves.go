package page

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/preset"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// Settings holds the input of the Curves tab. Empty and zero fields have defaults.
type Settings struct {
	Policies []Policy `json:"policies"` // nil for the first two presets
	Run      string   `json:"run"`      // duration of a run
	Pods     int      `json:"pods"`     // on the node
	Requests int      `json:"requests"` // to the API server, per restart
	Window   string   `json:"window"`   // time span to draw
	Reduce   bool     `json:"reduce"`   // feature gate ReduceDefaultCrashLoopBackOffDecay
	AllowMax bool     `json:"allowMax"` // feature gate KubeletCrashLoopBackOffMax
	Max      string   `json:"max"`      // crashLoopBackOff.maxContainerRestartPeriod; empty if not set
}

// Policy is a backoff.Policy as entered.
type Policy struct {
	Name    string  `json:"name"`
	Initial string  `json:"initial"`
	Max     string  `json:"max"`
	Factor  float64 `json:"factor"`
	Jitter  float64 `json:"jitter"`
	Reset   string  `json:"reset"` // empty for twice the maximum

	Starts  int    `json:"starts,omitempty"`  // limit within Within; 0 for none
	Within  string `json:"within,omitempty"`  // empty for no limit
	Outside bool   `json:"outside,omitempty"` // not restarted by the kubelet, so without requests
}

// Curves is the content of the Curves tab.
type Curves struct {
	Summary  string        `json:"summary"`
	Wrong    []Field       `json:"wrong,omitempty"`
	Table    [][]string    `json:"table,omitempty"` // headers in the first row and column
	Pictures []*Picture    `json:"pictures,omitempty"`
	Node     *Policy       `json:"node,omitempty"` // resolved from the node's settings
	NodeText string        `json:"nodeText"`
	Notes    []SettingNote `json:"notes,omitempty"`
	Presets  []Policy      `json:"presets"`
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
)

// presets returns the curves of known systems.
func presets() []Policy {
	var list []Policy
	for _, p := range preset.All() {
		if p.Refused == "" {
			p.Policy.ResetAfter = min(p.Policy.ResetAfter, preset.Longest)
			w := written(p.Name, p.Policy)
			if w.Outside = p.Outside; p.Limit.Starts > 0 {
				w.Starts, w.Within = p.Limit.Starts, picture.Duration(p.Limit.Within)
			}
			list = append(list, w)
		}
	}
	return list
}

// written returns a policy in the form of the page.
func written(name string, p backoff.Policy) Policy {
	w := Policy{Name: name, Initial: picture.Duration(p.Initial), Max: picture.Duration(p.Max), Factor: p.Factor, Jitter: p.Jitter}
	if w.Factor == 0 {
		w.Factor = 2
	}
	if p.ResetAfter != 0 {
		w.Reset = picture.Duration(p.ResetAfter)
	}
	return w
}

// bounded fills in defaults and limits the numbers.
func (s Settings) bounded() Settings {
	if s.Policies == nil {
		s.Policies = presets()[:2]
	}
	if len(s.Policies) > mostPolicies {
		s.Policies = s.Policies[:mostPolicies]
	}
	bounded := make([]Policy, len(s.Policies))
	for i, p := range s.Policies {
		p.Name = picture.Clean(strings.TrimSpace(p.Name), preset.LongestName)
		bounded[i] = p
	}
	s.Policies = bounded
	s.Run, s.Window = orElse(s.Run, "0s"), orElse(s.Window, "30m")
	s.Pods = between(s.Pods, 110, mostNodePods)
	s.Requests = between(s.Requests, 5, mostRequests)
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

// view builds the Curves tab.
func (s Settings) view(width float64) *Curves {
	v := &Curves{Presets: presets()}
	run, err := preset.Duration(s.Run, 0)
	v.wrong(-1, "run", err)
	window, err := preset.Duration(s.Window, time.Second)
	v.wrong(-1, "window", err)
	var all []chart.Curve
	for i, p := range s.Policies {
		if policy, ok := v.policy(i, p); ok {
			all = append(all, chart.Curve{Name: orElse(p.Name, fmt.Sprintf("policy %d", i+1)), Policy: policy, Limit: v.limit(i, p), Outside: p.Outside,
				Groups: []chart.Group{{Pods: s.Pods, Run: run}}})
		}
	}
	v.resolve(s)
	switch {
	case len(v.Wrong) > 0:
		v.Summary = count(len(v.Wrong), "mistake") + " in the settings: " + v.Wrong[0].Text
		return v
	case len(all) == 0:
		v.Summary = "No policy to draw."
		return v
	}
	v.Table = s.table(all, window)
	v.Pictures = s.pictures(all, window, width)
	v.Summary = fmt.Sprintf("Restarts within %s, runs of %s:", picture.Duration(window), picture.Duration(run))
	for _, c := range all {
		v.Summary += fmt.Sprintf(" %s %s,", c.Name, picture.Number(c.PerPod().Restarts(-1, window)))
	}
	v.Summary = strings.TrimSuffix(v.Summary, ",") + "."
	return v
}

func (v *Curves) wrong(policy int, field string, err error) {
	if err != nil {
		v.Wrong = append(v.Wrong, Field{policy, field, clean(err.Error())})
	}
}

// policy parses a policy and records its mistakes.
func (v *Curves) policy(i int, p Policy) (backoff.Policy, bool) {
	before := len(v.Wrong)
	var read backoff.Policy
	var err error
	read.Initial, err = preset.Duration(p.Initial, preset.ShortestDelay)
	v.wrong(i, "initial", err)
	read.Max, err = preset.Duration(p.Max, preset.ShortestDelay)
	v.wrong(i, "max", err)
	if p.Reset != "" {
		if read.ResetAfter, err = preset.Duration(p.Reset, 0); err == nil && read.ResetAfter == 0 {
			err = errors.New("reset after: 0s is not above 0; an empty field means twice the maximum")
		}
		v.wrong(i, "reset", err)
	}
	read.Factor, read.Jitter = p.Factor, p.Jitter
	if p.Factor != 0 && p.Factor != 1 && !(p.Factor >= preset.LeastFactor) {
		v.wrong(i, "factor", fmt.Errorf("factor: %v is neither 1 nor a number from %v on", p.Factor, preset.LeastFactor))
	}
	if len(v.Wrong) == before {
		for _, e := range fieldErrors(read.Validate()) {
			v.wrong(i, fieldNames[e.Field], e)
		}
	}
	return read, len(v.Wrong) == before
}

// limit parses the start limit of a policy and records its mistakes.
func (v *Curves) limit(i int, p Policy) (l preset.StartLimit) {
	if p.Starts == 0 || p.Within == "" {
		return l
	}
	l.Starts = between(p.Starts, 1, preset.MostStarts)
	var err error
	l.Within, err = preset.Duration(p.Within, preset.ShortestDelay)
	v.wrong(i, "within", err)
	return l
}

// fieldNames maps the fields of a backoff.Policy to their names on the page.
var fieldNames = map[string]string{"Initial": "initial", "Max": "max", "Factor": "factor", "Jitter": "jitter", "ResetAfter": "reset"}

// resolve resolves the node's gates and maximum to a policy.
func (v *Curves) resolve(s Settings) {
	config := backoff.CrashLoopConfig{ReduceDefault: s.Reduce, AllowMax: s.AllowMax}
	if s.Max != "" {
		d, err := preset.Duration(s.Max, 0)
		if err != nil {
			v.wrong(-1, "nodeMax", err)
			return
		}
		config.Max = &d
	}
	r, err := config.Resolve()
	for _, e := range fieldErrors(err) {
		v.wrong(-1, "nodeMax", e)
	}
	if err != nil {
		return
	}
	node := written("node", r.Policy)
	v.Node = &node
	v.NodeText = describe(r.Policy)
	for _, n := range r.Notes {
		v.Notes = append(v.Notes, SettingNote{n.Field, n.Value, n.Reason, n.Warning})
	}
}

// table compares the policies.
func (s Settings) table(all []chart.Curve, window time.Duration) [][]string {
	table := [][]string{{""}}
	for _, c := range all {
		table[0] = append(table[0], c.Name)
	}
	row := func(name string, cell func(c chart.Curve) string) {
		cells := []string{name}
		for _, c := range all {
			cells = append(cells, cell(c))
		}
		table = append(table, cells)
	}
	row("delays", func(c chart.Curve) string {
		text := describe(c.Policy)
		if c.Limit.Starts > 0 {
			text += fmt.Sprintf(", gives up after %s in %s", count(c.Limit.Starts, "start"), picture.Duration(c.Limit.Within))
		}
		return text
	})
	for i, end := range []time.Duration{time.Minute, 5 * time.Minute, window} {
		if end < window || i == 2 {
			row("restarts of a pod in the first "+picture.Duration(end), func(c chart.Curve) string { return picture.Number(c.PerPod().Restarts(-1, end)) })
		}
	}
	for _, c := range all {
		if c.Policy.Jitter > 0 {
			row("with jitter, at most", func(c chart.Curve) string { return mostWithJitter(c.PerPod(), window) })
			break
		}
	}
	row("requests per second of the node, busiest 10 s", func(c chart.Curve) string {
		return picture.Number(c.Busiest(10*time.Second) * c.Requests(s.Requests) / 10)
	})
	row("in the long run", func(c chart.Curve) string {
		if c.GivenUp(c.Groups[0]) {
			return "none: it has given up"
		}
		return fmt.Sprintf("a restart every %s, %s requests per second", picture.Duration(c.Steady(c.Groups[0])), picture.Number(c.Requests(s.Requests)*c.SteadyRate()))
	})
	return table
}

// mostWithJitter returns the number of restarts if jitter shortens every delay as much
// as possible.
func mostWithJitter(c chart.Curve, window time.Duration) string {
	keep := 1 - c.Policy.Jitter
	c.Policy.ResetAfter = c.Policy.ResetThreshold()
	c.Policy.Initial, c.Policy.Max = time.Duration(float64(c.Policy.Initial)*keep), time.Duration(float64(c.Policy.Max)*keep)
	if c.Policy.Initial < preset.ShortestDelay {
		return "any number"
	}
	return picture.Number(c.Restarts(-1, window))
}

// describe describes a policy in a few words.
func describe(p backoff.Policy) string {
	text := chart.Delays(p)
	if p.Jitter > 0 {
		text += fmt.Sprintf(", up to %v%% shorter", math.Round(p.Jitter*1000)/10)
	}
	if p.ResetThreshold() >= preset.Longest {
		return text + ", regardless of the length of a run"
	}
	if enough := p.ResetThreshold() + 1; enough%time.Millisecond == 0 {
		return text + ", starts over after a run of " + picture.Duration(enough) + " or more"
	}
	return text + ", starts over after a run of more than " + picture.Duration(p.ResetThreshold())
}
