// Package curve counts and draws the restarts of a pod under a delay curve. It knows the
// curves of some systems, starts nothing and reads no clock.
package curve

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/human"
)

// Curve is a named delay curve and the pod that restarts under it.
type Curve struct {
	Name    string
	Policy  backoff.Policy
	Run     time.Duration // length of every run of the pod
	Limit   StartLimit
	Outside bool // not restarted by a kubelet, so restarts make no API requests
}

// StartLimit is the number of starts, including the first, within a period after which
// a system gives up for good. The zero value means no limit.
type StartLimit struct {
	Starts int
	Within time.Duration
}

// Never is a reset threshold that no run reaches.
const Never = time.Duration(math.MaxInt64)

// Restarts returns the number of restarts after from, up to and including to. A negative
// from includes restarts at time 0.
func (c Curve) Restarts(from, to time.Duration) int {
	in := backoff.Window{From: from, To: to}
	most := c.mostRestarts()
	if most == math.MaxInt {
		return c.Policy.Restarts(c.Run, in)
	}
	before := c.Policy.Restarts(c.Run, backoff.Window{From: -1, To: from})
	return min(before+c.Policy.Restarts(c.Run, in), most) - min(before, most)
}

// mostRestarts returns how many restarts the limit allows, or math.MaxInt. Since delays
// never shrink while all runs are equally long, a limit that is not reached at the
// beginning is never reached.
func (c Curve) mostRestarts() int {
	l := c.Limit
	if l.Starts > 0 && c.Policy.Restarts(c.Run, backoff.Window{From: -1, To: l.Within}) >= l.Starts {
		return l.Starts - 1
	}
	return math.MaxInt
}

// GivenUp reports whether the limit of starts ends the restarts.
func (c Curve) GivenUp() bool { return c.mostRestarts() != math.MaxInt }

// Busiest returns the most restarts within a window of the given length, which begins at
// the first restart.
func (c Curve) Busiest(window time.Duration) int {
	before := c.Run + c.Policy.Delay(1) - 1
	return c.Restarts(before, before+window)
}

// Steady returns the time between two restarts in the long run. It is meaningless if the
// limit ends the restarts.
func (c Curve) Steady() time.Duration {
	if c.Run > c.Policy.ResetThreshold() {
		return c.Run + c.Policy.Delay(1)
	}
	return c.Run + c.Policy.Delay(math.MaxInt)
}

// mostDelays is how many delays DescribeDelays lists at most.
const mostDelays = 10

// DescribeDelays lists the delays of the pod until they stay the same, such as
// "10s 20s 40s 1m20s 2m40s 5m 5m…".
func (c Curve) DescribeDelays() string {
	delay := c.Policy.Delay
	if c.Run > c.Policy.ResetThreshold() {
		delay = func(int) time.Duration { return c.Policy.Delay(1) }
	}
	last := c.mostRestarts()
	var b strings.Builder
	for n := 1; n <= min(last, mostDelays); n++ {
		b.WriteString(human.Wait(delay(n)))
		if n > 1 && delay(n) == delay(n-1) && delay(n) == delay(math.MaxInt) && last == math.MaxInt {
			break
		}
		b.WriteByte(' ')
	}
	if last <= mostDelays {
		return b.String() + "and no more"
	}
	return strings.TrimRight(b.String(), " ") + "…"
}

// Requests returns the API requests that a kubelet makes for n restarts, given the number
// per restart.
func (c Curve) Requests(n float64, perRestart int) float64 {
	if c.Outside {
		return 0
	}
	return n * float64(perRestart)
}

// SteadyRate returns the restarts per second in the long run.
func (c Curve) SteadyRate() float64 {
	if c.GivenUp() {
		return 0
	}
	return 1 / c.Steady().Seconds()
}

// Describe describes the delays in a few words, such as "10s to 5m".
func (c Curve) Describe() string {
	p := c.Policy
	text := human.Duration(p.Initial) + " to " + human.Duration(p.Max)
	switch {
	case p.Initial == p.Max:
		text = "always " + human.Duration(p.Max)
	case p.Factor != 0 && p.Factor != 2:
		text += ", factor " + strconv.FormatFloat(p.Factor, 'g', 4, 64)
	}
	if p.Jitter > 0 {
		text += fmt.Sprintf(", up to %v%% shorter", math.Round(p.Jitter*1000)/10)
	}
	if p.FreeFailures > 0 {
		text += fmt.Sprintf(", %d free", p.FreeFailures)
	}
	switch reset := p.ResetThreshold(); reset {
	case backoff.CrashLoop().ResetAfter:
	case Never:
		text += ", never reset"
	default:
		text += ", reset after " + human.Duration((reset + 1).Round(time.Millisecond)) // some thresholds are just below a round time
	}
	if c.Limit.Starts > 0 {
		text += fmt.Sprintf(", gives up after %d starts in %s", c.Limit.Starts, human.Duration(c.Limit.Within))
	}
	return text
}
