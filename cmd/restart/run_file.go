package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/kube/check/document"
)

// runFile is the file of run's -f.
type runFile struct {
	policyFields // of commands without one

	Rate     *float64        `json:"rate"`
	Burst    *int32          `json:"burst"`
	Grace    *duration       `json:"grace"`
	Commands []commandFields `json:"commands"`
}

// commandFields are the fields of a container that a process has, and a policy.
type commandFields struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	WorkingDir string `json:"workingDir"`
	policyFields
}

// policyFields are those of a backoff.ExitPolicy. Decoding them one by one gives each mistake
// its line.
type policyFields struct {
	RestartPolicy string       `json:"restartPolicy"`
	Rules         []ruleFields `json:"restartPolicyRules"`
	Delay         *curveFields `json:"delay"`
	Limit         int          `json:"limit"`
	Window        duration     `json:"window"`
	Retries       int          `json:"retries"`
	GiveUpFor     duration     `json:"giveUpFor"`
}

// ruleFields are those of a backoff.Rule.
type ruleFields struct {
	Name      string `json:"name"`
	Action    string `json:"action"`
	ExitCodes *struct {
		Operator string      `json:"operator"`
		Values   []int32     `json:"values"`
		Ranges   []codeRange `json:"ranges"`
	} `json:"exitCodes"`
	Reasons     []string     `json:"reasons"`
	Signals     []string     `json:"signals"`
	RanLessThan duration     `json:"ranLessThan"`
	RanAtLeast  duration     `json:"ranAtLeast"`
	MinFailures int          `json:"minFailures"`
	Uncounted   bool         `json:"uncounted"`
	Delay       *curveFields `json:"delay"`
	Limit       int          `json:"limit"`
	Window      duration     `json:"window"`
}

// curveFields are those of a backoff.Policy.
type curveFields struct {
	Initial      duration  `json:"initial"`
	Max          duration  `json:"max"`
	Factor       float64   `json:"factor"`
	Jitter       float64   `json:"jitter"`
	ResetAfter   *duration `json:"resetAfter"` // absent means the kubelet's
	FreeFailures int       `json:"freeFailures"`
}

// duration is a time such as 90s in a file.
type duration time.Duration

func (d *duration) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil // absent, or a mistake that is already known
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(s)
	*d = duration(parsed)
	return err
}

// codeRange is a range of exit codes such as 64-78 in a file.
type codeRange backoff.CodeRange

func (r *codeRange) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, (*backoff.CodeRange)(r))
}

