// Package explain says why containers and Jobs wait, when they start and what ends them,
// from the objects of a cluster alone. An [Explainer] knows the objects that explain each
// other, and its methods return values that encode as JSON. A [Printer] prints them for a
// person. The package does no I/O otherwise, and time is an argument.
//
// Everything is derived from fields that the objects have. Anything else is
// reported as unknown, or estimated and marked as an estimate.
package explain

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/backoff"
)

// Options are the facts beside the objects.
type Options struct {
	Now time.Time // times are printed in its zone
	// SyncFrequency is that of the kubelets; 0 means their default of 1 minute.
	SyncFrequency time.Duration
	// Undated says that the objects may be older than Now, as those of a file. What should
	// have happened by now may have happened since.
	Undated bool
}

func (o *Options) syncFrequency() time.Duration {
	if o.SyncFrequency <= 0 {
		return time.Minute
	}
	return o.SyncFrequency
}

// Objects are objects of a cluster that explain each other. Each list may be incomplete.
type Objects struct {
	Pods      []*corev1.Pod
	Jobs      []*batchv1.Job
	Events    []*corev1.Event
	Nodes     []*corev1.Node
	GoneNodes []string // names of nodes that the cluster surely does not have

	EventsHidden bool // the user may not read Events, so Events has none

	// Partial says where pods and Jobs may be missing from the lists although the cluster
	// has them, as in "not in the files". "" means that none is missing.
	Partial string
}

// Explainer explains objects. It is safe for concurrent use by multiple goroutines as
// long as nobody modifies the objects.
type Explainer struct {
	Options
	Objects
	events map[string][]*corev1.Event // by eventKey, the latest first
	nodes  map[string]*corev1.Node
	owned  map[types.UID][]*corev1.Pod // by the UID of their controller
}

// New returns an Explainer that knows the objects.
func New(objects Objects, o Options) *Explainer {
	x := &Explainer{
		Options: o, Objects: objects,
		events: make(map[string][]*corev1.Event), nodes: make(map[string]*corev1.Node), owned: make(map[types.UID][]*corev1.Pod),
	}
	for _, e := range objects.Events {
		key := eventKey(e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name)
		x.events[key] = append(x.events[key], e)
	}
	for _, list := range x.events {
		slices.SortStableFunc(list, func(a, b *corev1.Event) int { return eventTime(b).Compare(eventTime(a)) })
	}
	for _, n := range objects.Nodes {
		x.nodes[n.Name] = n
	}
	for _, p := range objects.Pods {
		if c := metav1.GetControllerOf(p); c != nil {
			x.owned[c.UID] = append(x.owned[c.UID], p)
		}
	}
	return x
}

// podsOf returns the pods that a Job controls.
func (x *Explainer) podsOf(job *batchv1.Job) []*corev1.Pod {
	return x.owned[job.UID]
}

// Start is the time in which a container or pod is expected to start.
type Start struct {
	From      time.Time `json:"from,omitzero"` // not before this time; zero if unknown
	To        time.Time `json:"to,omitzero"`   // not after it, unless its machine is busy; zero if unknown
	Estimated bool      `json:"estimated,omitempty"`
	Never     bool      `json:"never,omitempty"` // nothing starts, because the pod or the Job fails at its deadline before; From and To are zero
	Why       string    `json:"why"`             // how the times follow, or why they are unknown or never
}

// Known reports whether the time is known or estimated.
func (s Start) Known() bool { return !s.From.IsZero() }

// restartStart returns when a kubelet starts a container again that ended at a time of
// whole seconds and waits for a delay.
func (x *Explainer) restartStart(finished time.Time, delay time.Duration) Start {
	w := backoff.KubeletRestart(delay, x.SyncFrequency)
	return Start{From: finished.Add(w.From), To: finished.Add(w.To).Add(time.Second)}
}

// Finding is a likely mistake in a specification.
type Finding struct {
	Severity string `json:"severity"` // error, warning or notice
	Kind     string `json:"kind"`     // as in package kube/check
	Field    string `json:"field"`    // path of the line to change, from the object's root
	Text     string `json:"text"`     // one sentence with the effect and the remedy
}

// Limit is a limit that ends a Job or a pod, or one of a Job's indexes.
type Limit struct {
	Name string `json:"name"` // field of the specification
	Max  int64  `json:"max"`
	Used int64  `json:"used"`
	// Left is how much more reaches the limit, in the unit of Max; 0 if it is reached.
	Left int64     `json:"left"`
	At   time.Time `json:"at,omitzero"` // when it takes effect, for a limit in time
	Text string    `json:"text"`        // one sentence
}

// timed sets the limit to an end that many seconds after a start.
func (l *Limit) timed(start, now time.Time, effect string) {
	seconds := min(max(l.Max, 0), 1<<33) // the length of a Duration is limited
	l.At = start.Add(time.Duration(seconds) * time.Second)
	l.Used = max(int64(now.Sub(start)/time.Second), 0)
	l.Left = max(l.Max-l.Used, 0)
	l.Text = effect + " at " + until(l.At, now)
}

// sentence joins parts that are not empty.
func sentence(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}
