package explain

import (
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/convert"
)

// Comparison compares a container's restarts so far with those under other curves.
type Comparison struct {
	Container string    `json:"container"`
	Since     time.Time `json:"since,omitzero"` // start of the pod, or of its first run if known
	// Elapsed is the time until the current run began or, if none runs, until now.
	Elapsed    metav1.Duration `json:"elapsed,omitzero"`
	Run        metav1.Duration `json:"run,omitzero"`         // assumed length of every run
	Known      int             `json:"knownRuns"`            // runs whose length the cluster still has
	Unknown    int64           `json:"unknownRuns"`          // ended runs without
	Curves     []CurveResult   `json:"curves,omitempty"`     // the first is the actual history
	Impossible string          `json:"impossible,omitempty"` // why nothing is compared
}

// CurveResult counts the restarts under one curve in the same time.
type CurveResult struct {
	Name     string          `json:"name"`
	Text     string          `json:"text"` // the curve
	Restarts int64           `json:"restarts"`
	Down     metav1.Duration `json:"down"`             // time without a running container
	GaveUp   bool            `json:"gaveUp,omitempty"` // it stops restarting before the end
	Exact    bool            `json:"exact"`            // nothing is assumed
}

// curve is a restart curve, with the number of starts within a time after which it gives
// up; 0 means never.
type curve struct {
	name, text string
	policy     backoff.Policy
	starts     int
	within     time.Duration
}

// curves are those of a kubelet, whose first restart has no delay (KEP-4603), of Docker
// (moby, restartmanager/restartmanager.go; a run of exactly 10s resets it) and of systemd
// (systemd.service(5), systemd.unit(5), with their defaults).
func curves() []curve {
	kubelet, reduced := backoff.CrashLoop(), backoff.ReducedCrashLoop()
	kubelet.FreeFailures, reduced.FreeFailures = 1, 1
	return []curve{
		{name: "kubelet", text: "0s, 10s doubled up to 5m", policy: kubelet},
		{name: "kubelet, reduced", text: "0s, 1s doubled up to 1m (KEP-4603)", policy: reduced},
		{name: "Docker", text: "100ms doubled up to 1m", policy: backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute, ResetAfter: 10*time.Second - 1}},
		{name: "systemd", text: "always 100ms, gives up after 5 starts in 10s",
			policy: backoff.Policy{Initial: 100 * time.Millisecond, Max: 100 * time.Millisecond, Factor: 1, ResetAfter: math.MaxInt64}, starts: 5, within: 10 * time.Second},
	}
}

// Compare compares each container of a pod that has ended at least once.
func Compare(p *corev1.Pod, o Options) []Comparison {
	var all []Comparison
	histories := convert.Histories(p)
	for i := range histories {
		if h := &histories[i]; h.Role != convert.RoleInit || len(h.Exits) > 0 && h.Exits[0].Code != 0 {
			all = append(all, compare(p, h, o))
		}
	}
	return all
}

func compare(p *corev1.Pod, h *convert.History, o Options) Comparison {
	c := Comparison{Container: h.Container.Name}
	var sum time.Duration
	for _, e := range h.Exits {
		if !e.Started.IsZero() && !e.Finished.Before(e.Started) {
			sum += e.Finished.Sub(e.Started)
			c.Known++
		}
	}
	c.Unknown = h.Ended - int64(c.Known)
	start := p.Status.StartTime
	switch {
	case h.Ended == 0:
		c.Impossible = "it has not ended yet"
		return c
	case start == nil || start.IsZero():
		c.Impossible = "the pod's status has no start time"
		return c
	case c.Known == 0:
		c.Impossible = "the cluster has no start and end of any run"
		return c
	}
	c.Since = start.Time
	if first := h.Exits[0]; first.Run == 1 && first.Started.After(c.Since) {
		c.Since = first.Started
	}
	end := o.Now
	if r := h.Status.State.Running; r != nil {
		end = r.StartedAt.Time // how long this run would last elsewhere is unknown
	} else if e, _ := h.Last(); podOver(p, o) != "" && !e.Finished.IsZero() {
		end = e.Finished // nothing restarts afterwards
	}
	c.Elapsed.Duration = max(end.Sub(c.Since), 0)
	c.Run.Duration = sum / time.Duration(c.Known)
	c.Curves = []CurveResult{c.fact(h, sum)}
	for _, k := range curves() {
		c.Curves = append(c.Curves, c.under(k))
	}
	return c
}

// fact returns the actual restarts. Before the first run, the time from the start of the pod
// counts as down if that is all that is known.
func (c *Comparison) fact(h *convert.History, sum time.Duration) CurveResult {
	up := sum + time.Duration(float64(c.Run.Duration)*float64(c.Unknown))
	return CurveResult{
		Name: "in fact", Text: "as the cluster shows", Restarts: int64(max(h.Status.RestartCount, 0)),
		Down: metav1.Duration{Duration: max(c.Elapsed.Duration-up, 0)}, Exact: c.Unknown == 0,
	}
}

// under returns the restarts by a curve, if every run lasts c.Run.
func (c *Comparison) under(k curve) CurveResult {
	r, run, elapsed := CurveResult{Name: k.name, Text: k.text}, c.Run.Duration, c.Elapsed.Duration
	begin := func(d time.Duration) backoff.Window { return backoff.Window{From: -1, To: d} }
	restarts := k.policy.Restarts(run, begin(elapsed))
	if k.starts > 0 && k.policy.Restarts(run, begin(k.within)) >= k.starts && restarts >= k.starts {
		restarts, r.GaveUp = k.starts-1, true
	}
	r.Restarts = int64(restarts)
	last := time.Duration(0) // the last start
	if restarts > 0 {
		last = lastStart(k.policy, run, restarts, elapsed)
	}
	up := float64(run)*float64(restarts) + float64(min(run, max(elapsed-last, 0)))
	r.Down.Duration = elapsed - time.Duration(min(up, float64(elapsed)))
	return r
}

// lastStart returns the time of the last of n restarts up to end, by bisection.
func lastStart(p backoff.Policy, run time.Duration, n int, end time.Duration) time.Duration {
	low, high := time.Duration(-1), end // fewer than n by low, n by high
	for high-low > 1 {
		middle := low + (high-low)/2
		if p.Restarts(run, backoff.Window{From: -1, To: middle}) >= n {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// assumption names the assumptions of a comparison.
func (c *Comparison) assumption() string {
	text := fmt.Sprintf("every run is taken to last %s, the mean of the %s that the cluster still has", short(c.Run.Duration), counted(c.Known, "run"))
	if c.Unknown > 0 {
		return text + fmt.Sprintf("; %s unknown", counted(c.Unknown, "earlier run"))
	}
	return text
}
