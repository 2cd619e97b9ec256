package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/internal/rapidseed"
)

// leases simulates an API server with one Lease, which may be unreachable for a
// replica.
type leases struct {
	down sync.Map // of identities

	mu      sync.Mutex
	record  resourcelock.LeaderElectionRecord
	version int // 0: there is no Lease
}

func (l *leases) election(identity string) *election {
	return newElection(&lock{leases: l, identity: identity}, 15*time.Second, 10*time.Second, 2*time.Second)
}

func (l *leases) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.HolderIdentity
}

// lock is a replica's view of the Lease.
type lock struct {
	leases   *leases
	identity string
	version  int // that it has read or written
}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	s := l.leases
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, down := s.down.Load(l.identity); down {
		return nil, nil, errors.New("out of reach")
	}
	if s.version == 0 {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "lease")
	}
	l.version = s.version
	record := s.record
	text, err := json.Marshal(record)
	return &record, text, err
}

// Create makes the Lease unless it exists.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.version = 0
	return l.Update(ctx, record)
}

// Update writes the Lease unless another replica has written it since it was read.
func (l *lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	s := l.leases
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, down := s.down.Load(l.identity); down {
		return errors.New("out of reach")
	}
	if l.version != s.version {
		return errors.New("it was written by another")
	}
	s.record = record
	s.version++
	l.version = s.version
	return nil
}

func (l *lock) RecordEvent(string) {}
func (l *lock) Identity() string   { return l.identity }
func (l *lock) Describe() string   { return "lease" }

// quiet discards the messages of client-go.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

// A leader asked to end holds the Lease until its last request has returned. Then the
// next leader begins within a retry period.
func TestLeaseIsGivenUpOnceWorkHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{}
		ctx, cancel := context.WithCancel(quiet(t.Context()))
		var ended time.Time
		var first, second sync.WaitGroup
		first.Go(func() {
			err := l.election("a").run(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Minute) // its last request
				if holder := l.holder(); holder != "a" {
					t.Errorf("while a's work ends, %q holds the Lease", holder)
				}
				ended = time.Now()
				return nil
			})
			if err != nil {
				t.Errorf("a: %v", err)
			}
		})
		time.Sleep(time.Second)
		other, cancelOther := context.WithCancel(quiet(t.Context()))
		e := l.election("b")
		second.Go(func() {
			if err := e.run(other, func(ctx context.Context) error {
				if wait := time.Since(ended); ended.IsZero() || wait > 5*time.Second {
					t.Errorf("b begins %v after a's end, %v", wait, ended)
				}
				<-ctx.Done()
				return nil
			}); err != nil {
				t.Errorf("b: %v", err)
			}
		})
		time.Sleep(10 * time.Second)
		if !e.standsBy() {
			t.Error("b does not know that a leads")
		}
		cancel()
		first.Wait()
		if holder := l.holder(); holder == "a" {
			t.Error("a has ended and holds the Lease")
		}
		time.Sleep(10 * time.Second)
		if holder := l.holder(); holder != "b" || e.standsBy() {
			t.Errorf("%q holds the Lease, want b", holder)
		}
		cancelOther()
		second.Wait()
		if holder := l.holder(); holder != "" {
			t.Errorf("%q holds the Lease, want nobody", holder)
		}
	})
}

// A leader that cannot renew the Lease reports this before another can take it, without
// waiting for its work. It is unhealthy only if it does not end.
func TestLostLeaseEndsWork(t *testing.T) {
	for _, asked := range []bool{false, true} { // to end, before the Lease is lost
		synctest.Test(t, func(t *testing.T) {
			l := &leases{}
			e := l.election("a")
			ctx, cancel := context.WithCancel(quiet(t.Context()))
			defer cancel()
			begin := time.Now()
			worked := make(chan struct{})
			err := e.run(ctx, func(ctx context.Context) error {
				defer close(worked)
				time.Sleep(5 * time.Second)
				l.down.Store("a", true)
				if asked {
					cancel()
				}
				<-ctx.Done()
				time.Sleep(time.Minute) // its last request
				return errors.New("interrupted")
			})
			if took := time.Since(begin); !errors.Is(err, errLeaseLost) || took > 16*time.Second {
				t.Errorf("asked to end %v: ends after %v: %v", asked, took, err)
			}
			if err := e.healthy(); err != nil {
				t.Errorf("unhealthy as soon as it is to end: %v", err)
			}
			select {
			case <-worked:
				t.Error("it has waited for its work")
			default:
			}
			<-worked
			if e.healthy() == nil {
				t.Error("healthy, though it holds on to a Lease that it has lost")
			}
		})
	}
}

