//go:build unix

package jobrun

import (
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// The numbers of SIGRTMIN, as the C library of Linux defines it, and SIGRTMAX.
const (
	firstRealTime = 34
	lastRealTime  = 64
)

// stopSignal returns the signal that ends a container: its lifecycle.stopSignal, or
// SIGTERM. It is 0 if this machine does not have that signal.
func stopSignal(c *corev1.Container) syscall.Signal {
	if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return syscall.SIGTERM
	}
	name := string(*c.Lifecycle.StopSignal)
	if offset, ok := strings.CutPrefix(name, "SIGRTMIN"); ok {
		n, err := strconv.Atoi("0" + strings.TrimPrefix(offset, "+"))
		if err != nil || firstRealTime+n > lastRealTime {
			return 0
		}
		return syscall.Signal(firstRealTime + n)
	}
	return unix.SignalNum(name)
}
