// Package interrupt tells of the signals that ask a program to end.
package interrupt

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Same is how close together two signals are one: whoever signals a process and
// then its group, as timeout(1) does, means it once.
const Same = 50 * time.Millisecond

// Notify returns a channel with the signals as they come, but for those that are
// the same as the one before. SIGHUP does not count where it is ignored, as under
// nohup.
func Notify(signals ...os.Signal) <-chan os.Signal {
	all, told := make(chan os.Signal, 8), make(chan os.Signal, 8)
	for _, sig := range signals {
		if sig != syscall.SIGHUP || !signal.Ignored(sig) {
			signal.Notify(all, sig)
		}
	}
	go func() {
		var last time.Time
		for sig := range all {
			if now := time.Now(); now.Sub(last) > Same {
				last = now
				told <- sig
			}
		}
	}()
	return told
}
