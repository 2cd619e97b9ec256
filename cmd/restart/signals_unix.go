//go:build unix

package main

import (
	"os"
	"syscall"
)

// The signals that retry passes on, those that end it, and those of the keys of a terminal.
var (
	passedSignals   = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
	endingSignals   = passedSignals[:4]
	terminalSignals = []os.Signal{syscall.SIGINT, syscall.SIGQUIT}
)
