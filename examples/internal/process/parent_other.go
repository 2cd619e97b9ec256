//go:build !linux

package process

import "syscall"

// DieWithParent does nothing: only Linux can.
func DieWithParent(a *syscall.SysProcAttr) *syscall.SysProcAttr { return a }

// adoptOrphans does nothing: process 1 has to reap them.
func adoptOrphans() {}
