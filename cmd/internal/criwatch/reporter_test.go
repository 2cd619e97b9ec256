package criwatch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A reportModel is a runtime and a generator that looks now and then; events may
// be merged into a PodSync, and the runtime's events may come early or never.
type reportModel struct {
	cache    *statuscache.Cache[string, *status]
	exits    []pleg.Exit[string] // not read yet
	reporter *reporter
	recorder *recorder
	now      time.Time

	truth  map[string]map[string]*modelContainer // by pod
	done   map[string]fate                       // of what cannot go unnoticed
	seen   map[string]map[string]pleg.State      // at the last look
	alone  map[string][]string                   // by pod, ended containers that only an event has shown
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
		cache: statuscache.New[string](statuscache.Options[*status]{MaxSkew: -1}), recorder: &recorder{},
		now:   time.Unix(1e9, 0),
		truth: map[string]map[string]*modelContainer{}, done: map[string]fate{},
		seen: map[string]map[string]pleg.State{}, alone: map[string][]string{}, queue: map[string][]pleg.Event[string]{},
		merged: map[string]bool{}, codes: map[string]int32{},
	}
	m.reporter = m.newReporter()
	return m
}

func (m *reportModel) newReporter() *reporter {
	return newReporter(m.cache, m.next, func(string) time.Time { return m.now }, func() time.Time { return m.now }, func(l line) { _ = m.recorder.line(l) })
}

// resume replaces the reporter by one that continues from its state, as read from a file.
func (m *reportModel) resume(t *rapid.T) {
	var s state
	text, err := json.Marshal(state{Unreported: m.reporter.unreported(), Pods: m.reporter.pods})
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.reporter = m.newReporter()
	m.reporter.resume(&s)
	m.reporter.endUnreported()
}

// next is the generator's reader of exits.
func (m *reportModel) next() (x pleg.Exit[string], ok bool) {
	if len(m.exits) == 0 {
		return x, false
	}
	x, m.exits = m.exits[0], m.exits[1:]
	return x, true
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

// look is what the generator does with a pod: the cache first, then the events and
// the exits.
func (m *reportModel) look(pod string) {
	m.now = m.now.Add(time.Second)
	now := map[string]pleg.State{}
	if m.truth[pod] == nil {
		m.cache.Delete(pod, m.now)
	} else {
		m.cache.Set(pod, m.status(pod), nil, m.now)
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
				m.exit(pod, id, pleg.ExitShown)
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
			v := m.done[id]
			if old[id] != pleg.StateExited {
				emit(id, pleg.ContainerDied)
				if slices.Contains(m.alone[pod], id) {
					m.exit(pod, id, pleg.ExitToldByEvent)
				} else {
					v.hasty = true
					m.exit(pod, id, pleg.ExitInferred)
				}
			}
			emit(id, pleg.ContainerRemoved)
			v.exited, v.removed = true, true
			m.done[id] = v
		}
	}
	for _, id := range m.alone[pod] {
		if _, there := now[id]; !there && m.done[id] == (fate{}) {
			emit("", pleg.PodSync)
			m.exit(pod, id, pleg.ExitToldByEvent)
			m.done[id] = fate{exited: true, removed: true}
		}
	}
	delete(m.alone, pod)
	m.seen[pod] = now
}

// exit makes an exit due.
func (m *reportModel) exit(pod, id string, source pleg.ExitSource) {
	x := pleg.Exit[string]{Pod: pod, Container: id, Source: source, Known: source != pleg.ExitInferred}
	if x.Known {
		x.Details.Code = m.codes[id]
	}
	m.exits = append(m.exits, x)
}

// merge replaces what is due of a pod.
func (m *reportModel) merge(pod string, by ...pleg.Event[string]) {
	for _, e := range m.queue[pod] {
		m.merged[e.Container] = true
	}
	m.queue[pod] = by
}

// ended ends a container, and perhaps an event reports it.
func (m *reportModel) ended(t *rapid.T, pod, id string) {
	c := m.truth[pod][id]
	c.state, c.code = pleg.StateExited, int32(m.serial)
	m.codes[id] = c.code
	if rapid.Bool().Draw(t, "reported") {
		m.alone[pod] = append(m.alone[pod], id)
	}
}

