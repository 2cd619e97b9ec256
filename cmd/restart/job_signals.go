package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameSignal is the time within which signals count as one. timeout(1) signals a process
// and then its group, and means one signal.
const sameSignal = 50 * time.Millisecond

// notifySignals returns a channel of the signals that end a program. SIGHUP is not among
// them if it is ignored, as under nohup, and a SIGPIPE only as the first one: it comes
// again with each line that nobody reads.
func notifySignals() <-chan os.Signal {
	all, distinct := make(chan os.Signal, 8), make(chan os.Signal, 8)
	signal.Notify(all, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(all, syscall.SIGHUP)
	}
	go func() {
		var last time.Time
		for s := range all {
			now := time.Now()
			if now.Sub(last) < sameSignal || s == syscall.SIGPIPE && !last.IsZero() {
				continue
			}
			last = now
			distinct <- s
		}
	}()
	return distinct
}
