package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/policyfile"
)

// A policyFile is the file of -restart.
type policyFile struct {
	policyfile.Node
	Limit      *int32             `json:"limit"`
	Window     *document.Duration `json:"window"`
	Containers []policyFields     `json:"containers"`
}

// policyFields are the fields of an element of containers.
type policyFields struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Name      string `json:"name"`
	policyfile.Container
}

// A policy determines which containers are restarted, and when.
type policy struct {
	policyfile.Settings
	resolution backoff.ResolvedConfig
	limit      int           // restarts of a container within window; 0 for no limit
	window     time.Duration // 0 for ever
	entries    []policyEntry
}

// A policyEntry applies to the containers whose names match its patterns.
type policyEntry struct {
	namespace, pod, name string // patterns of path.Match; empty matches all
	container            backoff.ExitPolicy
	curve                *backoff.Policy // nil for the node's
}

// of returns the first entry that matches a container, or nil to leave it alone.
func (p *policy) of(k key) *policyEntry {
	i := slices.IndexFunc(p.entries, func(e policyEntry) bool {
		return matches(e.namespace, k.Namespace) && matches(e.pod, k.Pod) && matches(e.name, k.Name)
	})
	if i < 0 {
		return nil
	}
	return &p.entries[i]
}

func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok || pattern == ""
}

// curveOf returns the curve of a container.
func (p *policy) curveOf(k key, _ backoff.Exit) backoff.Policy {
	if e := p.of(k); e != nil && e.curve != nil {
		return *e.curve
	}
	return p.resolution.Policy
}

// readPolicy returns the policy of a file and its warnings. The error names every
// mistake.
func readPolicy(name string) (p *policy, warnings []string, err error) {
	p = &policy{}
	warnings, err = policyfile.ReadFile(name, "nothing was restarted", p.read)
	if errors.Is(err, document.ErrEmpty) {
		err = fmt.Errorf("%w; {} restarts every container always", err)
	}
	if err == nil {
		p.resolution, err = p.Config.Resolve()
	}
	if err == nil {
		for i, e := range p.entries {
			curve := p.resolution.Policy
			if e.curve != nil {
				curve = *e.curve
			}
			warnings = append(warnings, policyfile.Lint(fmt.Sprintf("containers[%d]", i), e.container, curve)...)
		}
	}
	return p, warnings, err
}

// read reads a document.
func (p *policy) read(whole *document.Node) (*policyfile.Findings, error) {
	var file policyFile
	found, err := policyfile.Decode(whole, "containers", &file)
	if err != nil {
		return found, err
	}
	p.Settings = file.Node.Read(found)
	if file.Limit != nil {
		if p.limit = int(*file.Limit); p.limit < 1 {
			found.Add("limit", p.limit, "must be at least 1")
		}
	}
	if file.Window != nil {
		switch p.window = time.Duration(*file.Window); {
		case p.window <= 0:
			found.Add("window", p.window, "must be above 0")
		case file.Limit == nil:
			found.Add("window", p.window, "has no effect without limit")
		}
	}
	for i := range file.Containers {
		p.entries = append(p.entries, file.Containers[i].read(fmt.Sprintf("containers[%d]", i), found))
	}
	if file.Containers == nil {
		p.entries = []policyEntry{{}} // restart all containers, always
	}
	return found, nil
}

func (f *policyFields) read(at string, found *policyfile.Findings) policyEntry {
	for _, p := range []struct{ field, pattern string }{{"namespace", f.Namespace}, {"pod", f.Pod}, {"name", f.Name}} {
		if _, err := path.Match(p.pattern, ""); err != nil {
			found.Add(at+"."+p.field, p.pattern, "must be a pattern such as web-*: a [ has no ], or a \\ ends it")
		}
	}
	e := policyEntry{namespace: f.Namespace, pod: f.Pod, name: f.Name}
	e.container, e.curve = f.Container.Read(at, found)
	for i, rule := range e.container.Rules {
		if rule.Action == backoff.ActionRestartAll {
			found.Add(fmt.Sprintf("%s.restartPolicyRules[%d].action", at, i), string(rule.Action), "must be Restart or GiveUp: a pod's init containers would run again first, and a runtime does not tell which these are")
		}
	}
	return e
}
