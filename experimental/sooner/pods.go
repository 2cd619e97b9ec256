package main

import (
	"crypto/sha256"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/backoff/lint"
	"github.com/restartkit/restart/experimental/sooner/internal/decide"
	"github.com/restartkit/restart/kube/convert"
	"github.com/restartkit/restart/kube/restartrules"
)

// The annotations of a pod.
const (
	annotationRules = restartrules.Annotation
	annotationNow   = "restartkit.dev/restart-now"
	annotationPoked = "restartkit.dev/poked"

	annotationMirror = corev1.MirrorPodAnnotationKey
)

// tooLong stands for each annotation of rules too long to be read, so that many of
// them take no memory.
var tooLong = strings.Repeat(" ", restartrules.MaxBytes+1)

// pod is a pod with the parts that only the shell needs.
type pod struct {
	decide.Pod
	name string
	text string // of its annotation of rules
	note note
}

// note is the text of an Event about a pod's annotation of rules, or zero.
type note struct{ reason, text string }

// The reasons of Events.
const (
	reasonInvalid     = "InvalidRestartRules"     // the pod is left to the kubelet
	reasonUnreachable = "UnreachableRestartRules" // a rule decides on no exit; the others hold
)

// longestNote is the API server's limit of an Event's message.
const longestNote = 1024

func newNote(reason, text string) note {
	text = "annotation " + annotationRules + ": " + text
	if len(text) > longestNote {
		text = strings.ToValidUTF8(text[:longestNote-3], "") + "..."
	}
	return note{reason, text}
}

func (p *pod) String() string { return p.Namespace + "/" + p.name }

// folder returns the name of the pod's log folder.
func (p *pod) folder() string { return p.Namespace + "_" + p.name + "_" + p.UID }

// slim reduces a pod to the fields that newPod reads, to save memory. Text that a user writes into
// the annotation of rules is kept only if newPod reads it.
func slim(object any) (any, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	s := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
			DeletionTimestamp: p.DeletionTimestamp, Annotations: map[string]string{},
		},
		Spec:   corev1.PodSpec{RestartPolicy: p.Spec.RestartPolicy},
		Status: corev1.PodStatus{Phase: p.Status.Phase},
	}
	for _, name := range []string{annotationRules, annotationNow, annotationMirror} {
		if value, ok := p.Annotations[name]; ok {
			s.Annotations[name] = value
		}
	}
	if over(p) {
		delete(s.Annotations, annotationRules)
		delete(s.Annotations, annotationNow)
		return s, nil
	}
	if rules, ok := s.Annotations[annotationRules]; ok {
		s.Annotations[annotationRules] = bounded(rules)
	}
	if now, ok := s.Annotations[annotationNow]; ok {
		s.Annotations[annotationNow] = digest(now)
	}
	containers := func(all []corev1.Container) (slim []corev1.Container) {
		for _, c := range all {
			short := corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules}
			if c.StartupProbe != nil {
				short.StartupProbe = &corev1.Probe{}
			}
			slim = append(slim, short)
		}
		return slim
	}
	exit := func(t *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
		if t == nil {
			return nil
		}
		return &corev1.ContainerStateTerminated{ContainerID: t.ContainerID, FinishedAt: t.FinishedAt}
	}
	statuses := func(all []corev1.ContainerStatus) (slim []corev1.ContainerStatus) {
		for _, c := range all {
			slim = append(slim, corev1.ContainerStatus{
				Name: c.Name, Started: c.Started,
				State:                corev1.ContainerState{Terminated: exit(c.State.Terminated)},
				LastTerminationState: corev1.ContainerState{Terminated: exit(c.LastTerminationState.Terminated)},
			})
		}
		return slim
	}
	s.Spec.InitContainers, s.Spec.Containers = containers(p.Spec.InitContainers), containers(p.Spec.Containers)
	s.Status.InitContainerStatuses, s.Status.ContainerStatuses = statuses(p.Status.InitContainerStatuses), statuses(p.Status.ContainerStatuses)
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.AllContainersRestarting {
			s.Status.Conditions = append(s.Status.Conditions, c)
		}
	}
	return s, nil
}