// policy returns the policy. Its mistakes are found by Validate.
func (f *policyFields) policy() backoff.ExitPolicy {
	p := backoff.ExitPolicy{
		RestartPolicy: backoff.RestartPolicy(f.RestartPolicy),
		Delay:         f.Delay.policy(),
		Limit:         f.Limit, Window: time.Duration(f.Window),
		Retries: f.Retries, GiveUpFor: time.Duration(f.GiveUpFor),
	}
	for _, r := range f.Rules {
		rule := backoff.Rule{
			Name: r.Name, Action: backoff.Action(r.Action),
			Reasons: r.Reasons, Signals: r.Signals,
			RanLessThan: time.Duration(r.RanLessThan), RanAtLeast: time.Duration(r.RanAtLeast),
			MinFailures: r.MinFailures, Uncounted: r.Uncounted,
			Delay: r.Delay.policy(), Limit: r.Limit, Window: time.Duration(r.Window),
		}
		if c := r.ExitCodes; c != nil {
			rule.ExitCodes = &backoff.ExitCodes{Operator: backoff.Operator(c.Operator), Values: c.Values}
			for _, one := range c.Ranges {
				rule.ExitCodes.Ranges = append(rule.ExitCodes.Ranges, backoff.CodeRange(one))
			}
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

func (f *curveFields) policy() *backoff.Policy {
	if f == nil {
		return nil
	}
	resetAfter := backoff.CrashLoop().ResetAfter
	if f.ResetAfter != nil {
		resetAfter = time.Duration(*f.ResetAfter)
	}
	return &backoff.Policy{
		Initial: time.Duration(f.Initial), Max: time.Duration(f.Max), Factor: f.Factor, Jitter: f.Jitter,
		ResetAfter: resetAfter, FreeFailures: f.FreeFailures,
	}
}

// readFile adds the content of a file to the settings. The error lists all mistakes with their
// lines.
func (s *runSettings) readFile(name string, stdin io.Reader) error {
	shown := human.Escape(name)
	var text []byte
	var err error
	const most = 1 << 20
	if name == "-" {
		shown = "standard input"
		text, err = io.ReadAll(io.LimitReader(stdin, most+1))
	} else {
		var file *os.File
		if file, err = os.Open(name); err == nil {
			text, err = io.ReadAll(io.LimitReader(file, most+1))
			file.Close()
		}
	}
	switch {
	case err != nil:
		return usageError("%w", err)
	case len(text) > most:
		return usageError("%s: is larger than 1 MiB", shown)
	}
	documents, err := document.Parse(text)
	switch {
	case err != nil:
		return usageError("%s: %w", shown, err)
	case len(documents) == 0:
		return usageError("%s: is empty; it should have a list of commands", shown)
	case len(documents) > 1:
		return usageError("%s: line %d: has a second document", shown, documents[1].Line)
	case documents[0].Err != nil:
		return usageError("%s: %w", shown, documents[0].Err)
	}
	found := &fileMistakes{root: documents[0].Root}
	var file runFile
	for _, m := range document.Decode(found.root, &file) {
		found.decoded(m)
	}
	s.apply(&file, found)
	if len(found.all) == 0 {
		return nil
	}
	slices.SortStableFunc(found.all, func(a, b document.Mistake) int { return a.Line - b.Line })
	lines := []string{shown + ": nothing was started:"}
	for _, m := range found.all {
		lines = append(lines, human.Escape(m.String()))
	}
	return usageError("%s", strings.Join(lines, "\n  "))
}

// apply adds the settings of a file.
func (s *runSettings) apply(file *runFile, found *fileMistakes) {
	s.policy = file.policyFields.policy()
	found.addPolicy("", &s.policy)
	if file.Rate != nil {
		if s.rate = *file.Rate; !(s.rate > 0) {
			found.add("rate", s.rate, "must be above 0")
		}
	}
	if file.Burst != nil {
		s.burst = int(*file.Burst)
		switch {
		case s.burst < 1:
			found.add("burst", s.burst, "must be at least 1")
		case file.Rate == nil:
			found.add("burst", s.burst, "has no effect without rate")
		}
	}
	if file.Grace != nil {
		if s.grace = time.Duration(*file.Grace); s.grace < 0 {
			found.add("grace", s.grace, "must not be below 0")
		}
	}
	names := make(map[string]bool)
	for i := range file.Commands {
		s.commands = append(s.commands, file.Commands[i].command(fmt.Sprintf("commands[%d]", i), names, found))
	}
}

// command returns one element of commands. names holds the names of earlier ones.
func (f *commandFields) command(path string, names map[string]bool, found *fileMistakes) keptCommand {
	c := keptCommand{name: f.Name, args: slices.Concat(f.Command, f.Args), dir: f.WorkingDir}
	switch {
	case !validName(c.name):
		found.add(path+".name", c.name, "must be "+nameRule)
	case names[c.name]:
		found.add(path+".name", c.name, "is already the name of another command")
	}
	names[c.name] = true
	if len(f.Command) == 0 || f.Command[0] == "" {
		found.add(path+".command", nil, "must name a program")
	}
	for i, v := range f.Env {
		if v.Name == "" || strings.Contains(v.Name, "=") {
			found.add(fmt.Sprintf("%s.env[%d].name", path, i), v.Name, "must be the name of a variable")
		}
		c.env = append(c.env, v.Name+"="+v.Value)
	}
	c.policy = f.policyFields.policy()
	found.addPolicy(path+".", &c.policy)
	return c
}

// fileMistakes collects the mistakes of a file.
type fileMistakes struct {
	root  *document.Node
	all   []document.Mistake
	rules map[string]bool // those with a condition that was not decoded
}

// ruleCondition matches a rule and a field of it in a path.
var ruleCondition = regexp.MustCompile(`^(.*restartPolicyRules\[\d+\])\.(exitCodes|reasons|signals|ranLessThan|ranAtLeast|minFailures)`)

// decoded adds a mistake of decoding.
func (f *fileMistakes) decoded(m document.Mistake) {
	path := m.Path
	if m.Meant != "" {
		path = path[:strings.LastIndex(path, ".")+1] + m.Meant
	}
	if parts := ruleCondition.FindStringSubmatch(path); parts != nil {
		if f.rules == nil {
			f.rules = make(map[string]bool)
		}
		f.rules[parts[1]] = true
	}
	switch m.Detail {
	case "must be a duration":
		m.Detail += " such as 1s"
	case "must be a codeRange":
		m.Detail = "must be a range such as 128-159"
	}
	f.all = append(f.all, m)
}

// add adds a mistake, unless the same value already has one.
func (f *fileMistakes) add(path string, value any, detail string) {
	within := func(m document.Mistake) bool { return m.Path != "" && document.Within(path, m.Path) }
	if !slices.ContainsFunc(f.all, within) {
		f.all = append(f.all, document.Mistake{Path: path, Line: f.root.LineOf(path), Value: value, Detail: detail})
	}
}

// addPolicy adds the mistakes of a policy. The paths of its fields follow prefix.
func (f *fileMistakes) addPolicy(prefix string, p *backoff.ExitPolicy) {
	if n := len(p.Rules); n > mostRules {
		f.add(prefix+"restartPolicyRules", nil, fmt.Sprintf("has %d items, must be at most %d, since run adds a rule about programs that cannot be started", n, mostRules))
	}
	f.addAll(prefix, p.Validate())
}

// addAll adds the field.Errors in err. Their paths follow prefix.
func (f *fileMistakes) addAll(prefix string, err error) {
	var errs field.Errors
	errors.As(err, &errs)
	for _, e := range errs {
		if rule, ok := strings.CutSuffix(e.Field, ".exitCodes"); ok && e.Type == field.Required && f.rules[prefix+rule] {
			continue // its condition is there, but has a mistake of its own
		}
		if e.Type == field.TooMany {
			e.Value, e.Detail = nil, fmt.Sprintf("has %v items, %s", e.Value, e.Detail)
		}
		f.add(prefix+e.Field, e.Value, e.Detail)
	}
}
