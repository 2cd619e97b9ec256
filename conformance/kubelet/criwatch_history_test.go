package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A history is the life of a pod's container, as three witnesses tell it.
type history struct {
	reported []report // by criwatch, in its order
	shown    []ending // by the kubelet in the API, in its order, each once
	restarts int      // restartCount at the end
	diary    []string // by the container's processes; see crashScript
}

// asleep is the last line of a container's diary.
const asleep = "asleep"

// An ending is the end of an attempt, which has a container of its own in the runtime.
type ending struct {
	id       string // of that container
	code     int32
	reason   string
	finished time.Time // in whole seconds
}

// A report is an ending that criwatch has reported.
type report struct {
	ending
	attempt int
	known   bool // the code is
	started bool // criwatch has reported the start
}

// A verdict counts the facts on which the witnesses agree, and lists the differences.
type verdict struct {
	exits        int // with a code
	shown        int // those in the API
	missed       int // those missed by containerd, which gives them the code 255
	neverStarted int // attempts
	unrecorded   int // of these, attempts whose process wrote in the diary
	differences  []string
}

func (v *verdict) differ(format string, args ...any) {
	v.differences = append(v.differences, fmt.Sprintf(format, args...))
}

// compare judges criwatch's reports. Each attempt up to restartCount must have exactly
// one. An exit in the API must be reported with its code and time, in the API's order.
// The codes must be those of the diary. Six facts limit the comparison:
//
//   - The kubelet creates an attempt and then starts it. If containerd is killed in
//     between, the kubelet goes on with the next attempt. So restartCount includes
//     attempts that never started. The API shows no exit of them. criwatch reports
//     their end without a code when they are removed, as the PLEG of a kubelet does.
//   - containerd may have started the process of such an attempt without noting it. If
//     the process exits before containerd is back, only its diary tells.
//   - The kubelet sends only the newest status of a pod, and so may skip an exit if the
//     API server is slow.
//   - containerd gives the code 255 to an exit that it missed, even if the process did not
//     come to write in its diary.
//   - After a kill, containerd may not know the state of a container. If the API showed
//     it running, the kubelet guesses that it ended with 137 (ContainerStatusUnknown),
//     until containerd knows. A guess names no container and is left out.
//   - containerd may learn of the lack of memory after the exit. The reason in the API
//     then changes to OOMKilled. criwatch reports an exit once, with the first reason.
func (h history) compare() (v verdict) {
	attempts := h.byAttempt(&v)
	next := 0 // in shown
	for _, r := range h.reported {
		i := slices.IndexFunc(h.shown, func(x ending) bool { return x.id == r.id })
		switch {
		case i >= 0 && !h.shown[i].shows(r):
			v.differ("attempt %d is reported as %v, the API shows %v", r.attempt, r, h.shown[i])
		case i >= 0 && i != next:
			v.differ("attempt %d is reported out of turn", r.attempt)
		case i < 0 && !r.known && r.started:
			v.differ("attempt %d is reported without a code", r.attempt)
		}
		if i >= 0 {
			v.shown++
			next = i + 1
		}
		if r.known {
			v.exits++
		} else {
			v.neverStarted++
		}
	}
	for _, x := range h.shown {
		if !slices.ContainsFunc(h.reported, func(r report) bool { return r.id == x.id }) {
			v.differ("the API shows %v, which is not reported", x)
		}
	}
	if len(v.differences) > 0 {
		return v
	}
	ok := false
	if v.missed, v.unrecorded, ok = readAlong(attempts, h.diary); !ok {
		v.differ("the reports are %v, the diary is %v", attempts, h.diary)
	}
	return v
}

// byAttempt returns the reports in the order of the attempts.
func (h history) byAttempt(v *verdict) []report {
	sorted := slices.SortedStableFunc(slices.Values(h.reported), func(a, b report) int { return cmp.Compare(a.attempt, b.attempt) })
	for n := range h.restarts + 1 {
		switch reports := h.of(n); {
		case len(reports) == 0:
			v.differ("attempt %d is not reported", n)
		case len(reports) > 1:
			v.differ("attempt %d is reported %d times", n, len(reports))
		}
	}
	if n := len(sorted); n > 0 && sorted[n-1].attempt > h.restarts {
		v.differ("attempt %d is reported, restartCount is %d", sorted[n-1].attempt, h.restarts)
	}
	return sorted
}

func (h history) of(attempt int) []report {
	return slices.DeleteFunc(slices.Clone(h.reported), func(r report) bool { return r.attempt != attempt })
}

// shows reports whether the ending in the API is the reported one.
func (x ending) shows(r report) bool {
	return r.known && x.code == r.code && x.finished.Equal(r.finished) && (x.reason == r.reason || x.reason == "OOMKilled")
}

// readAlong reports whether a diary is that of the attempts. It counts the attempts that
// need an excuse.
func readAlong(attempts []report, diary []string) (missed, unrecorded int, ok bool) {
	if len(attempts) == 0 {
		return 0, 0, len(diary) == 0
	}
	r, later := attempts[0], attempts[1:]
	if !r.known {
		if missed, unrecorded, ok = readAlong(later, diary); ok {
			return missed, unrecorded, true
		}
	}
	if len(diary) > 0 {
		missed, unrecorded, ok = readAlong(later, diary[1:])
		switch {
		case !r.known:
			return missed, unrecorded + 1, ok
		case ok && (diary[0] == asleep || diary[0] == strconv.Itoa(int(r.code))): // one asleep ends with its pod
			return missed, unrecorded, true
		case ok && r.code == 255:
			return missed + 1, unrecorded, true
		}
	}
	switch { // without a line
	case r.known && r.reason == "StartError":
		return readAlong(later, diary)
	case r.known && r.code == 255 && r.reason == "Unknown":
		missed, unrecorded, ok = readAlong(later, diary)
		return missed + 1, unrecorded, ok
	}
	return 0, 0, false
}

// String returns the code and reason of r.
func (r report) String() string {
	if !r.known {
		return "?"
	}
	return fmt.Sprintf("%d (%s)", r.code, r.reason)
}
