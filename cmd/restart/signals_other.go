//go:build !unix

package main

import (
	"os"
	"syscall"
)

var (
	passedSignals   = []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	endingSignals   = passedSignals
	terminalSignals = passedSignals[:1]
)
