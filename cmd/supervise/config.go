package main

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

// config lists the commands to keep running, with their settings.
type config struct {
	commands []command
	node     backoff.CrashLoopConfig // decides the curve of commands without one
	rate     float64                 // restarts per second over all commands; 0 means no ceiling
	burst    int                     // restarts allowed at once; 0 means 1
	grace    time.Duration           // between SIGTERM and SIGKILL
	called   map[string]string       // names of the node's settings as in the flags or the file
}

// command is one command to keep running.
type command struct {
	name   string
	args   []string // the program and its arguments
	env    []string // NAME=VALUE, added to this program's environment
	dir    string
	policy backoff.ExitPolicy
	curve  *backoff.Policy // nil means the node's
}

// curveIn returns the command's curve on a node.
func (c *command) curveIn(node backoff.ResolvedConfig) backoff.Policy {
	if c.curve != nil {
		return *c.curve
	}
	return node.Policy
}

const defaultGrace = 30 * time.Second

// longestName keeps the table narrow. Container names have the same limit.
const longestName = 63

// validName reports whether a name fits into the table and the prefix of an output
// line.
func validName(name string) bool {
	return name != "" && len(name) <= longestName && strings.IndexFunc(name, func(r rune) bool { return !nameRune(r) }) < 0
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
}

// nameOf derives a name from a command's program.
func nameOf(args []string) string {
	name := strings.Map(func(r rune) rune {
		if nameRune(r) {
			return r
		}
		return '-'
	}, filepath.Base(args[0]))
	return name[:min(len(name), longestName)]
}
