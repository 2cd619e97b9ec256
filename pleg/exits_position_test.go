package pleg_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// IncludePast yields earlier exits to readers from before and after the first inspection.
func TestIncludePastYieldsEarlierExits(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.rt.ExitCode("p", "a", 3)
		w.pass(time.Second)
		w.up("b")
		w.rt.ExitCode("p", "b", 4)
		w.up("c")
		w.pass(2 * time.Second)
		_, first := w.follow(pleg.ExitOptions[string]{IncludePast: true})
		_, none := w.follow(pleg.ExitOptions[string]{})
		w.gen.Relist(w.ctx)
		_, late := w.follow(pleg.ExitOptions[string]{IncludePast: true})
		equal(t, "exits", first(), "a:shown 3 b:shown 4")
		equal(t, "exits from then on", none(), "")
		equal(t, "exits of a late reader", late(), "a:shown 3 b:shown 4")
		w.rt.ExitCode("p", "c", 5)
		w.gen.Relist(w.ctx)
		for _, exits := range []func() string{first, none, late} {
			equal(t, "exits", exits(), "c:shown 5")
		}
	})
}

// A program that resumes from its position gets each missing exit once.
func TestResumeYieldsEachExitOnce(t *testing.T) {
	setup{stream: true}.run(t, func(w *world) {
		for _, c := range []string{"taken", "pending", "running", "crashes", "vanishes", "goes-with-its-pod"} {
			pod := "p"
			if c == "goes-with-its-pod" {
				pod = "q"
			}
			w.rt.Create(pod, c)
			w.rt.Start(pod, c)
		}
		r, exits := w.follow(pleg.ExitOptions[string]{IncludePast: true})
		w.start()
		w.pass(5 * time.Second)
		w.rt.ExitCode("p", "taken", 1)
		w.pass(time.Second)
		equal(t, "exits", exits(), "taken:shown 1")
		w.rt.ExitCode("p", "pending", 2)
		w.pass(time.Second)
		place := stored(t, r.Position())
		w.stop()
		w.cache.Close()
		w.all.Wait()

		w.pass(time.Hour)
		w.rt.ExitCode("p", "crashes", 3)
		w.up("came")
		w.rt.ExitCode("p", "came", 4)
		w.rt.Exit("p", "vanishes")
		w.rt.Remove("p", "vanishes")
		w.rt.Remove("q", "goes-with-its-pod")

		*w = *w.again()
		r, exits = w.follow(pleg.ExitOptions[string]{Resume: place})
		equal(t, "exits before the first inspection", exits(), "pending:shown 2")
		w.start()
		w.pass(time.Second)
		got := exits() // those of two pods in any order
		if got != "vanishes:inferred came:shown 4 crashes:shown 3 goes-with-its-pod:inferred" {
			equal(t, "exits", got, "goes-with-its-pod:inferred vanishes:inferred came:shown 4 crashes:shown 3")
		}
		w.rt.ExitCode("p", "running", 5)
		w.pass(time.Second)
		equal(t, "exits", exits(), "running:shown 5")
		w.pass(time.Minute)
		equal(t, "exits", exits(), "")

		place = stored(t, r.Position())
		r.Close()
		_, exits = w.follow(pleg.ExitOptions[string]{Resume: place})
		w.gen.Relist(w.ctx)
		w.pass(time.Minute)
		equal(t, "exits in a second restart", exits(), "")
	})
}

// A position taken before the first answer keeps the contents of the resumed one.
func TestPositionBeforeFirstAnswerKeepsResumedOne(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("a")
		w.up("b")
		r, _ := w.follow(pleg.ExitOptions[string]{})
		w.gen.Relist(w.ctx)
		w.rt.ExitCode("p", "a", 1)
		w.gen.Relist(w.ctx)
		first := stored(t, r.Position())
		r.Close()
		r, _ = w.follow(pleg.ExitOptions[string]{Resume: first})
		if diff := cmp.Diff(sortedPods(*first), sortedPods(r.Position())); diff != "" {
			t.Errorf("the position of a reader that has done nothing:\n%s", diff)
		}
		*w = *w.again()
		w.rt.Remove("p", "b")
		r, exits := w.follow(pleg.ExitOptions[string]{Resume: first})
		if diff := cmp.Diff(sortedPods(*first), sortedPods(r.Position())); diff != "" {
			t.Errorf("the position of a reader whose generator has asked nothing:\n%s", diff)
		}
		equal(t, "exits", exits(), "a:shown 1")
		w.gen.Relist(w.ctx)
		equal(t, "exits", exits(), "b:inferred")
	})
}

