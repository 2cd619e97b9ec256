package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/pleg"
)

// A reportModel is a runtime and a generator that looks now and then; events may
// be merged into a PodSync, and the runtime's events may come early or never.
type reportModel struct {
	cache    *pleg.Cache[string, *status]
	exits    exits
	reporter *reporter
	recorder *recorder
	now      time.Time

	truth  map[string]map[string]*modelContainer // by pod
	done   map[string]fate                       // of what cannot go unnoticed
	seen   map[string]map[string]pleg.State      // at the last look
	queue  map[string][]pleg.Event[string]
	merged map[string]bool // containers with events that became part of a PodSync
	codes  map[string]int32
	serial int
}

type modelContainer struct {
	state pleg.State
	code  int32
}

func newReportModel() *reportModel {
	m := &reportModel{
		cache: pleg.NewCache[string](pleg.CacheOptions[*status]{MaxSkew: -1}), recorder: &recorder{},
		now:   time.Unix(1e9, 0),
		truth: map[string]map[string]*modelContainer{}, done: map[string]fate{},
		seen: map[string]map[string]pleg.State{}, queue: map[string][]pleg.Event[string]{},
		merged: map[string]bool{}, codes: map[string]int32{},
	}
	m.reporter = newReporter(m.cache, &m.exits, func() time.Time { return m.now }, func(l line) { _ = m.recorder.line(l) })
	return m
}

func (m *reportModel) containers() (pods []string, all map[string]string) {
	all = map[string]string{}
	for pod, cs := range m.truth {
		for id := range cs {
			all[id] = pod
		}
	}
	return slices.Sorted(maps.Keys(m.truth)), all
}

// status is what the runtime reports of a pod.
func (m *reportModel) status(pod string) *status {
	st := &status{sandbox: &cri.PodSandboxStatus{Id: pod}}
	for _, id := range slices.Sorted(maps.Keys(m.truth[pod])) {
		c := m.truth[pod][id]
		st.containers = append(st.containers, &cri.ContainerStatus{Id: id, State: cri.ContainerState(c.state - 1), ExitCode: c.code})
	}
	return st
}

// look is what the generator does with a pod: the cache first, then the events.
func (m *reportModel) look(pod string) {
	m.now = m.now.Add(time.Second)
	now := map[string]pleg.State{}
	if m.truth[pod] == nil {
		m.cache.Delete(pod, m.now)
	} else {
		st := m.status(pod)
		m.exits.record(pod, st.containers, time.Time{})
		m.cache.Set(pod, st, nil, m.now)
		now[pod] = pleg.StateRunning
		for id, c := range m.truth[pod] {
			now[id] = c.state
		}
	}
	emit := func(id string, types ...pleg.EventType) {
		for _, t := range types {
			m.queue[pod] = append(m.queue[pod], pleg.Event[string]{Pod: pod, Type: t, Container: id})
		}
	}
	old := m.seen[pod]
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if state := now[id]; state > old[id] {
			emit(id, []pleg.EventType{pleg.ContainerChanged, pleg.ContainerStarted, pleg.ContainerDied}[state-1])
			if state == pleg.StateExited {
				v := m.done[id]
				v.exited = true
				m.done[id] = v
			}
		}
		if _, ok := m.done[id]; !ok {
			m.done[id] = fate{}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(old)) {
		if _, there := now[id]; !there {
			if old[id] != pleg.StateExited {
				emit(id, pleg.ContainerDied)
			}
			emit(id, pleg.ContainerRemoved)
			v := m.done[id]
			v.hasty, v.exited, v.removed = v.hasty || !v.exited, true, true
			m.done[id] = v
		}
	}
	m.seen[pod] = now
}

// merge replaces what is due of a pod.
func (m *reportModel) merge(pod string, by ...pleg.Event[string]) {
	for _, e := range m.queue[pod] {
		m.merged[e.Container] = true
	}
	m.queue[pod] = by
}

// exit ends a container, and perhaps an event reports it.
func (m *reportModel) exit(t *rapid.T, pod, id string) {
	c := m.truth[pod][id]
	c.state, c.code = pleg.StateExited, int32(m.serial)
	m.codes[id] = c.code
	if rapid.Bool().Draw(t, "reported") {
		m.exits.record(pod, m.status(pod).containers, m.now)
	}
}

