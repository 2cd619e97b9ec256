package pleg_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/pleg"
)

// A read is an exit with the position to save with it.
type read struct {
	exit pleg.Exit[string]
	at   pleg.ExitPosition[string]
}

// pump passes exits on until ctx ends.
func pump(ctx context.Context, r *pleg.ExitReader[string], out chan<- read) {
	defer close(out)
	for {
		e, at, err := r.NextAt(ctx)
		if err != nil {
			return
		}
		select {
		case out <- read{e, at}:
		case <-ctx.Done():
			return
		}
	}
}

// A program reads exits in one goroutine and handles them in another. Killed at any
// time, it handles each exit once, although the pump is ahead of the handler.
func TestPumpSavesOnlyHandledExits(t *testing.T) {
	for _, capacity := range []int{0, 3} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			setup{}.run(t, func(w *world) {
				const exits = 10
				for i := range exits {
					w.up(fmt.Sprint(i))
				}
				r, _ := w.follow(pleg.ExitOptions[string]{})
				w.gen.Relist(w.ctx)
				place := stored(t, r.Position())
				for i := range exits {
					w.rt.ExitCode("p", fmt.Sprint(i), int32(i))
					w.pass(time.Second)
				}
				var handled []string
				for life := 0; len(handled) < exits && life < 2*exits; life++ {
					*w = *w.again()
					r, _ := w.follow(pleg.ExitOptions[string]{Resume: place})
					w.gen.Relist(w.ctx)
					out := make(chan read, capacity)
					w.all.Go(func() { pump(w.ctx, r, out) })
					for range 1 + life%2 {
						synctest.Wait() // the pump is as far ahead as it can be
						select {
						case one := <-out:
							handled = append(handled, one.exit.Container)
							place = stored(t, one.at)
						default: // none is left
						}
					}
					w.stop() // the kill
					w.all.Wait()
				}
				if want := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; !slices.Equal(handled, want) {
					t.Errorf("handled %v", handled)
				}
			})
		})
	}
}

// A reader resumed from the position of an exit yields exactly the later exits, in their
// order if they were pending.
func TestPositionOfAnExitYieldsTheLaterOnes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		containers := rapid.IntRange(1, 8).Draw(rt, "containers")
		script := rapid.SliceOfN(rapid.SampledFrom([]string{"exit", "exit", "remove", "relist", "read"}), 1, 40).Draw(rt, "script")
		synctest.Test(t, func(t *testing.T) {
			w := setup{}.world(t)
			defer w.end()
			for _, problem := range readAndResume(w, containers, script) {
				rt.Error(problem)
			}
		})
	})
}

// readAndResume reads exits in the course of a script, and then resumes from each of
// their positions. It returns the differences.
func readAndResume(w *world, containers int, script []string) (problems []string) {
	var live []string
	for i := range containers {
		live = append(live, fmt.Sprint(i))
		w.up(live[i])
	}
	r, _ := w.follow(pleg.ExitOptions[string]{})
	w.gen.Relist(w.ctx)
	over, cancel := context.WithCancel(w.ctx)
	cancel()
	var reads []read
	next := func() bool {
		e, at, err := r.NextAt(over)
		if err != nil {
			return false
		}
		if diff := cmp.Diff(sortedPods(at), sortedPods(r.Position())); diff != "" {
			problems = append(problems, "NextAt's position is not that after the exit:\n"+diff)
		}
		reads = append(reads, read{e, *stored(w, at)})
		return true
	}
	for _, do := range script {
		w.pass(time.Second)
		switch {
		case do == "relist":
			w.gen.Relist(w.ctx)
		case do == "read":
			next()
		case len(live) > 0:
			if do == "exit" {
				w.rt.ExitCode("p", live[0], 1)
			} else {
				w.rt.Remove("p", live[0])
			}
			live = live[1:]
		}
	}
	w.gen.Relist(w.ctx)
	for next() {
	}
	for n, one := range reads {
		r, _ := w.follow(pleg.ExitOptions[string]{Resume: &one.at})
		w.gen.Relist(w.ctx)
		var later, rest []pleg.Exit[string]
		for e, ok := r.TryNext(); ok; e, ok = r.TryNext() {
			rest = append(rest, e)
		}
		for _, l := range reads[n+1:] {
			later = append(later, l.exit)
		}
		got, want, pending := containersOf(rest), containersOf(later), containersOf(one.at.Due)
		for _, list := range [][]string{got, want} {
			if len(list) < len(pending) || !slices.Equal(list[:len(pending)], pending) {
				problems = append(problems, fmt.Sprintf("%v do not begin with the pending %v", list, pending))
			}
			slices.Sort(list)
		}
		if !slices.Equal(got, want) {
			problems = append(problems, fmt.Sprintf("after exit %d: %v, want %v", n, got, want))
		}
		r.Close()
	}
	return problems
}

// containersOf returns the containers of exits.
func containersOf(exits []pleg.Exit[string]) (ids []string) {
	for _, e := range exits {
		ids = append(ids, e.Container)
	}
	return ids
}