// A position taken while no inspection has told when the containers of the first list ended
// remembers which they are. A container that came and ended after that is not one of them,
// even if the runtime knows no times.
func TestPositionWithUndecidedExits(t *testing.T) {
	setup{}.run(t, func(w *world) {
		exited := func(id string, exit *pleg.ExitDetails) pleg.Container {
			return pleg.Container{ID: id, State: pleg.StateExited, Exit: exit}
		}
		before := &pleg.ExitDetails{Code: 1, Finished: time.Now().Add(-time.Minute)}
		after := &pleg.ExitDetails{Code: 2, Finished: time.Now().Add(time.Minute)}
		lists := [][]pleg.Pod[string]{
			{pod("p", exited("before", nil), exited("after", nil), exited("gone", nil))},
			{pod("p", exited("before", nil), exited("after", nil), exited("new", nil))},
			{pod("p", exited("before", before), exited("after", after), exited("new", nil))},
		}
		var now atomic.Int32 // the list that is true
		rt := &scene{recorder: w.rt}
		rt.pods = func() ([]pleg.Pod[string], error) { return lists[now.Load()], nil }
		rt.pod = func(string) (pleg.Pod[string], *plegtest.Status, error) {
			if now.Load() < 2 {
				return pleg.Pod[string]{}, nil, errors.New("not yet")
			}
			return lists[2][0], &plegtest.Status{Listed: lists[2][0].Containers}, nil
		}
		w.replace(rt, false)
		r, exits := w.follow(pleg.ExitOptions[string]{})
		w.start()
		w.pass(20 * time.Second)
		first := stored(t, r.Position())
		equal(t, "exits", exits(), "")
		w.end()

		*w = *w.again()
		w.replace(rt, false)
		r, exits = w.follow(pleg.ExitOptions[string]{Resume: first})
		if diff := cmp.Diff(sortedPods(*first), sortedPods(r.Position())); diff != "" {
			t.Errorf("the position of a reader that has seen nothing:\n%s", diff)
		}
		now.Store(1)
		w.start()
		w.pass(20 * time.Second)
		equal(t, "exits while inspections fail", exits(), "new:shown ?")
		now.Store(2)
		w.pass(time.Minute)
		equal(t, "exits", exits(), "after:shown 2")
		x := r.Position().Pods[0]
		equal(t, "ended", strings.Join(x.Ended, " "), "after before new")
		equal(t, "undecided", len(x.Undecided), 0)
	})
}

// A Position taken after Close has everything that Close left open.
func TestPositionAfterClose(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("pending")
		w.up("later")
		w.start()
		w.pass(5 * time.Second)
		r, exits := w.follow(pleg.ExitOptions[string]{})
		w.rt.ExitCode("p", "pending", 1)
		w.pass(5 * time.Second)
		r.Close()
		r.Expect("p", pleg.Container{ID: "never"})
		w.rt.ExitCode("p", "later", 2)
		w.rt.Remove("p", "later")
		w.pass(5 * time.Second)
		before := stored(t, r.Position())
		equal(t, "exits after Close", exits(), "pending:shown 1")
		after := stored(t, r.Position())
		_, exits = w.follow(pleg.ExitOptions[string]{Resume: before})
		w.pass(5 * time.Second)
		equal(t, "exits from before", exits(), "pending:shown 1 later:inferred")
		_, exits = w.follow(pleg.ExitOptions[string]{Resume: after})
		w.pass(5 * time.Second)
		equal(t, "exits from after", exits(), "later:inferred")
	})
}

// A container with an empty id is like any other.
func TestPositionWithEmptyContainerID(t *testing.T) {
	setup{}.run(t, func(w *world) {
		w.up("")
		w.up("a")
		r, _ := w.follow(pleg.ExitOptions[string]{})
		w.gen.Relist(w.ctx)
		place := stored(t, r.Position())
		r, exits := w.follow(pleg.ExitOptions[string]{Resume: place})
		w.rt.ExitCode("p", "", 3)
		w.gen.Relist(w.ctx)
		place = stored(t, r.Position()) // where it is due, and ended
		equal(t, "exits", exits(), ":shown 3")
		_, exits = w.follow(pleg.ExitOptions[string]{Resume: place})
		equal(t, "exits of the next reader", exits(), ":shown 3")
	})
}

// No end is inferred while inspections of the pod fail.
func TestFailingPodInfersNoExit(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt}
		w.replace(rt, false)
		w.up("a")
		w.up("b")
		rt.fail(errors.New("no status today"))
		_, exits := w.follow(pleg.ExitOptions[string]{Resume: position(t, `{"pods": [{"pod": "p", "live": ["a", "gone"]}]}`)})
		w.start()
		w.pass(10 * time.Second)
		equal(t, "exits while nothing is known", exits(), "")
		rt.fail(nil)
		w.pass(30 * time.Second)
		equal(t, "exits", exits(), "gone:inferred")
	})
}

