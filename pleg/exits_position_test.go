package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// IncludePast yields earlier exits to readers from before and after the first look.
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
		equal(t, "exits", first(), "a:relist 3 b:relist 4")
		equal(t, "exits from then on", none(), "")
		equal(t, "exits of a late reader", late(), "a:relist 3 b:relist 4")
		w.rt.ExitCode("p", "c", 5)
		w.gen.Relist(w.ctx)
		for _, exits := range []func() string{first, none, late} {
			equal(t, "exits", exits(), "c:relist 5")
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
		equal(t, "exits", exits(), "taken:event 1")
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
		equal(t, "exits before the first look", exits(), "pending:event 2")
		w.start()
		w.pass(time.Second)
		equal(t, "exits", exits(), "came:relist 4 crashes:relist 3 goes-with-its-pod:inferred vanishes:inferred")
		w.rt.ExitCode("p", "running", 5)
		w.pass(time.Second)
		equal(t, "exits", exits(), "running:event 5")
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

// again is w after a restart of the program: the runtime is the same.
func (w *world) again() *world {
	n := &world{T: w.T, rt: w.rt, cache: statuscache.New[string](statuscache.Options[*plegtest.Status]{})}
	gen, err := pleg.NewGenerator[string, *plegtest.Status](n.rt, n.rt, n.cache, pleg.GeneratorOptions{})
	if err != nil {
		w.Fatal(err)
	}
	n.gen = gen
	n.ctx, n.stop = context.WithCancel(w.Context())
	n.rt.Note(func(h *history) { h.RunEnded = time.Time{} })
	return n
}

// A position taken before the first answer keeps the contents of the resumed one.
func TestPositionBeforeFirstLookKeepsResumedOne(t *testing.T) {
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
		if diff := cmp.Diff(*first, r.Position()); diff != "" {
			t.Errorf("the position of a reader that has done nothing:\n%s", diff)
		}
		*w = *w.again()
		w.rt.Remove("p", "b")
		r, exits := w.follow(pleg.ExitOptions[string]{Resume: first})
		if diff := cmp.Diff(*first, r.Position()); diff != "" {
			t.Errorf("the position of a reader whose generator has not looked:\n%s", diff)
		}
		equal(t, "exits", exits(), "a:relist 1")
		w.gen.Relist(w.ctx)
		equal(t, "exits", exits(), "b:inferred")
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
		equal(t, "exits", exits(), ":relist 3")
		_, exits = w.follow(pleg.ExitOptions[string]{Resume: place})
		equal(t, "exits of the next reader", exits(), ":relist 3")
	})
}

// No end is inferred while looks at the pod fail.
func TestFailingPodInfersNoExit(t *testing.T) {
	setup{}.run(t, func(w *world) {
		rt := &fickle{recorder: w.rt, err: errors.New("no status today")}
		w.replace(rt, false)
		w.up("a")
		w.up("b")
		rt.fail.Store(true)
		_, exits := w.follow(pleg.ExitOptions[string]{Resume: position(t, `{"pods": [{"pod": "p", "live": ["a", "gone"]}]}`)})
		w.start()
		w.pass(10 * time.Second)
		equal(t, "exits while nothing is known", exits(), "")
		rt.fail.Store(false)
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
			{"pod": "p", "live": ["a", "a", ""], "ended": ["a"]},
			{"pod": "p"}
		]
	}`
	setup{}.run(t, func(w *world) {
		_, err := w.gen.ExitReader(pleg.ExitOptions[string]{Resume: position(t, text)})
		want := `pleg: ExitReader: lost: invalid value -1: must be >= 0; ` +
			`due[1].source: unsupported value "rumour": must be event, relist or inferred; due[1].lost: invalid value -2: must be >= 0; ` +
			`pods[0].live[1]: duplicate value "a"; pods[0].ended[0]: duplicate value "a"; pods[1].pod: duplicate value "p"`
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant\n%s", err, want)
		}
	})
}

// A position has at most 1048576 exits and containers.
func TestPositionIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	const most = 1 << 20
	p := pleg.ExitPosition[string]{Due: slices.Repeat([]pleg.Exit[string]{{Source: pleg.ExitInferred}}, most+1)}
	equal(t, "error of the largest", pleg.ExitPosition[string]{Due: p.Due[:most]}.Validate(), nil)
	equal(t, "error", fmt.Sprint(p.Validate()), "pods: too many items 1048577: must have at most 1048576 exits and containers")
}
