package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg"
)

// lastCalls limits the calls of a start that is under way when the program ends.
const lastCalls = 10 * time.Second

// awayPause is the pause between two checks for a runtime that does not answer.
const awayPause = 250 * time.Millisecond

// refused is the curve of retries after the runtime refuses to start a container.
var refused = backoff.Policy{Initial: 100 * time.Millisecond, Max: 10 * time.Second}

// startDue starts the containers whose wait is over. It returns when ctx has ended and
// all starts are done.
func (l *crashLoop) startDue(ctx context.Context) {
	var starts sync.WaitGroup
	defer starts.Wait()
	if !l.listed(ctx) { // the restored tasks may be out of date
		return
	}
	l.look(pleg.Event[string]{Type: pleg.PodSync})
	for {
		if l.away.Load() && !l.node.answers(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(awayPause):
			}
			continue
		}
		l.away.Store(false)
		l.mu.Lock()
		due, wait := l.due(time.Now())
		for _, t := range due {
			t.busy = true
			from, s := *t, l.newSlot()
			starts.Go(func() { l.start(ctx, from, s) })
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-time.After(wait):
		}
	}
}

// listed waits for the first relist and reports whether it happened.
func (l *crashLoop) listed(ctx context.Context) bool {
	for l.gen.Stats().Relists == 0 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return true
}

// due returns the tasks to start now, in the order of their turns, and the wait until
// the next one.
func (l *crashLoop) due(now time.Time) (due []*task, wait time.Duration) {
	wait = time.Hour
	var ready []*task
	for k, t := range l.tasks {
		if t.busy {
			continue
		}
		if !t.seen && l.cache.Get(t.sandbox).Status != nil {
			l.lookAt(t.sandbox)
		}
		if !t.seen {
			wait = min(wait, awayPause) // its pod is not inspected yet
			continue
		}
		if !t.pending && !t.lost || t.gone {
			continue // lookAt may just have shown this
		}
		if left := max(l.back.Remaining(k), t.retry.Sub(now)); left > 0 {
			wait = min(wait, left)
		} else {
			ready = append(ready, t)
		}
	}
	slices.SortFunc(ready, func(a, b *task) int {
		return cmp.Or(a.decision.NotBefore.Compare(b.decision.NotBefore), cmp.Compare(a.key.String(), b.key.String()))
	})
	pace := *l.pace
	for _, t := range ready {
		if left := pace.wait(now); left > 0 {
			return due, min(wait, left)
		}
		if l.busy+len(due) >= mostStarts {
			return due, wait // the end of a start wakes the loop
		}
		pace.reserved++
		due = append(due, t)
	}
	return due, wait
}

// start starts the next attempt of a task, given as it was when it was due.
func (l *crashLoop) start(ctx context.Context, from task, s *slot) {
	defer s.free()
	if ctx.Err() != nil {
		return
	}
	calls, done := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer done()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastCalls, done) })()
	if from.lost {
		err := l.node.stop(calls, from.container)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stopped(from, err)
		return
	}
	id, err := l.node.restart(calls, from.sandbox, from.key.Name, from.exited(), s.turn)

	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	t := l.tasks[from.key]
	if t == nil {
		return
	}
	t.busy = false
	if t.decided != from.decided || t.sandbox != from.sandbox {
		return // the next attempt has already exited, or a newer sandbox has replaced the pod
	}
	switch {
	case err == nil:
		l.retries.Reset(t.key)
		t.show(id, from.exited()+1, pleg.StateRunning, time.Now())
	case errors.Is(err, errNoTurn): // tried again when a turn is free
	case errors.Is(err, errSuperseded), errors.Is(err, errGone), errors.Is(err, errNoConfig):
		t.pending, t.trouble = false, failureWord(err)
		level := slog.LevelWarn
		if errors.Is(err, errSuperseded) { // usually by the previous criwatch
			level = slog.LevelInfo
		}
		l.log.Log(ctx, level, "not restarted", "container", t.key, "attempt", from.exited()+1, "reason", err)
		l.gen.RequestRelist(t.sandbox)
		l.lookAt(t.sandbox)
		return
	default:
		l.retry(t, err)
	}
	l.print(t)
}

// stopped records that a container in an unknown state was stopped. Its exit comes like
// any other.
func (l *crashLoop) stopped(from task, err error) {
	if t := l.tasks[from.key]; t != nil {
		t.busy = false
		if err != nil {
			l.retry(t, err)
		} else if t.container == from.container {
			t.lost = false
		}
	}
	l.changed()
}

// retry schedules another attempt at a start. The delay grows with each refusal. If the
// runtime does not answer, the start is retried as soon as it does.
func (l *crashLoop) retry(t *task, err error) {
	delay := awayPause
	if c := grpcstatus.Code(err); c == codes.Unavailable || c == codes.Canceled || c == codes.DeadlineExceeded {
		l.away.Store(true)
	} else {
		l.retries.Next(t.key, time.Now())
		delay = l.retries.Get(t.key)
	}
	t.retry = time.Now().Add(delay)
	if word := failureWord(err); t.trouble != word {
		t.trouble = word
		l.log.Warn("cannot be started yet", "container", t.key, "attempt", t.exited()+1, "error", err)
	}
}
