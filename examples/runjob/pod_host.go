package main

import (
	"sync"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/process"
	"github.com/restartkit/restart/jobpolicy"
)

// host is what the pods of this machine share.
type host struct {
	children *process.Children
	output   *output
	store    *store   // nil: nothing outlives this program
	machine  []string // environment of every process
	sources  envSources
	config   config
	restarts *backoff.Restarter[string] // of containers inside a pod
	publish  func(uid string, status *jobpolicy.PodStatus)
	event    func(pod, format string, args ...any) // something a person may want to know
	again    func(pod, container string, restart int, e exit, delay time.Duration)
	shortage sync.Once // the first time that a process has to wait is told
}
