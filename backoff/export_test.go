package backoff

import "time"

// For tests from outside.
const (
	MaxExitCodes = maxExitCodes
	MaxHistory   = maxHistory
	MaxLimit     = maxLimit
	MaxRules     = maxRules
)

var SignalNames = signalNames

func KeyText(key any) string { return keyText(key) }

func (e Exit) SignalName() string { return signalName(e.signal()) }

func (a Action) Restarts() bool { return a.restarts() }

func (p Policy) Jittered(d time.Duration, draw float64) time.Duration { return p.jittered(d, draw) }

func (p Policy) Drawn(failures int, d time.Duration) time.Duration { return p.drawn(failures, d) }

func (p ExitPolicy) Valid() bool { return p.valid() }

func (p ExitPolicy) Bound() time.Duration { return p.bound() }

func (t *Tracker[K]) Valid() error { return t.entries.valid() }

// Turns returns how many slots are booked.
func (r *Restarter[K]) Turns() int { return len(r.rate.booked) }

// KeepsRate reports whether instants keep to a rate.
var KeepsRate = fits

// Waiting returns how many keys are waited for.
func (r *Restarter[K]) Waiting() int {
	r.waiters.mu.Lock()
	defer r.waiters.mu.Unlock()
	return len(r.waiters.byKey)
}
