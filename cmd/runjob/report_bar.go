package main

import (
	"fmt"
	"io"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// barDelay is the time for which changes are gathered before the bar is drawn.
const barDelay = 50 * time.Millisecond

// progress draws the bar after barDelay.
func (r *report) progress(s batch.JobStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bar != nil && r.next == nil {
		time.AfterFunc(barDelay, r.draw)
	}
	r.next = &s
}

// draw draws the bar.
func (r *report) draw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.next
	r.next = nil
	if r.bar == nil {
		return
	}
	failed, _ := s.FailedIndexSet()
	r.bar.counts = fmt.Sprintf("%d active, %d succeeded, %d failed", s.Active, s.Succeeded, max(r.failed, int(s.Failed)))
	r.bar.done = int(s.Succeeded) + failed.Len()
	_, _ = io.WriteString(r.out, r.bar.erase()+r.bar.draw())
}

// finish removes the bar.
func (r *report) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bar != nil {
		_, _ = io.WriteString(r.out, r.bar.erase())
		r.bar = nil
	}
}
