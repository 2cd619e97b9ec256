// Package backoff has the exported names of github.com/cenkalti/backoff/v5 over this
// library's Retry, so that the tests of that module judge Retry. It is not for use. That
// module documents the names.
package backoff

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/restartkit/restart/backoff"
)

// BackOff yields delays.
type BackOff interface {
	NextBackOff() time.Duration
	Reset()
}

// Stop is the delay of a BackOff that gives up.
const Stop time.Duration = -1

// ZeroBackOff has no delays.
type ZeroBackOff struct{}

// StopBackOff gives up after the first failure.
type StopBackOff struct{}

// ConstantBackOff has one delay.
type ConstantBackOff struct{ Interval time.Duration }

// ExponentialBackOff has growing delays.
type ExponentialBackOff struct {
	InitialInterval, MaxInterval    time.Duration
	RandomizationFactor, Multiplier float64

	failures        int
	currentInterval time.Duration // a test reads it
}

// Defaults of NewExponentialBackOff.
const (
	DefaultInitialInterval     = 500 * time.Millisecond
	DefaultRandomizationFactor = 0.5
	DefaultMultiplier          = 1.5
	DefaultMaxInterval         = time.Minute
)

func NewConstantBackOff(d time.Duration) *ConstantBackOff { return &ConstantBackOff{d} }

func NewExponentialBackOff() *ExponentialBackOff {
	return &ExponentialBackOff{
		InitialInterval:     DefaultInitialInterval,
		RandomizationFactor: DefaultRandomizationFactor,
		Multiplier:          DefaultMultiplier,
		MaxInterval:         DefaultMaxInterval,
	}
}

func (*ZeroBackOff) NextBackOff() time.Duration       { return 0 }
func (*ZeroBackOff) Reset()                           {}
func (*StopBackOff) NextBackOff() time.Duration       { return Stop }
func (*StopBackOff) Reset()                           {}
func (b *ConstantBackOff) NextBackOff() time.Duration { return b.Interval }
func (*ConstantBackOff) Reset()                       {}

func (b *ExponentialBackOff) Reset() { b.failures, b.currentInterval = 0, b.InitialInterval }

func (b *ExponentialBackOff) NextBackOff() time.Duration {
	if b.currentInterval == 0 {
		b.Reset()
	}
	next := getRandomValueFromInterval(b.RandomizationFactor, rand.Float64(), b.currentInterval)
	b.failures++
	b.currentInterval = b.policy().Delay(b.failures + 1)
	return next
}

func (b *ExponentialBackOff) policy() backoff.Policy {
	return backoff.Policy{Initial: b.InitialInterval, Max: b.MaxInterval, Factor: b.Multiplier, Jitter: b.RandomizationFactor}
}

// getRandomValueFromInterval has the name that a test calls. It shortens d as the Jitter
// of a Policy does.
func getRandomValueFromInterval(jitter, random float64, d time.Duration) time.Duration {
	return d - time.Duration(jitter*random*float64(d))
}

// noDelay calls again at once, unless an error wraps RetryAfter.
var noDelay = backoff.Policy{Initial: 1, Max: 1, FreeFailures: math.MaxInt}

// policyOf returns the Policy of a BackOff. It reports false for a BackOff that has to be
// asked for each delay.
func policyOf(b BackOff) (backoff.Policy, bool) {
	switch b := b.(type) {
	case *ExponentialBackOff:
		return b.policy(), true
	case *ConstantBackOff:
		if b.Interval > 0 {
			return backoff.Policy{Initial: b.Interval, Max: b.Interval}, true
		}
		return noDelay, true
	case *ZeroBackOff:
		return noDelay, true
	}
	return noDelay, false
}
