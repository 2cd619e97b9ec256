package explain

import (
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is the cluster's report of something that happened to an object.
type Event struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count,omitempty"` // how often, if more than once
	Last    time.Time `json:"last,omitzero"`
}

func eventKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// eventTime returns when an event happened last.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	case !e.FirstTimestamp.IsZero():
		return e.FirstTimestamp.Time
	}
	return e.CreationTimestamp.Time
}

func eventCount(e *corev1.Event) int32 {
	if e.Series != nil {
		return max(e.Series.Count, 1)
	}
	return max(e.Count, 1)
}

// EventsOf returns the events of an object, the latest first. An event of another object
// of the same name, which was there before, is left out.
func (x *Explainer) EventsOf(kind string, m metav1.Object) []*corev1.Event {
	var all []*corev1.Event
	for _, e := range x.events[eventKey(kind, m.GetNamespace(), m.GetName())] {
		if e.InvolvedObject.UID == "" || m.GetUID() == "" || e.InvolvedObject.UID == m.GetUID() {
			all = append(all, e)
		}
	}
	return all
}

// containerOf returns the name of the container of a pod that an event is about, or "".
func containerOf(e *corev1.Event) string {
	_, name, found := strings.Cut(e.InvolvedObject.FieldPath, "ontainers{")
	if !found {
		return ""
	}
	return strings.TrimSuffix(name, "}")
}

// tellsNothing has the reasons of events that say no more than the status does, or that
// a kubelet without a DNS server for the cluster reports of each pod.
var tellsNothing = map[string]bool{
	"BackOff": true, "Scheduled": true, "Pulling": true, "Pulled": true, "Created": true, "Started": true, "Completed": true, "SuccessfulCreate": true,
	"MissingClusterDNS": true,
}

// worthShowing reports whether an event says more than the status does.
func worthShowing(e *corev1.Event) bool {
	if tellsNothing[e.Reason] || e.Type == corev1.EventTypeNormal && e.Reason != "Killing" {
		return false
	}
	reason, is := strings.CutPrefix(e.Message, "Error: ")
	return !is || whys[reason] == "" // else it names the reason for which the container waits
}

// mostEvents is the number of events shown of a container, a pod or a Job.
const mostEvents = 4

// shownEvents returns the events worth showing, the latest first: the latest of
// each message, up to mostEvents.
func shownEvents(all []*corev1.Event) (shown []Event) {
	seen := make(map[string]bool)
	for _, e := range all {
		text := e.Reason + line(e.Message)
		if !worthShowing(e) || seen[text] {
			continue
		}
		seen[text] = true
		one := Event{Reason: e.Reason, Message: e.Message, Last: eventTime(e)}
		if n := eventCount(e); n > 1 {
			one.Count = n
		}
		if shown = append(shown, one); len(shown) == mostEvents {
			break
		}
	}
	return shown
}

// latestEvent returns the latest event with one of the reasons, or nil.
func latestEvent(all []*corev1.Event, reasons ...string) *corev1.Event {
	for _, e := range all {
		if slices.Contains(reasons, e.Reason) {
			return e
		}
	}
	return nil
}

// ofContainer returns the events about a container of a pod.
func ofContainer(all []*corev1.Event, name string) (some []*corev1.Event) {
	for _, e := range all {
		if containerOf(e) == name {
			some = append(some, e)
		}
	}
	return some
}

// ofPod returns the events about a pod as a whole.
func ofPod(all []*corev1.Event) []*corev1.Event { return ofContainer(all, "") }

// probeKill returns the message of an Event about the probe whose failure made the kubelet
// end the last run of a container, or "". The message of the failure says more than that of
// the end. last may be nil.
func (x *Explainer) probeKill(events []*corev1.Event, last *Exit) string {
	if last != nil && last.Reason == "OOMKilled" {
		return ""
	}
	for _, e := range events {
		text := strings.ToLower(e.Message)
		kill := e.Reason == "Killing" && strings.Contains(text, "failed") && strings.Contains(text, "probe")
		if !kill || x.Now.Sub(eventTime(e)) > eventsLast {
			continue
		}
		// It is about this exit. Event clients hold back what they have often said, so the
		// time of a kill may be that of one before.
		if last != nil && !last.Finished.IsZero() && !closeTo(last.Finished, eventTime(e)) {
			wasKilled := last.Code == 137 || last.Code == 143
			if !wasKilled || last.Finished.Before(eventTime(e)) || last.Finished.Sub(eventTime(e)) > killsHeldBack {
				continue
			}
		}
		kind := "liveness"
		if strings.Contains(text, "startup") {
			kind = "startup"
		}
		if failed := probeFailure(events, kind, time.Time{}); failed != "" {
			return failed
		}
		return line(e.Message)
	}
	return ""
}

