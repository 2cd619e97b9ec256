package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/document"
	"github.com/restartkit/restart/examples/internal/terminal"
)

// configFile is the file of -f. The kubelet's fields and feature gates are read as
// the kubelet spells them and as KEP-4603 does.
type configFile struct {
	APIVersion   string `json:"apiVersion"`
	Kind         string `json:"kind"`
	FeatureGates struct {
		Reduce    *bool `json:"ReduceDefaultCrashLoopBackOffDecay"`
		ReduceKEP *bool `json:"ReduceDefaultCrashLoopBackoffDecay"`
		Max       *bool `json:"KubeletCrashLoopBackOffMax"`
		MaxKEP    *bool `json:"EnableKubeletCrashLoopBackoffMax"`
	} `json:"featureGates"`
	CrashLoopBackOff struct {
		Max *document.Duration `json:"maxContainerRestartPeriod"`
	} `json:"crashLoopBackOff"`
	CrashLoopBackOffKEP struct {
		MaxSeconds *int32 `json:"maxSeconds"`
	} `json:"crashloopbackoff"`
	Rate     *float64           `json:"rate"`
	Burst    *int32             `json:"burst"`
	Grace    *document.Duration `json:"grace"`
	Commands []commandFields    `json:"commands"`
}

// commandFields are those of a container, and a curve.
type commandFields struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	WorkingDir string `json:"workingDir"`
	backoff.ContainerPolicy
	Curve *struct {
		Initial    document.Duration  `json:"initial"`
		Max        document.Duration  `json:"max"`
		ResetAfter *document.Duration `json:"resetAfter"`
		Factor     float64            `json:"factor"`
		Jitter     float64            `json:"jitter"`
		Free       int32              `json:"free"`
	} `json:"curve"`
}

// findings are the mistakes and warnings of a document.
type findings struct {
	whole    *document.Node
	mistakes []document.Mistake
	at       document.Paths  // of the mistakes
	names    map[string]bool // of commands
	warnings []document.Mistake
}

// add adds a mistake, unless the value has one already.
func (f *findings) add(path string, value any, detail string) {
	if !f.at.Cover(path) {
		f.mistakes = append(f.mistakes, document.Mistake{Path: path, Line: f.whole.LineOf(path), Value: value, Detail: detail})
		f.at[path] = true
	}
}

// addAll adds the FieldErrors of a validation of what is at path. The file spells
// a curve's fields like the Go names, with a small letter first.
func (f *findings) addAll(path string, err error) {
	var errs backoff.FieldErrors
	errors.As(err, &errs)
	for _, e := range errs {
		if e.Type == backoff.ErrorTypeTooMany {
			e.Value, e.Detail = nil, fmt.Sprintf("has %v items, %s", e.Value, e.Detail)
		}
		f.add(path+"."+strings.ToLower(e.Field[:1])+e.Field[1:], e.Value, e.Detail)
	}
}

// readFile adds the settings of a file. It returns warnings, and an error that names
// every mistake.
func (c *config) readFile(name string) (warnings []string, err error) {
	var found findings
	whole, err := document.Read(name)
	if err == nil {
		found, err = c.read(whole)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", terminal.Escape(document.NameOf(name)), err)
	}
	for _, m := range found.warnings {
		warnings = append(warnings, terminal.Escape(document.NameOf(name)+": "+m.String()+", dropped"))
	}
	if len(found.mistakes) > 0 {
		slices.SortStableFunc(found.mistakes, func(a, b document.Mistake) int { return a.Line - b.Line })
		lines := []string{terminal.Escape(document.NameOf(name)) + ": nothing was started:"}
		reported := min(len(found.mistakes), document.MaxReported)
		for _, m := range found.mistakes[:reported] {
			lines = append(lines, terminal.Escape(m.String()))
		}
		if omitted := len(found.mistakes) - reported; omitted > 0 {
			lines = append(lines, fmt.Sprintf("and %d more", omitted))
		}
		err = errors.New(strings.Join(lines, "\n  "))
	}
	return warnings, err
}

