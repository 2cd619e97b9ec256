package retry

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"
)

type (
	RetryIfFunc   func(error) bool
	OnRetryFunc   func(attempt uint, err error)
	DelayTypeFunc func(n uint, err error, config *Config) time.Duration
	Option        func(*Config)
)

// Timer is what the tests implement.
type Timer interface {
	After(time.Duration) <-chan time.Time
}

// Config holds the options.
type Config struct {
	attempts                   uint
	attemptsForError           map[error]uint
	delay, maxDelay, maxJitter time.Duration
	onRetry                    OnRetryFunc
	retryIf                    RetryIfFunc
	delayType                  DelayTypeFunc // nil means the policy's curve
	lastErrorOnly              bool
	wrapContextError           bool
	context                    context.Context
	timer                      Timer // nil means the real clock

	//lint:ignore U1000 a test reads it
	maxBackOffN uint
}

func newConfig(options []Option) *Config {
	const delay = 100 * time.Millisecond
	c := &Config{
		attempts:         10,
		attemptsForError: map[error]uint{},
		delay:            delay,
		maxJitter:        delay,
		onRetry:          func(uint, error) {},
		retryIf:          IsRecoverable,
		context:          context.Background(),
	}
	for _, set := range options {
		set(c)
	}
	return c
}

func LastErrorOnly(only bool) Option       { return func(c *Config) { c.lastErrorOnly = only } }
func Attempts(n uint) Option               { return func(c *Config) { c.attempts = n } }
func UntilSucceeded() Option               { return Attempts(0) }
func Delay(d time.Duration) Option         { return func(c *Config) { c.delay = d } }
func MaxDelay(d time.Duration) Option      { return func(c *Config) { c.maxDelay = d } }
func MaxJitter(d time.Duration) Option     { return func(c *Config) { c.maxJitter = d } }
func Context(ctx context.Context) Option   { return func(c *Config) { c.context = ctx } }
func WithTimer(t Timer) Option             { return func(c *Config) { c.timer = t } }
func DelayType(delay DelayTypeFunc) Option { return func(c *Config) { c.delayType = delay } }

func AttemptsForError(n uint, err error) Option {
	return func(c *Config) { c.attemptsForError[err] = n }
}

func WrapContextErrorWithLastError(wrap bool) Option {
	return func(c *Config) { c.wrapContextError = wrap }
}

func OnRetry(f OnRetryFunc) Option {
	return func(c *Config) {
		if f != nil {
			c.onRetry = f
		}
	}
}

func RetryIf(f RetryIfFunc) Option {
	return func(c *Config) {
		if f != nil {
			c.retryIf = f
		}
	}
}

func BackOffDelay(n uint, _ error, c *Config) time.Duration {
	return c.curve().Delay(int(min(n, math.MaxInt)))
}

func FixedDelay(_ uint, _ error, c *Config) time.Duration { return c.delay }

func RandomDelay(_ uint, _ error, c *Config) time.Duration { return random(c.maxJitter) }

// FullJitterBackoffDelay draws the delay of a Policy with Jitter 1.
func FullJitterBackoffDelay(n uint, _ error, c *Config) time.Duration {
	if c.delay <= 0 {
		return 0
	}
	return random(c.policy().Delay(int(min(n, math.MaxInt-1)) + 1))
}

func random(below time.Duration) time.Duration {
	return time.Duration(rand.Float64() * float64(below))
}

// CombineDelay adds delays; the sum saturates.
func CombineDelay(delays ...DelayTypeFunc) DelayTypeFunc {
	return func(n uint, err error, c *Config) (sum time.Duration) {
		for _, delay := range delays {
			d := delay(n, err, c)
			if sum > math.MaxInt64-max(d, 0) {
				return math.MaxInt64
			}
			sum += d
		}
		return sum
	}
}

// timerClock is the real clock with the timers of a Timer.
type timerClock struct {
	clock.RealClock
	timer Timer
}

func (c timerClock) NewTimer(d time.Duration) clock.Timer {
	return &clockTimer{timer: c.timer, c: c.timer.After(d)}
}

type clockTimer struct {
	timer Timer
	c     <-chan time.Time
}

func (t *clockTimer) C() <-chan time.Time        { return t.c }
func (t *clockTimer) Stop() bool                 { return true }
func (t *clockTimer) Reset(d time.Duration) bool { t.c = t.timer.After(d); return true }