// Whatever is merged, lost and late: every exit and removal that the generator saw
// is reported once and in order, and so is an exit that only an event reported.
func TestReporterReportsEveryExitOnce(t *testing.T) {
	merges, early := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := newReportModel()
		draw := func(running bool) (pod, id string) {
			_, all := m.containers()
			ids := slices.Sorted(maps.Keys(all))
			ids = slices.DeleteFunc(ids, func(id string) bool { return running && m.truth[all[id]][id].state == pleg.StateExited })
			if len(ids) == 0 {
				t.Skip("no container")
			}
			id = rapid.SampledFrom(ids).Draw(t, "container")
			return all[id], id
		}
		t.Repeat(map[string]func(*rapid.T){
			"pod": func(t *rapid.T) {
				m.serial++
				m.truth[fmt.Sprint("p", m.serial)] = map[string]*modelContainer{}
			},
			"container": func(t *rapid.T) {
				pods, _ := m.containers()
				if len(pods) == 0 {
					t.Skip("no pod")
				}
				m.serial++
				m.truth[rapid.SampledFrom(pods).Draw(t, "pod")][fmt.Sprint("c", m.serial)] = &modelContainer{state: pleg.StateCreated}
			},
			"start": func(t *rapid.T) {
				pod, id := draw(true)
				m.truth[pod][id].state = pleg.StateRunning
			},
			"exit": func(t *rapid.T) {
				m.serial++
				pod, id := draw(true)
				m.exit(t, pod, id)
			},
			"remove": func(t *rapid.T) {
				pod, id := draw(false)
				delete(m.truth[pod], id)
				if rapid.Bool().Draw(t, "reported") {
					m.exits.ended(pod, id, m.now, true)
				}
			},
			"remove pod": func(t *rapid.T) {
				pods, _ := m.containers()
				if len(pods) == 0 {
					t.Skip("no pod")
				}
				delete(m.truth, rapid.SampledFrom(pods).Draw(t, "pod"))
			},
			"look": func(t *rapid.T) {
				all := map[string]bool{}
				for pod := range m.truth {
					all[pod] = true
				}
				for pod := range m.seen {
					all[pod] = true
				}
				if len(all) > 0 {
					m.look(rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "pod"))
				}
			},
			"merge": func(t *rapid.T) {
				for _, pod := range slices.Sorted(maps.Keys(m.queue)) {
					if len(m.queue[pod]) > 0 && rapid.Bool().Draw(t, "merge "+pod) {
						m.merge(pod, pleg.Event[string]{Pod: pod, Type: pleg.PodSync})
						merges++
					}
				}
			},
			"everything": func(t *rapid.T) { // instead of all that is due
				for pod := range m.queue {
					m.merge(pod)
				}
				m.reporter.handle(pleg.Event[string]{Type: pleg.PodSync})
			},
			"read": func(t *rapid.T) {
				for _, pod := range slices.Sorted(maps.Keys(m.queue)) {
					for _, e := range m.queue[pod] {
						m.reporter.handle(e)
					}
					delete(m.queue, pod)
				}
			},
		})
		for pod := range maps.Clone(m.seen) {
			m.look(pod)
		}
		for _, events := range m.queue {
			for _, e := range events {
				m.reporter.handle(e)
			}
		}
		for _, l := range m.recorder.lines { // what no look has shown
			if _, ok := m.done[l.container]; !ok && l.container != "" {
				early++
				m.done[l.container] = fate{exited: true, hasty: true, removed: m.recorder.has(l.container, pleg.ContainerRemoved)}
			}
		}
		for id, v := range m.done {
			v.code = m.codes[id]
			if m.merged[id] && v.removed {
				// It came and went in one PodSync, perhaps: its end is reported, if the
				// runtime reported it.
				lines := m.recorder.of(id)
				if _, ended := m.exits.of(id); len(lines) == 0 && !ended {
					delete(m.done, id)
					continue
				}
				v.removed = len(lines) != 1 || lines[0].event != pleg.ContainerDied
			}
			m.done[id] = v
		}
		m.recorder.check(quietly{t}, m.done)
		for pod, p := range m.reporter.pods {
			if m.truth[pod] == nil {
				t.Errorf("a pod that is gone is kept: %v", p)
			}
		}
	})
	t.Logf("%d merges, %d exits reported by events alone", merges, early)
	if merges == 0 || early == 0 {
		t.Error("the model did not do what it is for")
	}
}

// What came and went without ever being in the cache is reported at the next PodSync,
// of its pod or of all, once.
func TestExitKnownOnlyFromAnEventIsReported(t *testing.T) {
	for _, sync := range []string{"p", ""} {
		m := newReportModel()
		m.exits.record("p", []*cri.ContainerStatus{{Id: "coded", State: cri.ContainerState_CONTAINER_EXITED, ExitCode: 3}}, m.now)
		m.exits.ended("p", "stopped", m.now, false)
		m.exits.ended("p", "deleted", m.now, true)
		m.exits.ended("p", "both", m.now, false)
		m.exits.ended("p", "both", m.now, true)
		m.exits.ended("p", "p", m.now, true)
		m.exits.ended("p", "late", m.now, true) // its status comes after it
		m.exits.record("p", []*cri.ContainerStatus{{Id: "late", State: cri.ContainerState_CONTAINER_EXITED, ExitCode: 4}}, m.now)
		m.exits.ended("q", "other", m.now, true)
		m.exits.ended("p", "earlier", m.now.Add(-time.Second), true) // replayed
		for range 2 {
			m.reporter.handle(pleg.Event[string]{Pod: sync, Type: pleg.PodSync})
		}
		for id, want := range map[string][]string{
			"coded":   {"ContainerDied 3"},
			"stopped": {"ContainerDied"},
			"deleted": {"ContainerDied", "ContainerRemoved"},
			"both":    {"ContainerDied", "ContainerRemoved"},
			"p":       {"ContainerDied", "ContainerRemoved"},
			"late":    {"ContainerDied 4", "ContainerRemoved"},
			"earlier": {"ContainerDied", "ContainerRemoved"},
			"other":   map[string][]string{"": {"ContainerDied", "ContainerRemoved"}}[sync],
		} {
			if diff := cmp.Diff(want, story(m.recorder, id)); diff != "" {
				t.Errorf("%q, %s (-want +got):\n%s", sync, id, diff)
			}
		}
		for id, want := range map[string]bool{"deleted": false, "earlier": true} {
			if l := m.recorder.of(id)[0]; l.before != want || l.happened.IsZero() {
				t.Errorf("%q, %s: before %v, happened %v", sync, id, l.before, l.happened)
			}
		}
		if len(m.reporter.pods) > 0 {
			t.Errorf("it keeps %v", m.reporter.pods)
		}
	}
}

// quietly is a test that does not log.
type quietly struct{ *rapid.T }

func (quietly) Logf(string, ...any) {}
