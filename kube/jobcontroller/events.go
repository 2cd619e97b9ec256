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

// eventSource returns the component named by the Controller's own Events. In place of
// Kubernetes' own controller it is that controller's, so that searches for its Events
// still work.
func (c *Controller) eventSource() string {
	if c.options.Engine.ManagedBy == BuiltInManagedBy {
		return "job-controller"
	}
	return "restart-job-controller"
}

// recordEvents creates the Controller's recorder, which writes Events to the API server
// until stop is called. The end of ctx does not stop it, so passes under way can still
// record Events. stop waits up to eventsWithin for recorded Events to be written.
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
			klog.FromContext(ctx).Error(nil, "some Events could not be written", "after", eventsWithin)
		}
		cancel() // also ends requests under way
		broadcaster.Shutdown()
	}
}

// eventsWithin limits the time for writing recorded Events at the end.
const eventsWithin = 5 * time.Second

// lastEvent marks the final Event, which is not written. A broadcaster does not report
// when it is empty; when this Event arrives, all others are written.
var lastEvent = corev1.ObjectReference{Kind: "Last", Namespace: metav1.NamespaceDefault, Name: "last"}

// eventSink writes Events to the API server until ctx is done.
type eventSink struct {
	ctx    context.Context // record.EventSink passes none
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
	p.metrics.syncs.add(1, mode, result, p.action)
	p.metrics.syncDuration.add(took.Seconds(), mode, result, p.action)
}
