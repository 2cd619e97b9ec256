package main

import (
	"slices"
	"time"

	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// history holds the exits of a pod's processes in an earlier run, by container, in
// order.
type history map[string][]exit

// over reports whether all containers but the sidecars had ended for good, and when.
func (h history) over(spec *batch.PodSpec) (over bool, at time.Time) {
	never := spec.RestartPolicy == batch.RestartPolicyNever
	last := func(container string) (e exit, done bool) {
		all := h[container]
		if len(all) == 0 {
			return exit{}, false
		}
		e = all[len(all)-1]
		return e, never || e.Code == 0
	}
	for _, c := range spec.InitContainers {
		if e, done := last(c.Name); done && e.Code != 0 && c.RestartPolicy != batch.RestartPolicyAlways {
			return true, e.At
		}
	}
	for _, c := range spec.Containers {
		e, done := last(c.Name)
		if !done {
			return false, time.Time{}
		}
		if e.At.After(at) {
			at = e.At
		}
	}
	return true, at
}

// withoutSignalled leaves out processes that exited after a signal of their own run.
func (h history) withoutSignalled() history {
	kept := make(history, len(h))
	for container, exits := range h {
		kept[container] = slices.DeleteFunc(slices.Clone(exits), func(e exit) bool { return e.Stopped })
	}
	return kept
}

// histories returns the recorded history of every pod, by UID. A container's exits
// begin with its first process and have no gap.
func histories(records []process.Record) map[string]history {
	all := make(map[string]history)
	slices.SortStableFunc(records, func(a, b process.Record) int { return a.Run - b.Run })
	for _, r := range records {
		h := all[r.Owner]
		if h == nil {
			h = make(history)
			all[r.Owner] = h
		}
		if r.Run == len(h[r.Name]) {
			h[r.Name] = append(h[r.Name], r)
		}
	}
	return all
}

// records returns the history as records of the pod.
func (h history) records(uid string) (all []process.Record) {
	for name, exits := range h {
		for i, e := range exits {
			e.RecordKey = process.RecordKey{Owner: uid, Name: name, Run: i}
			all = append(all, e)
		}
	}
	return all
}

// exit is the exit of a process, in this run or an earlier one.
type exit = process.Record

func exitOf(p *process.Process) exit {
	e := p.Wait()
	return exit{Code: e.Code, Signal: int(e.Signal), Began: p.Began, At: e.At}
}