// bounded returns the text of an annotation of rules, or tooLong in its place.
func bounded(text string) string {
	if len(text) > restartrules.MaxBytes {
		return tooLong
	}
	return text
}

// digest returns a value of the annotation restart-now, or a hash of a long one. Only changes
// matter.
func digest(now string) string {
	if len(now) <= 2*sha256.Size {
		return now
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(now)))
}

// newPod returns a pod with the rules of its annotation or, without one, those of all
// pods. If the annotation is that of old, it is not parsed again. old may be nil. Of an
// ended pod, only the names are read.
func newPod(p *corev1.Pod, all *restartrules.Rules, old *pod) *pod {
	n := &pod{
		name: p.Name,
		Pod: decide.Pod{
			UID: string(p.UID), Namespace: p.Namespace, Ended: ended(p), Now: digest(p.Annotations[annotationNow]), Rules: all,
		},
	}
	if over(p) {
		n.Now, n.Rules = "", nil
		return n
	}
	text, ok := p.Annotations[annotationRules]
	n.text = bounded(text)
	switch {
	case !ok:
	case old != nil && old.text == n.text && text != "":
		n.Rules, n.note = old.Rules, old.note
	default:
		n.Rules, n.note = parseRules(n.text)
	}
	n.Invalid = n.note.reason == reasonInvalid
	started := make(map[string]bool)
	n.Shown = make(map[string]decide.Shown)
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			s := &statuses[i]
			started[s.Name] = s.Started != nil && *s.Started
			for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
				if t == nil || t.ContainerID == "" {
					continue
				}
				_, id, _ := strings.Cut(t.ContainerID, "://")
				n.Shown[id] = decide.Shown{Name: s.Name, Finished: t.FinishedAt.Time}
			}
		}
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		n.Containers = append(n.Containers, decide.Container{
			Name: c.Name, Policy: convert.ExitPolicy(&p.Spec, c), Init: true,
			Sidecar:     c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways,
			Initialized: started[c.Name],
		})
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		n.Containers = append(n.Containers, decide.Container{Name: c.Name, Policy: convert.ExitPolicy(&p.Spec, c)})
	}
	return n
}

// parseRules reads an annotation. If it is wrong, it returns no rules.
func parseRules(text string) (*restartrules.Rules, note) {
	if len(text) > restartrules.MaxBytes {
		return nil, newNote(reasonInvalid, fmt.Sprintf("longer than %d KiB", restartrules.MaxBytes>>10))
	}
	rules, err := restartrules.Parse(text)
	if err != nil {
		return nil, newNote(reasonInvalid, err.Error())
	}
	for _, f := range lint.Check(rules.ExitPolicy()) {
		// The kubelet may restart a container that a rule gives up, so failures in a row go on all the same.
		if f.Kind == lint.KindUnreachable && !strings.HasSuffix(f.Field, ".minFailures") {
			return rules, newNote(reasonUnreachable, f.Field+": "+f.Text)
		}
	}
	return rules, note{}
}

// over reports whether the pod has ended, or is about to, and none of its containers starts
// again.
func over(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// ended reports whether the kubelet ends the pod, or all its containers at once.
func ended(p *corev1.Pod) bool {
	if over(p) {
		return true
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.AllContainersRestarting && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// newStaticPod returns a pod of a manifest. Its UID is that of its sandbox.
func newStaticPod(p *corev1.Pod, all *restartrules.Rules, old *pod, uid string) *pod {
	n := newPod(p, all, old)
	n.UID, n.Static, n.Now = uid, true, ""
	for i := range n.Containers {
		c := &n.Containers[i]
		c.Initialized = c.Sidecar && p.Spec.InitContainers[i].StartupProbe == nil // init containers are the first
	}
	return n
}
