// Package interrupt receives signals that end a program.
package interrupt

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Same is the time within which signals count as one. timeout(1) signals a process and
// then its group, but means one signal.
const Same = 50 * time.Millisecond

// Notify returns a channel of the signals, except those within Same after the previous
// one. It skips an ignored SIGHUP, as under nohup.
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

// passOn forwards signals, except those within Same after the last forwarded one.
func passOn(all <-chan os.Signal, distinct chan<- os.Signal) {
	var last time.Time
	for sig := range all {
		if now := time.Now(); now.Sub(last) > Same {
			last = now
			distinct <- sig
		}
	}
}
