package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// pod is a pod with the parts that only the shell needs.
type pod struct {
	decide.Pod
	namespace, name string
	invalid         error // of its annotation
	text            string
}

func (p *pod) String() string { return p.namespace + "/" + p.name }

// watched reports whether decisions about the pod are wanted.
func (p *pod) watched() bool { return p.Rules != nil || p.Now != "" }

// folder returns the name of the pod's log folder.
func (p *pod) folder() string { return p.namespace + "_" + p.name + "_" + p.UID }

// slim reduces a pod to the fields that newPod reads, to save memory.
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
	containers := func(all []corev1.Container) (slim []corev1.Container) {
		for _, c := range all {
			slim = append(slim, corev1.Container{
				Name: c.Name, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules, StartupProbe: c.StartupProbe,
			})
		}
		return slim
	}
	statuses := func(all []corev1.ContainerStatus) (slim []corev1.ContainerStatus) {
		for _, c := range all {
			slim = append(slim, corev1.ContainerStatus{
				Name: c.Name, Started: c.Started,
				State:                corev1.ContainerState{Terminated: c.State.Terminated},
				LastTerminationState: corev1.ContainerState{Terminated: c.LastTerminationState.Terminated},
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

// newPod returns a pod with the rules of its annotation or, without one, those of all
// pods. If the annotation is that of old, it is not parsed again. old may be nil.
func newPod(p *corev1.Pod, all *restartrules.Rules, old *pod) *pod {
	n := &pod{
		namespace: p.Namespace, name: p.Name,
		Pod: decide.Pod{UID: string(p.UID), Ended: ended(p), Now: p.Annotations[annotationNow], Rules: all},
	}
	if text, ok := p.Annotations[annotationRules]; ok {
		if n.text = text; old != nil && old.text == text && text != "" {
			n.Rules, n.invalid = old.Rules, old.invalid
		} else if n.Rules, n.invalid = restartrules.Parse(text); n.invalid != nil {
			n.Rules, n.invalid = nil, fmt.Errorf("annotation %s: %w", annotationRules, n.invalid)
		}
		if n.invalid != nil {
			n.Now = ""
		}
	}
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

// ended reports whether the kubelet ends the pod, or all its containers at once.
func ended(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
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
