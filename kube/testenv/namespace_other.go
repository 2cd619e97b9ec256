//go:build !linux

package testenv

import "syscall"

// A node needs Linux, so nothing calls ownNamespaces elsewhere.
func ownNamespaces() *syscall.SysProcAttr { return nil }
