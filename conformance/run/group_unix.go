//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// group is the process group of a program, to which its children belong.
type group struct{ id int }

func (g *group) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (g *group) started(cmd *exec.Cmd) { g.id = cmd.Process.Pid }

func (g *group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }
