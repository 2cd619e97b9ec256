package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Stop stops all goroutines. It cancels them one at a time in the reverse order of Go,
// and waits for each until it has ended, for StopTimeout, or until ctx is done, when it
// cancels the rest at once. Goroutines that wait for a restart end at once, and nothing
// is restarted or added once Stop has begun.
//
// The error names the goroutines still running, which All yields, and wraps the error of
// ctx if ctx is done. Wait still waits for them. Stop may be called repeatedly and from
// several goroutines; each call does its own waiting.
func (s *Supervisor) Stop(ctx context.Context) error {
	return s.stop(ctx, s.beginStop())
}

// Remove stops one goroutine, as Stop does. Its name can be used again once it has ended.
// It returns an error if the name is unknown or the goroutine is still running.
func (s *Supervisor) Remove(ctx context.Context, name string) error {
	s.mu.Lock()
	w := s.workers[name]
	s.mu.Unlock()
	if w == nil {
		return fmt.Errorf("supervise: Remove(%q): no such goroutine", name)
	}
	return s.stop(ctx, []*worker{w})
}

// beginStop prevents further calls and returns the workers in the order in which to stop
// them.
func (s *Supervisor) beginStop() []*worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isStopping() {
		close(s.stopping)
	}
	workers := s.inOrder()
	slices.Reverse(workers)
	return workers
}

// isStopping needs mu.
func (s *Supervisor) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// stop cancels workers one after the other and returns an error naming those still running.
func (s *Supervisor) stop(ctx context.Context, workers []*worker) error {
	for _, w := range workers {
		w.cancel()
		s.awaitEnd(ctx, w)
	}
	var left []string
	for _, w := range workers {
		if !s.hasStopped(w) {
			left = append(left, strconv.Quote(w.name))
		}
	}
	return notStopped(left, ctx.Err())
}

// awaitEnd waits until w has ended, for StopTimeout, or until ctx is done.
func (s *Supervisor) awaitEnd(ctx context.Context, w *worker) {
	timer := s.options.Clock.NewTimer(s.options.StopTimeout)
	defer timer.Stop()
	select {
	case <-w.ended:
	case <-timer.C():
	case <-ctx.Done():
	}
}

// hasStopped reports whether w, which is cancelled, has ended. If w waits for its next
// call, it ends at once, and hasStopped waits for that.
func (s *Supervisor) hasStopped(w *worker) bool {
	s.mu.Lock()
	waits := w.waits
	s.mu.Unlock()
	if waits {
		<-w.ended
	}
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// maxNames bounds the names in an error.
const maxNames = 20

func notStopped(names []string, cause error) error {
	if len(names) == 0 {
		return nil
	}
	more := ""
	if n := len(names) - maxNames; n > 0 {
		names, more = names[:maxNames], fmt.Sprintf(" and %d more", n)
	}
	text := "supervise: not stopped: " + strings.Join(names, ", ") + more
	if cause == nil {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %w", text, cause)
}