// read adds the settings of a document.
func (c *config) read(whole *document.Node) (found findings, err error) {
	found.whole, found.at, found.names = whole, make(document.Paths), make(map[string]bool)
	fitted, mistakes := document.Fit(whole, document.TypeFor[configFile]())
	for _, m := range mistakes {
		if m.Fault == document.Unknown && kubelets(whole, m.Path) {
			found.warnings = append(found.warnings, m)
		} else {
			found.mistakes = append(found.mistakes, m)
			found.at[m.Path] = true
		}
	}
	var file configFile
	text, err := json.Marshal(fitted)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return found, err
	}
	c.readNode(&file, &found)
	if rate := file.Rate; rate != nil {
		c.rate = *rate
		if !(c.rate > 0 && c.rate <= math.MaxFloat64) {
			found.add("rate", c.rate, "must be above 0")
		}
	}
	if burst := file.Burst; burst != nil {
		c.burst = int(*burst)
		if c.burst < 1 {
			found.add("burst", c.burst, "must be at least 1")
		}
	}
	if grace := file.Grace; grace != nil {
		c.grace = time.Duration(*grace)
		if c.grace < 0 {
			found.add("grace", c.grace, "must not be below 0")
		}
	}
	for i := range file.Commands {
		c.readCommand(&file.Commands[i], fmt.Sprintf("commands[%d]", i), &found)
	}
	return found, nil
}

// kubelets reports whether an unknown field may be one of the kubelet's: the document
// is a KubeletConfiguration, and the field is not in commands, which only supervise
// reads.
func kubelets(whole *document.Node, path string) bool {
	return whole.Field("kind").Text() == "KubeletConfiguration" && !strings.HasPrefix(path, "commands[")
}

// readNode reads what decides the node's curve.
func (c *config) readNode(file *configFile, found *findings) {
	c.node.AllowMax = true // as in kubelets from 1.35 on
	c.called = make(map[string]string)
	for _, gate := range []struct {
		given, to     *bool
		setting, name string
	}{
		{file.FeatureGates.Reduce, &c.node.ReduceDefault, settingReduce, "featureGates.ReduceDefaultCrashLoopBackOffDecay"},
		{file.FeatureGates.ReduceKEP, &c.node.ReduceDefault, settingReduce, "featureGates.ReduceDefaultCrashLoopBackoffDecay"},
		{file.FeatureGates.MaxKEP, &c.node.AllowMax, settingGate, "EnableKubeletCrashLoopBackoffMax"},
		{file.FeatureGates.Max, &c.node.AllowMax, settingGate, "KubeletCrashLoopBackOffMax"},
	} {
		if gate.given != nil {
			*gate.to, c.called[gate.setting] = *gate.given, gate.name
		}
	}
	const path, pathKEP = "crashLoopBackOff.maxContainerRestartPeriod", "crashloopbackoff.maxSeconds"
	limit, seconds, at := (*time.Duration)(file.CrashLoopBackOff.Max), file.CrashLoopBackOffKEP.MaxSeconds, path
	if seconds != nil {
		if limit != nil {
			found.add(pathKEP, nil, "the maximum is given as "+path+" too")
		}
		d := time.Duration(*seconds) * time.Second
		limit, at = &d, pathKEP
	}
	c.node.Max, c.called[settingMax] = limit, at
	if limit != nil && c.node.AllowMax && !inRange(*limit) {
		found.add(at, *limit, "must be in [1s, 300s]")
	}
}

// readCommand reads an element of commands.
func (c *config) readCommand(from *commandFields, path string, found *findings) {
	cmd := command{name: from.Name, args: slices.Concat(from.Command, from.Args), dir: from.WorkingDir, policy: from.ContainerPolicy}
	switch {
	case !validName(cmd.name):
		found.add(path+".name", cmd.name, fmt.Sprintf("must be 1 to %d letters, digits, hyphens, dots and underscores", longestName))
	case found.names[cmd.name]:
		found.add(path+".name", cmd.name, "which another command has too")
	}
	found.names[cmd.name] = true
	if len(from.Command) == 0 {
		found.add(path+".command", nil, "must name a program")
	} else if from.Command[0] == "" {
		found.add(path+".command[0]", nil, "must name a program")
	}
	for i, v := range from.Env {
		if v.Name == "" || strings.Contains(v.Name, "=") {
			found.add(fmt.Sprintf("%s.env[%d].name", path, i), v.Name, "must be the name of a variable")
		}
		cmd.env = append(cmd.env, v.Name+"="+v.Value)
	}
	found.addAll(path, cmd.policy.Validate())
	if curve := from.Curve; curve != nil {
		cmd.curve = &backoff.Policy{
			Initial:    time.Duration(curve.Initial),
			Max:        time.Duration(curve.Max),
			ResetAfter: backoff.CrashLoop().ResetAfter, // unless it says otherwise, as everywhere in a kubelet
			Factor:     curve.Factor,
			Jitter:     curve.Jitter,
			Free:       int(curve.Free),
		}
		if curve.ResetAfter != nil {
			cmd.curve.ResetAfter = time.Duration(*curve.ResetAfter)
		}
		found.addAll(path+".curve", cmd.curve.Validate())
	}
	c.commands = append(c.commands, cmd)
}
