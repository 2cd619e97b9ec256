package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/document"
)

// read adds what a document says. The kubelet's fields and feature gates are read
// as the kubelet spells them and as KEP-4603 does.
func (c *config) read(whole any) *findings {
	found := new(findings)
	if _, ok := whole.(map[string]any); !ok {
		value{found: found}.wrong("must be an object, with commands for example")
		return found
	}
	var maximum *value // where the node's is given
	setMax := func(v value, d time.Duration) {
		if maximum != nil {
			v.wrong("the maximum is given as %s too", maximum.path)
		}
		maximum, c.node.Max = &v, &d
	}
	c.node.AllowMax = true // as in kubelets from 1.35 on
	value{v: whole, found: found}.object(map[string]func(value){
		"apiVersion":   func(v value) { v.text() },
		"kind":         func(v value) { v.text() },
		"featureGates": c.readGates,
		"crashLoopBackOff": func(v value) {
			v.object(map[string]func(value){"maxContainerRestartPeriod": func(v value) {
				if d, ok := v.duration(); ok {
					setMax(v, d)
				}
			}})
		},
		"crashloopbackoff": func(v value) {
			v.object(map[string]func(value){"maxSeconds": func(v value) {
				if n, ok := v.integer(); ok {
					setMax(v, time.Duration(n)*time.Second)
				}
			}})
		},
		"rate":     func(v value) { c.rate = v.positive() },
		"burst":    func(v value) { c.burst = v.atLeast(1) },
		"grace":    func(v value) { c.grace = v.notNegative() },
		"commands": func(v value) { v.each(c.readCommand) },
	})
	if maximum != nil && c.node.AllowMax && !inRange(*c.node.Max) {
		maximum.wrong("is %v, must be in [1s, 300s]", *c.node.Max)
	}
	return found
}

func (c *config) readGates(v value) {
	reduce := func(v value) { c.node.ReduceDefault, _ = v.boolean() }
	allow := func(v value) { c.node.AllowMax, _ = v.boolean() }
	v.object(map[string]func(value){
		"ReduceDefaultCrashLoopBackOffDecay": reduce,
		"ReduceDefaultCrashLoopBackoffDecay": reduce,
		"KubeletCrashLoopBackOffMax":         allow,
		"EnableKubeletCrashLoopBackoffMax":   allow,
	})
}

// readCommand reads an element of commands; its fields are those of a container.
func (c *config) readCommand(v value) {
	var cmd command
	var program, args []string
	v.object(map[string]func(value){
		"name":               func(v value) { cmd.name, _ = v.text() },
		"command":            func(v value) { program = v.texts() },
		"args":               func(v value) { args = v.texts() },
		"env":                func(v value) { v.each(cmd.readVariable) },
		"workingDir":         func(v value) { cmd.dir, _ = v.text() },
		"restartPolicy":      func(v value) { s, _ := v.text(); cmd.policy.RestartPolicy = backoff.RestartPolicy(s) },
		"restartPolicyRules": func(v value) { v.each(cmd.readRule) },
		"curve":              cmd.readCurve,
	})
	switch name := v.field("name"); {
	case !validName(cmd.name):
		name.invalid("is %q, must be 1 to %d letters, digits, hyphens, dots and underscores", cmd.name, longestName)
	case slices.ContainsFunc(c.commands, func(other command) bool { return other.name == cmd.name }):
		name.wrong("is %q, which another command has too", cmd.name)
	}
	if len(program) == 0 || program[0] == "" {
		v.field("command").invalid("must name a program")
	}
	v.invalidFields(cmd.policy.Validate())
	cmd.args = slices.Concat(program, args)
	c.commands = append(c.commands, cmd)
}

func (c *command) readVariable(v value) {
	var name, text string
	v.object(map[string]func(value){
		"name":  func(v value) { name, _ = v.text() },
		"value": func(v value) { text, _ = v.text() },
	})
	if name == "" || strings.Contains(name, "=") {
		v.field("name").invalid("is %q, must be the name of a variable", name)
	}
	c.env = append(c.env, name+"="+text)
}

func (c *command) readRule(v value) {
	var r backoff.Rule
	v.object(map[string]func(value){
		"action": func(v value) { s, _ := v.text(); r.Action = backoff.Action(s) },
		"exitCodes": func(v value) {
			r.ExitCodes = new(backoff.ExitCodes)
			v.object(map[string]func(value){
				"operator": func(v value) { s, _ := v.text(); r.ExitCodes.Operator = backoff.Operator(s) },
				"values": func(v value) {
					v.each(func(v value) {
						n, _ := v.integer()
						r.ExitCodes.Values = append(r.ExitCodes.Values, n)
					})
				},
			})
		},
	})
	c.policy.Rules = append(c.policy.Rules, r)
}

// readCurve reads a curve of the command's own. A run of ten minutes starts it
// over unless it says otherwise, as everywhere in a kubelet.
func (c *command) readCurve(v value) {
	p := backoff.Policy{ResetAfter: backoff.CrashLoop().ResetAfter}
	v.object(map[string]func(value){
		"initial":    func(v value) { p.Initial, _ = v.duration() },
		"max":        func(v value) { p.Max, _ = v.duration() },
		"resetAfter": func(v value) { p.ResetAfter, _ = v.duration() },
		"factor":     func(v value) { p.Factor, _ = v.number() },
		"jitter":     func(v value) { p.Jitter, _ = v.number() },
		"free":       func(v value) { n, _ := v.integer(); p.Free = int(n) },
	})
	v.invalidFields(p.Validate())
	c.curve = &p
}

// invalidFields reports the parts of a validation's error, each of which begins,
// after the name of the function that found it, with the path of a field.
func (v value) invalidFields(err error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return
	}
	for _, err := range joined.Unwrap() {
		_, text, _ := strings.Cut(err.Error(), "(): ")
		path, reason, _ := strings.Cut(text, " ")
		v.field(strings.ToLower(path[:1])+path[1:]).invalid("%s", reason)
	}
}

func (v value) positive() float64 {
	n, ok := v.number()
	if ok && !(n > 0 && n <= math.MaxFloat64) {
		v.wrong("is %v, must be above 0", v.v)
	}
	return n
}

func (v value) atLeast(least int) int {
	n, ok := v.integer()
	if ok && int(n) < least {
		v.wrong("is %d, must be at least %d", n, least)
	}
	return int(n)
}

func (v value) notNegative() time.Duration {
	d, ok := v.duration()
	if ok && d < 0 {
		v.wrong("is %v, must not be below 0", d)
	}
	return d
}

// readFile adds what a file says. It returns warnings, or an error that names
// everything that is wrong.
func (c *config) readFile(file string) ([]string, error) {
	whole, err := document.Read(file)
	if err != nil {
		if errors.As(err, new(*fs.PathError)) {
			return nil, err // it names the file
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	found := c.read(whole)
	for i := range found.warnings {
		found.warnings[i] = file + ": " + found.warnings[i]
	}
	if len(found.errs) > 0 {
		lines := []string{file + ": nothing was started:"}
		for _, m := range found.errs {
			lines = append(lines, m.String())
		}
		return found.warnings, errors.New(strings.Join(lines, "\n  "))
	}
	return found.warnings, nil
}
