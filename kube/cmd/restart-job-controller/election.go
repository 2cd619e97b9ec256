package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// errLeaseLost says that the Lease was not renewed in time or was taken by another.
var errLeaseLost = errors.New("the Lease was lost")

// election lets one process at a time work. Unlike client-go's ReleaseOnCancel it
// releases the Lease only after the work has ended, so that a leader's last requests
// cannot overlap with the next leader's first.
type election struct {
	lock                            resourcelock.Interface
	duration, renewDeadline, period time.Duration
	watchDog                        *leaderelection.HealthzAdaptor

	mu     sync.Mutex
	state  electionState
	leader string // last leader seen; "" for none
}

type electionState int

const (
	standing electionState = iota // as a candidate
	working
	over // no work may begin
)

func newElection(lock resourcelock.Interface, duration, renewDeadline, period time.Duration) *election {
	return &election{
		lock: lock, duration: duration, renewDeadline: renewDeadline, period: period,
		watchDog: leaderelection.NewLeaderHealthzAdaptor(duration),
	}
}

// run waits for the Lease, works until ctx is done, and releases the Lease once the
// work has ended. It returns the error of work, or errLeaseLost. After errLeaseLost the
// work's context is done, but the work may still be running while another replica
// leads, so the caller must end the process at once.
func (e *election) run(ctx context.Context, work func(context.Context) error) error {
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	type outcome struct {
		err  error
		lost bool
	}
	worked := make(chan outcome, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e.lock, LeaseDuration: e.duration, RenewDeadline: e.renewDeadline, RetryPeriod: e.period,
		WatchDog: e.watchDog, Name: e.lock.Describe(),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				if !e.enter(working) {
					return
				}
				defer stop()
				working, end := context.WithCancel(leading)
				defer end()
				defer context.AfterFunc(ctx, end)()
				err := work(working)
				worked <- outcome{err, leading.Err() != nil && electing.Err() == nil}
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      e.setLeader,
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	e.watchDog.SetLeaderElection(elector)
	defer context.AfterFunc(ctx, func() {
		if e.enter(over) { // no work is left to stop the election
			stop()
		}
	})()
	elector.Run(electing)
	if electing.Err() == nil { // the election ended by itself
		e.enter(over)
		return errLeaseLost
	}
	var end outcome
	if !e.enter(over) {
		end = <-worked
	}
	switch {
	case end.lost:
		return errors.Join(errLeaseLost, end.err)
	case elector.IsLeader():
		e.release(context.WithoutCancel(ctx))
	}
	return end.err
}

// enter changes the state from standing to s. It reports whether the state is now s.
func (e *election) enter(s electionState) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == standing {
		e.state = s
	}
	return e.state == s
}

// release releases the Lease if this process still holds it, so that another replica
// need not wait for its expiry.
func (e *election) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, e.renewDeadline)
	defer cancel()
	logger := klog.FromContext(ctx)
	record, _, err := e.lock.Get(ctx)
	if err == nil && record.HolderIdentity != e.lock.Identity() {
		return
	}
	if err == nil {
		now := metav1.Now()
		err = e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions:    record.LeaderTransitions,
			LeaseDurationSeconds: 1,
			AcquireTime:          now,
			RenewTime:            now,
		})
	}
	if err != nil {
		logger.Error(err, "cannot give up the Lease, which will expire", "lease", e.lock.Describe(), "after", e.duration)
		return
	}
	logger.Info("gave up the Lease", "lease", e.lock.Describe())
}

func (e *election) setLeader(identity string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leader = identity
}

// standsBy reports whether another process is known to lead.
func (e *election) standsBy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leader != "" && e.leader != e.lock.Identity()
}

// healthy returns an error if this process holds a Lease long overdue for renewal or
// release.
func (e *election) healthy() error { return e.watchDog.Check(nil) }
