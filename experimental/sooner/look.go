package main

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/experimental/sooner/internal/decide"
)

const (
	// mostListed is the number of pods up to which the runtime lists each of them.
	// Otherwise it lists all of the node, of which there are about 110.
	mostListed = 8
	// fullEvery is the longest time between a look at all pods and another look.
	fullEvery = time.Minute
	// shownEvery is the time between two lists of exited containers without static pods.
	shownEvery = 10 * time.Second
	// reachEvery is the time between two calls of the runtime while nothing is looked at.
	reachEvery = 10 * time.Second
)

// look holds the facts that the agent has in a turn.
type look struct {
	pods   map[string]*pod        // by UID
	static map[string]*corev1.Pod // by namespace and name
	exited map[string]string      // the pod's UID, by the container's id
	listed map[string]bool        // UIDs, or nil if the look is at all pods
}

// optedIn reports whether any pod has opted in.
func (l *look) optedIn() bool {
	for _, p := range l.pods {
		if p.OptedIn() {
			return true
		}
	}
	return false
}

// pod returns a pod, or nil. l may be nil.
func (l *look) pod(uid string) *pod {
	if l == nil {
		return nil
	}
	return l.pods[uid]
}

func (l *look) lists(uid string) bool { return l.listed == nil || l.listed[uid] }

// poll lists the exited containers, if a turn has not done so a moment ago. The exits of
// other pods than static ones matter only once the API server shows them.
func (a *agent) poll(ctx context.Context, l *look) error {
	every := shownEvery
	if len(l.static) > 0 {
		every = decide.Poll
	}
	if a.last != nil && !a.ending && a.clock.Since(a.polled) < every {
		l.exited = a.last.exited
		return nil
	}
	exited, err := a.node.exited(ctx)
	if err != nil {
		return err
	}
	l.exited = make(map[string]string, len(exited))
	for _, c := range exited {
		l.exited[c.Id] = c.Labels[labelPodUID]
	}
	a.polled = a.clock.Now()
	return nil
}

// wants reports whether anything has changed since the last look, or is due, and sets
// the pods to be listed.
func (a *agent) wants(l *look) bool {
	if a.last == nil || a.ending || a.replaced {
		return true
	}
	l.listed = a.state.Due(a.clock.Since(a.began))
	for uid := range differing(l.pods, a.last.pods) {
		p, old := l.pods[uid], a.last.pods[uid]
		if p != nil && p.OptedIn() || old != nil && old.OptedIn() && !old.Static {
			l.listed[uid] = true
		}
	}
	for id := range differing(l.exited, a.last.exited) {
		uid := l.exited[id] + a.last.exited[id] // one is empty
		if p := l.pods[uid]; len(l.static) > 0 || p != nil && p.OptedIn() {
			l.listed[uid] = true
		}
	}
	if len(l.listed) == 0 {
		return false
	}
	if len(l.listed) > mostListed || len(l.static) > 0 || a.clock.Since(a.full) >= fullEvery {
		l.listed = nil
	}
	return true
}

// differing returns the keys that only one of the maps has, or whose values differ.
func differing[K, V comparable](a, b map[K]V) map[K]bool {
	keys := make(map[K]bool)
	for k, v := range a {
		if other, ok := b[k]; !ok || other != v {
			keys[k] = true
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			keys[k] = true
		}
	}
	return keys
}

// look lists the pods and decides.
func (a *agent) look(ctx context.Context, l *look) (decide.Plan, error) {
	boxes, containers, err := a.list(ctx, l.listed)
	if err != nil {
		return decide.Plan{}, err
	}
	o := decide.Observation{
		Now: a.clock.Now().Round(0), Elapsed: a.clock.Since(a.began), Listed: l.listed, End: a.ending, DryRun: a.dryRun,
	}
	manifests := make(map[string]*corev1.Pod)
	for _, b := range boxes {
		uid := b.Labels[labelPodUID]
		o.Sandboxes = append(o.Sandboxes, decide.Sandbox{
			ID: b.Id, Pod: uid, Created: time.Unix(0, b.CreatedAt), Ready: b.State == cri.PodSandboxState_SANDBOX_READY,
		})
		name := b.Labels[labelPodNamespace] + "/" + b.Labels[labelPodName]
		p := l.static[name]
		before := p // a new sandbox may be of the earlier manifest
		if a.last != nil {
			before = cmp.Or(a.last.static[name], p)
		}
		if first := cmp.Or(a.manifestOf[uid], before); first != nil {
			manifests[uid] = first // also while the manifest is missing or has a mistake
		}
		if p != nil && l.pods[uid] == nil && covers(a.namespaces, p.Namespace) {
			n := a.staticPod(p, uid)
			n.Ended = n.Ended || superseded(manifests[uid], p, uid)
			l.pods[uid] = n
		}
	}
	if l.listed == nil {
		a.manifestOf = manifests
	}
	if o.Records, err = a.records(ctx, containers, l); err != nil {
		return decide.Plan{}, err
	}
	for _, p := range l.pods {
		o.Pods = append(o.Pods, p.Pod)
	}
	if l.listed == nil {
		a.full = a.clock.Now()
	}
	return a.state.Step(o), nil
}

