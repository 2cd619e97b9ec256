//go:build unix

package screen

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyResized makes a channel receive something when the size of the terminal changes.
func notifyResized(to chan<- os.Signal) { signal.Notify(to, syscall.SIGWINCH) }