// Every exit from the generator is reported once, with its code, in order with the
// container's other events, even if events are merged or late. So is every removal,
// unless it was merged with all earlier events.
func TestReporterReportsEveryExitOnce(t *testing.T) {
	merges, early, resumes := 0, 0, 0
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
				m.ended(t, pod, id)
			},
			"remove": func(t *rapid.T) {
				pod, id := draw(false)
				delete(m.truth[pod], id)
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
				for pod := range m.alone {
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
			"resume": func(t *rapid.T) {
				m.resume(t)
				resumes++
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
		for _, all := range []map[string]bool{keys(m.seen), keys(m.alone), keys(m.truth)} {
			for _, pod := range slices.Sorted(maps.Keys(all)) {
				m.look(pod)
			}
		}
		for _, pod := range slices.Sorted(maps.Keys(m.queue)) {
			for _, e := range m.queue[pod] {
				m.reporter.handle(e)
			}
		}
		m.reporter.handle(pleg.Event[string]{Type: pleg.PodSync})
		for id, v := range m.done {
			v.code = m.codes[id]
			if lines := m.recorder.of(id); len(lines) > 0 && lines[0].source == pleg.ExitToldByEvent {
				early++
			}
			m.done[id] = v
		}
		m.recorder.check(quietly{t}, m.done)
		for pod, p := range m.reporter.pods {
			if m.truth[pod] == nil {
				t.Errorf("a pod that is gone is kept: %v", p)
			}
		}
		if len(m.reporter.due) > 0 {
			t.Errorf("exits are kept: %v", m.reporter.due)
		}
	})
	t.Logf("%d merges, %d exits reported by events alone, %d reporters resumed", merges, early, resumes)
	if rapidseed.Fixed() && (merges == 0 || early == 0 || resumes == 0) {
		t.Error("the model did not do what it is for")
	}
}

// keys are the keys of a map.
func keys[V any](m map[string]V) map[string]bool {
	all := map[string]bool{}
	for k := range m {
		all[k] = true
	}
	return all
}

// A container that came and went between two updates of the cache is reported once, at
// the next PodSync of its pod or of all pods.
func TestExitKnownOnlyFromAnEventIsReported(t *testing.T) {
	for _, sync := range []string{"p", ""} {
		m := newReportModel()
		m.codes["coded"] = 3
		m.exit("p", "coded", pleg.ExitToldByEvent)
		m.exit("p", "p", pleg.ExitInferred)
		m.exit("q", "other", pleg.ExitInferred)
		for range 2 {
			m.reporter.handle(pleg.Event[string]{Pod: sync, Type: pleg.PodSync})
		}
		for id, want := range map[string][]string{
			"coded": {"ContainerDied 3", "ContainerRemoved"},
			"p":     {"ContainerDied", "ContainerRemoved"},
			"other": map[string][]string{"": {"ContainerDied", "ContainerRemoved"}}[sync],
		} {
			if diff := cmp.Diff(want, story(m.recorder, id)); diff != "" {
				t.Errorf("%q, %s (-want +got):\n%s", sync, id, diff)
			}
		}
		if len(m.reporter.pods) > 0 {
			t.Errorf("it keeps %v", m.reporter.pods)
		}
	}
}

// A container that has started and exited between two looks has a line for each.
func TestExitTellsOfAStartThatNobodySaw(t *testing.T) {
	m := newReportModel()
	m.exits = []pleg.Exit[string]{{Pod: "p", Container: "c", Known: true, Details: pleg.ExitDetails{Code: 3, Started: m.now, Finished: m.now}}}
	m.reporter.handle(pleg.Event[string]{Pod: "p", Type: pleg.ContainerDied, Container: "c"})
	if diff := cmp.Diff([]string{"ContainerStarted", "ContainerDied 3", "ContainerRemoved"}, story(m.recorder, "c")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An exit whose code is not known has the name that a list showed.
func TestInferredExitHasItsName(t *testing.T) {
	m := newReportModel()
	m.exits = []pleg.Exit[string]{{Pod: "p", Container: "c", Source: pleg.ExitInferred, Details: pleg.ExitDetails{Name: "main", Attempt: 3}}}
	m.reporter.handle(pleg.Event[string]{Pod: "p", Type: pleg.ContainerDied, Container: "c"})
	for _, l := range m.recorder.lines {
		if l.name != "main" || l.attempt != 3 {
			t.Errorf("%+v", l)
		}
	}
	if len(m.recorder.lines) == 0 {
		t.Error("nothing is reported")
	}
}

// quietly is a test that does not log.
type quietly struct{ *rapid.T }

func (quietly) Logf(string, ...any) {}
