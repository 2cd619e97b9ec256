package pleg

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A life is the script of a test for one pod: questions, answers and events at ticks in order.
type life struct {
	pod    pod[string]
	former formerContainers[string]
}

// containersOf reads containers such as "a:running b:exited".
func containersIn(text string) (list []Container) {
	states := map[string]State{"unknown": StateUnknown, "created": StateCreated, "running": StateRunning, "exited": StateExited}
	for s := range strings.FieldsSeq(text) {
		id, state, _ := strings.Cut(s, ":")
		list = append(list, Container{ID: id, State: states[state]})
	}
	return list
}

// list answers a full list, and inspect an inspection, that was asked for at began and ends now.
func (l *life) list(seen string, began, now tick) string {
	steps, inspect, unseen := l.pod.list(containersIn(seen), began, now, &l.former)
	return fmt.Sprintf("%d changed, inspect %v, %d unseen", steps, inspect, unseen)
}

func (l *life) inspect(seen string, began, now tick) string {
	steps, again := l.pod.inspect(containersIn(seen), began, now, &l.former)
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%s %s", s.event, s.container)
		if s.end != nil {
			fmt.Fprintf(&b, " (%s)", s.end.exit.Source)
		}
		b.WriteString(", ")
	}
	if again {
		b.WriteString("again, ")
	}
	behind, _ := l.pod.behind(began, &l.former)
	if behind {
		b.WriteString("behind, ")
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// Each row is the life of a pod. The ticks say which answers overlap.
func TestPodTakesAnswersInAnyOrder(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(l *life) []string
		want []string
	}{
		{"a list and an inspection", func(l *life) []string {
			return []string{l.list("a:running", 1, 2), l.inspect("a:running", 3, 4), l.list("a:running", 5, 6), l.list("a:running", 7, 8)}
		}, []string{"1 changed, inspect true, 0 unseen", "ContainerStarted a", "0 changed, inspect false, 0 unseen", "0 changed, inspect false, 0 unseen"}},
		{"absence needs an inspection that begins later", func(l *life) []string {
			return []string{l.inspect("a:running", 1, 2), l.list("", 3, 4), l.list("", 5, 6), l.inspect("", 7, 8)}
		}, []string{"ContainerStarted a", "1 changed, inspect true, 0 unseen", "0 changed, inspect true, 0 unseen", "ContainerDied a (inferred), ContainerRemoved a"}},
		{"a list that is wrong", func(l *life) []string {
			return []string{l.inspect("a:running", 1, 2), l.list("", 3, 4), l.inspect("a:running", 5, 6), l.list("a:running", 7, 8)}
		}, []string{"ContainerStarted a", "1 changed, inspect true, 0 unseen", "", "0 changed, inspect false, 0 unseen"}},
		{"a list shows what an overlapping inspection lacks", func(l *life) []string {
			return []string{l.list("a:running", 1, 4), l.inspect("", 3, 5), l.inspect("a:running", 6, 7)}
		}, []string{"1 changed, inspect true, 0 unseen", "again", "ContainerStarted a"}},
		{"a list shows what no inspection shows any more", func(l *life) []string {
			return []string{l.list("a:exited", 1, 4), l.inspect("", 3, 5), l.inspect("", 6, 7)}
		}, []string{"1 changed, inspect true, 0 unseen", "again", "ContainerDied a (shown), ContainerRemoved a"}},
		{"an overlapping list lacks what an inspection has shown", func(l *life) []string {
			return []string{l.inspect("a:running", 2, 3), l.list("", 1, 4), l.inspect("a:running", 5, 6)}
		}, []string{"ContainerStarted a", "0 changed, inspect true, 0 unseen", ""}},
		{"a quiet list overlaps with an inspection that finds the removal", func(l *life) []string {
			l.inspect("a:running", 1, 2)
			l.list("a:running", 3, 4)
			return []string{l.list("a:running", 5, 8), l.inspect("", 7, 9), l.inspect("", 10, 11)}
		}, []string{"0 changed, inspect false, 0 unseen", "again", "ContainerDied a (inferred), ContainerRemoved a"}},
		{"a late list brings nothing back", func(l *life) []string {
			return []string{l.inspect("a:exited", 1, 2), l.inspect("", 4, 5), l.list("a:exited", 3, 6), l.inspect("", 7, 8)}
		}, []string{"ContainerDied a (shown)", "ContainerRemoved a", "0 changed, inspect true, 0 unseen", ""}},
		{"a later one does", func(l *life) []string {
			return []string{l.inspect("a:exited", 1, 2), l.inspect("", 3, 4), l.list("a:exited", 5, 6), l.inspect("a:exited", 7, 8), l.inspect("", 9, 10)}
		}, []string{"ContainerDied a (shown)", "ContainerRemoved a", "1 changed, inspect true, 0 unseen", "ContainerChanged a (shown)", "ContainerChanged a"}},
		{"an expected container ends after a list and an inspection", func(l *life) []string {
			l.pod.expect(Container{ID: "a"}, 2)
			return []string{l.inspect("", 1, 3), l.inspect("", 4, 5), l.list("", 1, 6), l.inspect("", 7, 8), l.list("", 9, 10), l.inspect("", 11, 12)}
		}, []string{"", "", "0 changed, inspect false, 0 unseen", "", "0 changed, inspect true, 0 unseen", " a (inferred)"}},
		{"an event ahead of the answers", func(l *life) []string {
			l.pod.event(RuntimeEvent[string]{Container: "a", Type: RuntimeEventStarted}, 1, &l.former)
			return []string{l.inspect("a:created", 2, 3), l.inspect("a:running", 4, 5), l.inspect("a:running", 6, 7)}
		}, []string{"ContainerChanged a, behind", "ContainerStarted a", ""}},
		{"an event during an inspection", func(l *life) []string {
			l.pod.event(RuntimeEvent[string]{Container: "a", Type: RuntimeEventStarted}, 2, &l.former)
			return []string{l.inspect("", 1, 3), l.inspect("", 4, 5), l.list("", 1, 6), l.inspect("", 7, 8), l.list("", 9, 10), l.inspect("", 11, 12)}
		}, []string{"", "behind", "0 changed, inspect false, 0 unseen", "behind", "0 changed, inspect false, 1 unseen", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &life{pod: newPod("p")}
			if got := tt.do(l); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if err := l.pod.valid(&l.former); err != nil {
				t.Error(err)
			}
		})
	}
}