// A failure of the work ends the process and gives up the Lease.
func TestFailedWorkGivesTheLeaseUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{}
		failure := errors.New("the informers ended")
		err := l.election("a").run(quiet(t.Context()), func(context.Context) error { return failure })
		if !errors.Is(err, failure) || errors.Is(err, errLeaseLost) {
			t.Errorf("%v", err)
		}
		if holder := l.holder(); holder != "" {
			t.Errorf("%q holds the Lease", holder)
		}
	})
}

// A standby asked to end does so without working.
func TestStandbyEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{}
		l.down.Store("a", true)
		ctx, cancel := context.WithTimeout(quiet(t.Context()), 7*time.Second)
		defer cancel()
		begin := time.Now()
		err := l.election("a").run(ctx, func(context.Context) error { t.Error("it works"); return nil })
		if err != nil || time.Since(begin) != 7*time.Second {
			t.Errorf("ended after %v: %v", time.Since(begin), err)
		}
	})
}

// TestOnlyOneReplicaWorks runs replicas that end when asked, lose the connection to the
// server and return. No two of them work at once, and after a proper end the next one
// follows soon.
func TestOnlyOneReplicaWorks(t *testing.T) {
	var takeovers, losses, outages, asked int
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			l := &leases{}
			var working atomic.Int32
			var replicas sync.WaitGroup
			var mu sync.Mutex
			var last string
			stop := map[string]context.CancelFunc{}
			next := 0
			launch := func() {
				next++
				identity := fmt.Sprint("replica-", next)
				ctx, cancel := context.WithCancel(quiet(context.Background()))
				mu.Lock()
				stop[identity] = cancel
				mu.Unlock()
				linger := time.Duration(rapid.IntRange(0, 2000).Draw(t, "linger")) * time.Millisecond
				replicas.Go(func() {
					err := l.election(identity).run(ctx, func(ctx context.Context) error {
						if n := working.Add(1); n > 1 {
							t.Errorf("%d replicas work", n)
						}
						mu.Lock()
						if last != "" && last != identity {
							takeovers++
						}
						last = identity
						mu.Unlock()
						<-ctx.Done()
						time.Sleep(linger)
						working.Add(-1)
						return nil
					})
					mu.Lock()
					defer mu.Unlock()
					if errors.Is(err, errLeaseLost) {
						losses++
					}
					delete(stop, identity)
				})
			}
			for range 2 {
				launch()
			}
			for range rapid.IntRange(5, 12).Draw(t, "steps") {
				time.Sleep(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "wait")) * time.Millisecond)
				victim := l.holder()
				if victim == "" || rapid.Bool().Draw(t, "anybody") {
					victim = fmt.Sprint("replica-", rapid.IntRange(1, next).Draw(t, "victim"))
				}
				mu.Lock()
				cancel := stop[victim]
				mu.Unlock()
				switch rapid.SampledFrom([]string{"end", "outage", "back"}).Draw(t, "step") {
				case "end":
					if cancel != nil {
						asked++
						cancel()
						launch()
					}
				case "outage":
					outages++
					l.down.Store(victim, true)
				case "back":
					l.down.Delete(victim)
				}
			}
			l.down.Clear()
			launch()
			time.Sleep(30 * time.Second)
			if working.Load() != 1 {
				t.Errorf("%d replicas work in the end", working.Load())
			}
			mu.Lock()
			for _, cancel := range stop {
				cancel()
			}
			mu.Unlock()
			replicas.Wait()
		})
	})
	t.Logf("%d takeovers, %d Leases lost, %d outages, %d replicas asked to end", takeovers, losses, outages, asked)
	if rapidseed.Fixed() && (takeovers == 0 || losses == 0 || outages == 0 || asked == 0) {
		t.Error("a kind of fault did not happen")
	}
}
