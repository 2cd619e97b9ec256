package backoff

import (
	"reflect"
	"time"
)

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

func (r *Rule) LimitText() string { return r.limitText() }

func (a Action) Restarts() bool { return a.restarts() }

func (s RestarterState) Validate(now time.Time) error { return s.validate(now).Err() }

func (p Policy) Jittered(d time.Duration, rand func() float64) time.Duration {
	return p.jittered(d, rand)
}

func (p Policy) Drawn(failures int, d time.Duration) time.Duration { return p.drawn(failures, d) }

func (t *Tracker[K]) Valid() error { return t.entries.valid() }

// Turns returns how many turns are booked.
func (r *Restarter[K]) Turns() int { return len(r.bucket.turns()) }

// RuleCounts returns how many rules have counts for key.
func (r *Restarter[K]) RuleCounts(key K) int {
	shard, hash := r.keys.lock(key)
	defer shard.mu.Unlock()
	h, _ := lookup(shard, hash, key)
	return len(h.counts)
}

// HistorySize is the size of a history without its pointers' targets.
var HistorySize = int(reflect.TypeFor[history]().Size())

// SizeOf returns how many bytes the history of key takes.
func (r *Restarter[K]) SizeOf(key K) int {
	shard, hash := r.keys.lock(key)
	defer shard.mu.Unlock()
	h, _ := lookup(shard, hash, key)
	n := HistorySize + cap(h.recent)*8 + cap(h.counts)*int(reflect.TypeFor[ruleCount]().Size())
	for _, k := range h.counts {
		n += cap(k.recent) * 8
	}
	if h.earlier != nil {
		n += cap(h.earlier.ring) * int(reflect.TypeFor[ExitRecord]().Size())
	}
	return n
}

// KeepsRate reports whether instants keep to a rate.
var KeepsRate = fits
