package main

import (
	"slices"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

// look updates the tasks after an event.
func (l *crashLoop) look(e pleg.Event[string]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Pod != "" {
		l.lookAt(e.Pod)
		return
	}
	for pod := range l.cache.All() {
		l.lookAt(pod)
	}
	l.sweep()
}

// sweep forgets the containers of removed pods, after a full list.
func (l *crashLoop) sweep() {
	for _, t := range l.tasks {
		if !l.cache.Get(t.sandbox).Present {
			l.lookAt(t.sandbox)
		}
	}
}

// lookAt updates the tasks of a pod from the cache, because other programs may start
// and remove containers.
func (l *crashLoop) lookAt(pod string) {
	names := map[string]bool{}
	entry := l.cache.Get(pod)
	if entry.Present && entry.Status == nil {
		return // not inspected yet
	}
	if entry.Present {
		all := slices.Clone(entry.Status.containers)
		slices.SortFunc(all, func(a, b *containerStatus) int { return compareAttempts(a, b) })
		for _, c := range all {
			name := c.GetMetadata().GetName()
			names[name] = true
			k, ok := l.keyOf(pod, name)
			if !ok || l.policy.of(k) == nil {
				continue
			}
			t := l.task(k, pod)
			order := l.compareSandboxes(pod, t.sandbox)
			if t.container != c.Id && (order < 0 || order == 0 && !t.precedes(c)) {
				continue
			}
			t.sandbox = pod
			t.show(c.Id, c.GetMetadata().GetAttempt(), containerState(c.State), stamp(c.StartedAt))
			t.lost = c.State == cri.ContainerState_CONTAINER_UNKNOWN && t.decided != c.Id
			l.print(t)
		}
	}
	for k, t := range l.tasks {
		if t.sandbox != pod {
			continue
		}
		t.seen = true
		if !names[k.Name] && !t.busy {
			t.gone = true
			l.print(t)
			delete(l.tasks, k)
			l.back.Reset(k)
			l.retries.Reset(k)
		}
	}
	l.changed()
}