// probeExit is probeKill for a container whose last exit is known. Without an Event about
// the end, a failure of the liveness or startup probe shortly before it tells enough.
func (x *Explainer) probeExit(events []*corev1.Event, last *Exit) string {
	if kill := x.probeKill(events, last); kill != "" || last == nil || last.Finished.IsZero() || last.Code != 137 && last.Code != 143 {
		return kill
	}
	for _, e := range events {
		text := strings.ToLower(e.Message)
		about := strings.HasPrefix(text, "liveness probe") || strings.HasPrefix(text, "startup probe")
		if e.Reason == "Unhealthy" && about && closeTo(last.Finished, eventTime(e)) {
			return probeText(e)
		}
	}
	return ""
}

// killsHeldBack is how old the latest Event about a repeated kill may be.
const killsHeldBack = 10 * time.Minute

// eventsLast is how long an API server keeps Events unless told otherwise.
const eventsLast = time.Hour

// probeFailure returns the latest message of a failed probe of a kind, or "" if none has
// failed since the start of a run.
func probeFailure(events []*corev1.Event, kind string, start time.Time) string {
	for _, e := range events {
		if eventTime(e).Before(start) {
			continue
		}
		if e.Reason == "Unhealthy" && strings.HasPrefix(strings.ToLower(e.Message), kind+" probe") {
			return probeText(e)
		}
	}
	return ""
}

// probeText returns the message of an event about a probe, which may have printed nothing.
func probeText(e *corev1.Event) string { return strings.TrimRight(line(e.Message), ": ") }

// kill is the reason for which a kubelet has ended a container.
type kill struct {
	text   string // such as "its probe failed: Liveness probe failed: …"
	remedy string
}

const probeRemedy = "make it answer its probe, or give it more time (timeoutSeconds, failureThreshold, a startupProbe)"

// killOf returns why a kubelet has ended the latest run of a container, as far as Events
// tell, or nil. last may be nil.
func (x *Explainer) killOf(events []*corev1.Event, last *Exit) *kill {
	if last != nil && (last.Code == 137 || last.Code == 143) {
		hook := latestEvent(events, "FailedPostStartHook")
		if hook != nil && closeTo(last.Finished, eventTime(hook)) {
			text := "its postStart hook failed"
			if said := line(hook.Message); said != "" && said != "PostStartHook failed" {
				text += ": " + said
			}
			return &kill{text, "correct lifecycle.postStart"}
		}
	}
	if failed := x.probeExit(events, last); failed != "" {
		return &kill{"its probe failed: " + failed, probeRemedy}
	}
	return nil
}

// closeTo reports whether a container ended soon after something that a kubelet ends it
// for. The kubelet's grace and delayed reports lie between the two.
func closeTo(finished, cause time.Time) bool {
	before := finished.Sub(cause)
	return !finished.IsZero() && before > -time.Minute && before < 2*time.Minute
}

var missingObject = regexp.MustCompile(`(?i)\b(secret|configmap|persistentvolumeclaim|serviceaccount)s? \\?"([^"\\]+)\\?" not found`)
var missingKey = regexp.MustCompile(`(?i)couldn't find key ([^ ]+) in (Secret|ConfigMap) ([^ ]+)`)
var missingKeys = regexp.MustCompile(`(?i)references non-existent (secret|config) key: ([^ ]+)`)

// kindNames are the names of kinds as people write them.
var kindNames = map[string]string{
	"secret": "Secret", "configmap": "ConfigMap", "persistentvolumeclaim": "PersistentVolumeClaim", "serviceaccount": "ServiceAccount",
}

// missing returns the object to create, if a message of a kubelet says that none exists,
// or "".
func missing(message, namespace string) string {
	if m := missingObject.FindStringSubmatch(message); m != nil {
		name := m[2]
		if of, rest, found := strings.Cut(name, "/"); found && of == namespace {
			name = rest
		}
		return line("create the " + kindNames[strings.ToLower(m[1])] + " " + name + " in namespace " + namespace)
	}
	if m := missingKey.FindStringSubmatch(message); m != nil {
		return line("add the key " + m[1] + " to the " + m[2] + " " + strings.TrimPrefix(m[3], namespace+"/"))
	}
	if m := missingKeys.FindStringSubmatch(message); m != nil {
		return line("add the key " + m[2] + " to the " + map[string]string{"secret": "Secret", "config": "ConfigMap"}[strings.ToLower(m[1])] + " of the volume")
	}
	return ""
}
