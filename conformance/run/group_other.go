//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// group is a program alone, where process groups do not exist.
type group struct{ process *os.Process }

func (g *group) prepare(*exec.Cmd) {}

func (g *group) started(cmd *exec.Cmd) { g.process = cmd.Process }

func (g *group) kill() { _ = g.process.Kill() }
