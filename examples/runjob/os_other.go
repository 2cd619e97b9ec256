//go:build !linux

package main

import "syscall"

// dieWithParent does nothing: only Linux can.
func dieWithParent(a *syscall.SysProcAttr) *syscall.SysProcAttr { return a }

// adoptOrphans does nothing: process 1 has to reap them.
func adoptOrphans() {}