// superseded reports whether a static pod, first seen with one manifest, gives way to a pod of
// another. The kubelet derives a pod's UID from its manifest, unless that has one itself, and
// ends the pod of the former UID before it starts the next. A change without a meaning to the
// kubelet, such as a default value written out, counts too: that pod is left to the kubelet.
func superseded(first, now *corev1.Pod, uid string) bool {
	return string(now.UID) != uid && !reflect.DeepEqual(first, now)
}

// staticPod returns a pod of a manifest, and logs the mistakes in its annotation, since
// the API server may not know the pod.
func (a *agent) staticPod(p *corev1.Pod, uid string) *pod {
	old := a.last.pod(uid)
	n := newStaticPod(p, a.rules, old, uid)
	if n.note != (note{}) && (old == nil || old.note != n.note) {
		a.log.Warn("wrong annotation", "pod", n, "reason", n.note.reason, "err", n.note.text)
	}
	return n
}

// list returns the sandboxes and containers of some pods or, if uids is nil, of all.
func (a *agent) list(ctx context.Context, uids map[string]bool) (boxes []*cri.PodSandbox, containers []*cri.Container, err error) {
	selectors := []map[string]string{nil}
	if uids != nil {
		selectors = nil
	}
	for uid := range uids {
		selectors = append(selectors, map[string]string{labelPodUID: uid})
	}
	for _, labels := range selectors {
		b, err := a.node.sandboxes(ctx, labels)
		if err != nil {
			return nil, nil, err
		}
		c, err := a.node.containers(ctx, &cri.ContainerFilter{LabelSelector: labels})
		if err != nil {
			return nil, nil, err
		}
		boxes, containers = append(boxes, b...), append(containers, c...)
	}
	return boxes, containers, nil
}

// detail is the status of an exited container, and the path of its log.
type detail struct {
	pod    string
	record decide.Record
	log    string
	failed bool // the runtime cannot tell the status
}

// records converts containers, with the statuses of exited ones of pods that have opted in.
func (a *agent) records(ctx context.Context, containers []*cri.Container, l *look) ([]decide.Record, error) {
	var records []decide.Record
	seen := make(map[string]bool)
	for _, c := range containers {
		r := decide.Record{
			ID: c.Id, Sandbox: c.PodSandboxId, Pod: c.Labels[labelPodUID], Name: c.Labels[labelContainer],
			State: stateOf(c.State), Created: time.Unix(0, c.CreatedAt),
		}
		if p := l.pods[r.Pod]; r.State == decide.Exited && p != nil && p.OptedIn() {
			d, ok := a.details[c.Id]
			if !ok || !d.record.Created.Equal(r.Created) || !d.record.Detailed {
				told := d.failed
				var err error
				if d, err = a.detail(ctx, r); silent(err) {
					return nil, err
				}
				if d.failed = err != nil; d.failed && !told {
					a.failed("status", err, "pod", p, "container", r.Name)
				}
			}
			d.pod = r.Pod
			a.details[c.Id] = d
			seen[c.Id] = true
			if d.record.Detailed {
				r = d.record
				r.NextCount = nextCount(d.log)
			}
			a.images[r.Pod+"/"+r.Name] = c.Image
		}
		records = append(records, r)
	}
	maps.DeleteFunc(a.details, func(id string, d detail) bool { return !seen[id] && l.lists(d.pod) })
	maps.DeleteFunc(a.images, func(container string, _ *cri.ImageSpec) bool {
		uid, _, _ := strings.Cut(container, "/")
		return l.pods[uid] == nil
	})
	return records, nil
}

func stateOf(s cri.ContainerState) decide.RecordState {
	switch s {
	case cri.ContainerState_CONTAINER_CREATED:
		return decide.Created
	case cri.ContainerState_CONTAINER_RUNNING:
		return decide.Running
	case cri.ContainerState_CONTAINER_EXITED:
		return decide.Exited
	}
	return decide.Unknown
}

// detail reads the status of an exited container. It is not Detailed if the container is
// gone, runs again, or is another one with the same id.
func (a *agent) detail(ctx context.Context, r decide.Record) (detail, error) {
	s, err := a.node.status(ctx, r.ID)
	if err != nil || s == nil || s.State != cri.ContainerState_CONTAINER_EXITED || s.CreatedAt != r.Created.UnixNano() {
		return detail{}, err
	}
	count, err := strconv.ParseInt(s.Annotations[annotationCount], 10, 32)
	if err != nil {
		return detail{}, nil // not the kubelet's
	}
	r.Detailed, r.Code, r.Reason, r.RestartCount = true, s.ExitCode, s.Reason, count
	if s.FinishedAt > 0 {
		r.Finished = time.Unix(0, s.FinishedAt)
	}
	if s.StartedAt > 0 {
		r.Started = time.Unix(0, s.StartedAt)
	}
	return detail{record: r, log: s.LogPath}, nil
}
