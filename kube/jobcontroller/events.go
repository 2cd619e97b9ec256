package jobcontroller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
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
// under way then have Events, too.
func (c *Controller) recordEvents(ctx context.Context) (stop func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	broadcaster.StartStructuredLogging(3)
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.client.CoreV1().Events("")})
	c.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: c.eventSource()})
	return broadcaster.Shutdown
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