// An invalid position is rejected with all mistakes.
func TestPositionIsValidated(t *testing.T) {
	const text = `{
		"lost": -1,
		"due": [{"pod": "p", "container": "", "source": "event"}, {"pod": "p", "container": "b", "source": "rumour", "lost": -2}],
		"pods": [
			{"pod": "p", "live": ["a", "a", ""], "ended": ["a"], "undecided": ["a"]},
			{"pod": "p"},
			{"pod": ""}
		]
	}`
	setup{}.run(t, func(w *world) {
		_, err := w.gen.ExitReader(pleg.ExitOptions[string]{Resume: position(t, text)})
		want := `pleg: ExitReader: lost: invalid value -1: must be >= 0; ` +
			`due[1].source: unsupported value "rumour": must be shown, event or inferred; due[1].lost: invalid value -2: must be >= 0; ` +
			`pods[0].live[1]: duplicate value "a"; pods[0].ended[0]: duplicate value "a"; pods[0].undecided[0]: duplicate value "a"; pods[1].pod: duplicate value "p"; pods[2].pod: required ""`
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant\n%s", err, want)
		}
	})
}

// A position has at most 1048576 exits and containers.
func TestPositionIsBounded(t *testing.T) {
	setup{}.run(t, func(w *world) {
		p := pleg.ExitPosition[string]{Pods: []pleg.PodPosition[string]{{Pod: "p"}}}
		p.Pods[0].Ended = make([]string, 1<<20+1)
		_, err := w.gen.ExitReader(pleg.ExitOptions[string]{Resume: &p})
		equal(t, "error", fmt.Sprint(err), "pleg: ExitReader: pods: too many items 1048577: must have at most 1048576 exits and containers")
	})
}

// A position of the future, without a time or of another node does no harm.
func TestForeignPositions(t *testing.T) {
	for _, tt := range []struct{ name, position, exits string }{
		{"empty", `{}`, "b:shown 4"},
		{"of the future", `{"made": "2999-01-01T00:00:00Z"}`, "b:shown 4"},
		{"of the past", `{"made": "1999-01-01T00:00:00Z"}`, "a:shown 3 b:shown 4"},
		{"of another node", `{"baseline": true, "pods": [{"pod": "elsewhere", "live": ["x"], "ended": ["y"]}]}`, "x:inferred a:shown 3 b:shown 4"},
		{"with an end of the future", `{"baseline": true, "due": [{"pod": "p", "container": "z", "source": "shown", "known": true, "details": {"code": 9, "finished": "2999-01-01T00:00:00Z"}}]}`, "z:shown 9 a:shown 3 b:shown 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setup{}.run(t, func(w *world) {
				w.pass(1500 * time.Millisecond)
				w.up("a")
				w.rt.ExitCode("p", "a", 3)
				w.pass(time.Minute)
				_, exits := w.follow(pleg.ExitOptions[string]{Resume: position(t, tt.position)})
				w.pass(time.Second)
				w.up("b")
				w.rt.ExitCode("p", "b", 4)
				w.start()
				w.pass(10 * time.Second)
				got, want := strings.Split(exits(), " "), strings.Split(tt.exits, " ")
				slices.Sort(got)
				slices.Sort(want)
				equal(t, "exits", strings.Join(got, " "), strings.Join(want, " "))
			})
		})
	}
}

// A reader that never reads keeps a bounded number of exits, and says how many are lost.
func TestReaderThatNeverReadsIsBounded(t *testing.T) {
	setup{}.run(t, func(w *world) {
		l := newListing(w)
		w.relist()
		r, _ := w.follow(pleg.ExitOptions[string]{})
		const exits, round = 9000, 500
		for i := range exits / round {
			var ended []pleg.Container
			for j := range round {
				ended = append(ended, pleg.Container{ID: fmt.Sprintf("%05d", i*round+j), State: pleg.StateExited})
			}
			l.list = []pleg.Pod[string]{pod("p", ended...)}
			w.relist()
		}
		e, _ := r.TryNext()
		lost, taken := e.Lost, 1
		if want := fmt.Sprintf("%05d", e.Lost); e.Container != want || e.Lost < exits-4096-6*round {
			t.Errorf("the first is that of %s, and %d were lost", e.Container, e.Lost)
		}
		for e, ok := r.TryNext(); ok; e, ok = r.TryNext() {
			lost += e.Lost
			taken++
		}
		equal(t, "exits taken or lost", taken+lost, exits)
	})
}
