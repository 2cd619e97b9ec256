package jobcontroller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// eventSource is the component that the Controller's own Events name. In the place of
// Kubernetes' own controller it is that one's: whoever looks for its Events finds them.
func (c *Controller) eventSource() string {
	if c.options.Engine.ManagedBy == BuiltInManagedBy {
		return "job-controller"
	}
	return "restart-job-controller"
}

// recordEvents makes the recorder of the Controller's own, which writes Events to the
// API server until stop is called. The end of ctx does not stop it: passes that are
// under way then have Events, too. Stop has those written that are recorded, as far as
// that takes no longer than eventsWithin.
func (c *Controller) recordEvents(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	log := broadcaster.StartStructuredLogging(3)
	sink := eventSink{ctx, c.client.CoreV1().Events(""), make(chan struct{})}
	broadcaster.StartRecordingToSink(sink)
	c.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: c.eventSource()})
	return func() {
		log.Stop()
		c.events.Event(&lastEvent, corev1.EventTypeNormal, lastEvent.Kind, "")
		timer := c.options.Clock.NewTimer(eventsWithin)
		defer timer.Stop()
		select {
		case <-sink.last:
		case <-timer.C():
			klog.FromContext(ctx).Error(nil, "Events are not written", "after", eventsWithin)
		}
		cancel() // requests under way, too
		broadcaster.Shutdown()
	}
}

// eventsWithin is how long Events may take to be written once all are recorded.
const eventsWithin = 5 * time.Second

// lastEvent is what an Event is about that is not written: it comes behind all others, so
// these are written when it arrives. A broadcaster does not say when it has nothing left.
var lastEvent = corev1.ObjectReference{Kind: "Last", Namespace: metav1.NamespaceDefault, Name: "last"}

// eventSink writes Events to the API server until ctx is done.
type eventSink struct {
	ctx    context.Context // record.EventSink has none
	events typedcorev1.EventInterface
	last   chan struct{} // closed when the last Event arrives
}

func (s eventSink) Create(e *corev1.Event) (*corev1.Event, error) {
	if e.InvolvedObject == lastEvent {
		close(s.last)
		return e, nil
	}
	return s.events.CreateWithEventNamespaceWithContext(s.ctx, e)
}

func (s eventSink) Update(e *corev1.Event) (*corev1.Event, error) {
	return s.events.UpdateWithEventNamespaceWithContext(s.ctx, e)
}

func (s eventSink) Patch(e *corev1.Event, patch []byte) (*corev1.Event, error) {
	return s.events.PatchWithEventNamespaceWithContext(s.ctx, e, patch)
}

// measure adds a pass to the metrics.
func (p *pass) measure(took time.Duration, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	mode := completionMode(p.job)
	add(p.metrics.Syncs, 1, mode, result, p.action)
	if h := p.metrics.SyncDuration; h != nil {
		h.WithLabelValues(mode, result, p.action).Observe(took.Seconds())
	}
}
