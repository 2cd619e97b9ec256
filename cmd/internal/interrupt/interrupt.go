// Package interrupt receives the signals that ask a program to end.
package interrupt

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Same is the time within which two signals count as one: timeout(1) signals a process
// and then its group, and means it once.
const Same = 50 * time.Millisecond

// Notify returns a channel of the signals that arrive, without those within Same of the
// last one that was passed on. It leaves out SIGHUP where that is ignored, as under nohup.
func Notify(signals ...os.Signal) <-chan os.Signal {
	all, distinct := make(chan os.Signal, 8), make(chan os.Signal, 8)
	for _, sig := range signals {
		if sig != syscall.SIGHUP || !signal.Ignored(sig) {
			signal.Notify(all, sig)
		}
	}
	go passOn(all, distinct)
	return distinct
}

// passOn passes signals on, without those within Same of the last one that it passed on.
func passOn(all <-chan os.Signal, distinct chan<- os.Signal) {
	var last time.Time
	for sig := range all {
		if now := time.Now(); now.Sub(last) > Same {
			last = now
			distinct <- sig
		}
	}
}
