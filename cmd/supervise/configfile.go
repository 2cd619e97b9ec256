package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/policyfile"
)

// configFile is the file given with -f.
type configFile struct {
	policyfile.Node
	Grace    *document.Duration `json:"grace"`
	Commands []commandFields    `json:"commands"`
}

// commandFields are the fields of a container, and a curve.
type commandFields struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	WorkingDir string `json:"workingDir"`
	policyfile.Container
}

// readFile adds the settings of a file. It returns warnings, and an error that lists
// every mistake.
func (c *config) readFile(name string) (warnings []string, err error) {
	return policyfile.ReadFile(name, "nothing was started", c.read)
}

// read adds the settings of a document.
func (c *config) read(whole *document.Node) (*policyfile.Findings, error) {
	var file configFile
	found, err := policyfile.Decode(whole, "commands", &file)
	if err != nil {
		return found, err
	}
	s := file.Node.Read(found)
	c.node, c.called, c.rate, c.burst = s.Config, s.Called, s.Rate, s.Burst
	if grace := file.Grace; grace != nil {
		c.grace = time.Duration(*grace)
		if c.grace < 0 {
			found.Add("grace", c.grace, "must not be below 0")
		}
	}
	names := make(map[string]bool)
	for i := range file.Commands {
		c.readCommand(&file.Commands[i], fmt.Sprintf("commands[%d]", i), names, found)
	}
	return found, nil
}

// readCommand reads one element of commands. names holds the names of earlier elements.
func (c *config) readCommand(from *commandFields, path string, names map[string]bool, found *policyfile.Findings) {
	cmd := command{name: from.Name, args: slices.Concat(from.Command, from.Args), dir: from.WorkingDir}
	switch {
	case !validName(cmd.name):
		found.Add(path+".name", cmd.name, fmt.Sprintf("must be 1 to %d letters, digits, hyphens, dots and underscores", longestName))
	case names[cmd.name]:
		found.Add(path+".name", cmd.name, "already the name of another command")
	}
	names[cmd.name] = true
	if len(from.Command) == 0 {
		found.Add(path+".command", nil, "must name a program")
	} else if from.Command[0] == "" {
		found.Add(path+".command[0]", nil, "must name a program")
	}
	for i, v := range from.Env {
		if v.Name == "" || strings.Contains(v.Name, "=") {
			found.Add(fmt.Sprintf("%s.env[%d].name", path, i), v.Name, "must be the name of a variable")
		}
		cmd.env = append(cmd.env, v.Name+"="+v.Value)
	}
	cmd.policy, cmd.curve = from.Container.Read(path, found)
	c.commands = append(c.commands, cmd)
}
