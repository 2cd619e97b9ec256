//go:build !linux

package testenv

import (
	"os"
	"syscall"
)

// A node needs Linux, so nothing calls ownNamespaces elsewhere.
func ownNamespaces(*os.File) *syscall.SysProcAttr { return nil }
