package differences

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/pleg/statuscache"
)

// caches are a cache of ours and the kubelet's.
type caches struct {
	ours   *statuscache.Cache[types.UID, *kubecontainer.PodStatus]
	theirs kubeletCache
}

// newCaches makes ours follow the kubelet's code where an option lets it: a write
// as new as the entry counts, and no stamp is too far ahead.
func newCaches() caches {
	return caches{
		ours: statuscache.New[types.UID](statuscache.Options[*kubecontainer.PodStatus]{
			Clock:       clocktesting.NewFakeClock(start),
			AcceptEqual: true,
			MaxSkew:     -1,
		}),
		theirs: newKubeletCache(),
	}
}

// guarded turns on the kubelet's guard of writes by their time, for one test.
func guarded(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.EventedPLEG, true)
}

// at is so many seconds after the start.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// TestPlegDifferential drives both caches through random histories and compares
// every answer. Where a test below pins a difference, only ours is asked, and its
// answer compared with what is pinned.
func TestPlegDifferential(t *testing.T) {
	guarded(t)
	var sum tally
	for _, seconds := range []int{2, 5, 12, 60} {
		t.Run(fmt.Sprintf("%ds", seconds), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := newPodHistory(seconds, &sum)
				t.Repeat(map[string]func(*rapid.T){
					"set":          h.set,
					"delete":       h.delete,
					"updateTime":   h.updateTime,
					"getNewerThan": h.getNewerThan,
					"":             h.compare,
				})
			})
		})
	}
	t.Logf("%+v", sum)
	if sum.compared < 20_000 || sum.refused < 50 || sum.waits < 100 || sum.pinned < 100 {
		t.Errorf("%+v: want more", sum)
	}
}

// tally counts what a differential test has seen.
type tally struct {
	compared int // answers
	refused  int // writes, by both
	waits    int // GetNewerThan that waits, on both sides
	pinned   int // steps at which the sides are known to differ
}

// podHistory is a pair of caches with the times that matter.
type podHistory struct {
	caches
	*tally
	seconds  int                     // how far times lie apart
	modified map[types.UID]time.Time // of the present keys
	gone     map[types.UID]time.Time // of the last deletion, by key
	global   time.Time
}

func newPodHistory(seconds int, sum *tally) *podHistory {
	return &podHistory{
		caches:   newCaches(),
		tally:    sum,
		seconds:  seconds,
		modified: map[types.UID]time.Time{},
		gone:     map[types.UID]time.Time{},
	}
}

func drawUID(t *rapid.T) types.UID {
	return rapid.SampledFrom([]types.UID{"a", "b", "c"}).Draw(t, "key")
}

// drawTime draws one of a few times, half of them at the edge of what is known of
// the key.
func (h *podHistory) drawTime(t *rapid.T, key types.UID) time.Time {
	when := at(rapid.IntRange(0, h.seconds).Draw(t, "s"))
	if known := h.known(key); !known.IsZero() && rapid.Bool().Draw(t, "edge") {
		when = known
	}
	return when.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "±ns")))
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// known is the time as of which our cache knows the key.
func (h *podHistory) known(key types.UID) time.Time {
	if m, ok := h.modified[key]; ok {
		return later(m, h.global)
	}
	return later(h.gone[key], h.global)
}

func (h *podHistory) set(t *rapid.T) {
	key := drawUID(t)
	when := h.drawTime(t, key)
	var err error
	if rapid.Bool().Draw(t, "failed") {
		err = errors.New("inspection")
	}
	status := &kubecontainer.PodStatus{ID: key, Name: "written"}
	updated := h.ours.Set(key, status, err, when)
	_, present := h.modified[key]
	if !present && !when.After(h.known(key)) { // as old as a tombstone or the global time
		h.pinned++
		if updated {
			t.Fatalf("Set(%q, %v) brought the key back; it is known to be absent as of %v", key, when, h.known(key))
		}
		return
	}
	if theirs := h.theirs.Set(key, status, err, when); updated != theirs {
		t.Fatalf("Set(%q, %v): ours %v, the kubelet's %v", key, when, updated, theirs)
	}
	h.compared++
	if updated {
		h.modified[key] = when
	} else {
		h.refused++
	}
}

func (h *podHistory) delete(t *rapid.T) {
	key := drawUID(t)
	when := h.drawTime(t, key)
	entry, present := h.modified[key]
	deleted := h.ours.Delete(key, when)
	if want := !present || !entry.After(when); deleted != want {
		t.Fatalf("Delete(%q, %v) = %v, want %v", key, when, deleted, want)
	}
	if !deleted { // the kubelet's has no time to compare
		h.pinned++
		return
	}
	h.theirs.Delete(key)
	delete(h.modified, key)
	h.gone[key] = later(h.gone[key], when)
}

func (h *podHistory) updateTime(t *rapid.T) {
	when := h.drawTime(t, drawUID(t))
	h.ours.Writer().UpdateTime(when)
	if when.Before(h.global) { // the kubelet's goes back
		h.pinned++
		return
	}
	h.theirs.UpdateTime(when)
	h.global = when
}

// getNewerThan asks ours always, and the kubelet's only where it has the answer:
// it cannot be told to give up.
func (h *podHistory) getNewerThan(t *rapid.T) {
	key := drawUID(t)
	min := h.drawTime(t, key)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := h.ours.GetNewerThan(over, key, min)
	if want := h.known(key).After(min); want != (err == nil) {
		t.Fatalf("GetNewerThan(%q, %v), known as of %v: %v", key, min, h.known(key), err)
	}
	modified := h.modified[key]
	switch theirs := h.global.After(min) || modified.After(min); {
	case !theirs && err != nil:
		h.waits++
	case !theirs: // a tombstone has the answer
		h.pinned++
		if got.Present {
			t.Fatalf("GetNewerThan(%q, %v): %+v, want a deleted key", key, min, got)
		}
	case err != nil:
		t.Fatalf("GetNewerThan(%q, %v): ours waits, the kubelet's does not", key, min)
	default:
		status, failed := h.theirs.GetNewerThan(key, min)
		h.agree(t, "GetNewerThan", key, got, status, failed)
	}
}

// compare asks both sides about every key.
func (h *podHistory) compare(t *rapid.T) {
	for _, key := range []types.UID{"a", "b", "c"} {
		got := h.ours.Get(key)
		status, err := h.theirs.Get(key)
		h.agree(t, "Get", key, got, status, err)
	}
	if got := h.ours.Len(); got != len(h.modified) {
		t.Fatalf("Len() = %d, want %d", got, len(h.modified))
	}
}

// agree fails unless both answers say the same of key. Of an absent key ours says
// the zero status, the kubelet's an empty one.
func (h *podHistory) agree(t *rapid.T, call string, key types.UID, got statuscache.Entry[*kubecontainer.PodStatus], status *kubecontainer.PodStatus, err error) {
	h.compared++
	same := got.Status == status && got.Err == err
	_, present := h.modified[key]
	if !present {
		same = got.Status == nil && got.Err == nil && isEmpty(status, key) && err == nil
	}
	if !same || got.Present != present || !got.Modified.Equal(h.known(key)) {
		t.Fatalf("%s(%q): ours %+v, the kubelet's %+v, %v; present %v, known as of %v",
			call, key, got, status, err, present, h.known(key))
	}
}

// isEmpty reports whether status is what the kubelet's cache returns for a miss.
// Every status that these tests write has a name.
func isEmpty(status *kubecontainer.PodStatus, key types.UID) bool {
	return status != nil && status.ID == key && status.Name == ""
}

// present is which side has the key.
type present struct{ ours, theirs bool }

// check compares which side has the key "pod" with what is pinned.
func (c caches) check(t *testing.T, step string, want present) {
	t.Helper()
	status, _ := c.theirs.Get("pod")
	if got := (present{c.ours.Get("pod").Present, !isEmpty(status, "pod")}); got != want {
		t.Errorf("%s: present %+v, want %+v", step, got, want)
	}
}

// set writes the key "pod" on both sides and says which took it.
func (c caches) set(when time.Time) (ours, theirs bool) {
	status := &kubecontainer.PodStatus{ID: "pod", Name: "written"}
	return c.ours.Set("pod", status, nil, when), c.theirs.Set("pod", status, nil, when)
}

// waiting is a GetNewerThan of the key "pod" on both sides.
type waiting struct{ ours, theirs chan struct{} }

// wait begins one. It belongs into a synctest bubble.
func (c caches) wait(t *testing.T, min time.Time) waiting {
	w := waiting{make(chan struct{}), make(chan struct{})}
	go func() {
		if _, err := c.ours.GetNewerThan(t.Context(), "pod", min); err == nil {
			close(w.ours)
		}
	}()
	go func() {
		if _, err := c.theirs.GetNewerThan("pod", min); err == nil {
			close(w.theirs)
		}
	}()
	return w
}

// check compares which side has its answer with what is pinned.
func (w waiting) check(t *testing.T, step string, ours, theirs bool) {
	t.Helper()
	synctest.Wait()
	if got := isOver(w.ours); got != ours {
		t.Errorf("%s: ours answered %v, want %v", step, got, ours)
	}
	if got := isOver(w.theirs); got != theirs {
		t.Errorf("%s: the kubelet's answered %v, want %v", step, got, theirs)
	}
}

func isOver(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// both sets the global time on both sides.
func (c caches) both(when time.Time) {
	c.ours.Writer().UpdateTime(when)
	c.theirs.UpdateTime(when)
}

// took checks which side took a write.
func took(t *testing.T, step string, ours, theirs, wantOurs, wantTheirs bool) {
	t.Helper()
	if ours != wantOurs || theirs != wantTheirs {
		t.Errorf("%s: ours took it %v, the kubelet's %v; want %v, %v", step, ours, theirs, wantOurs, wantTheirs)
	}
}

// TestPlegDeviationTombstone pins that in the kubelet's cache a status collected
// before a deletion brings the pod back. Ours remembers the deletion.
func TestPlegDeviationTombstone(t *testing.T) {
	guarded(t)
	c := newCaches()
	c.set(at(1))
	c.ours.Delete("pod", at(3))
	c.theirs.Delete("pod")
	c.check(t, "deleted at 3 s", present{})
	ours, theirs := c.set(at(2))
	took(t, "a write of 2 s", ours, theirs, false, true)
	c.check(t, "a write of 2 s", present{false, true})
	if c.ours.Set("pod", nil, nil, at(3)) || !c.ours.Set("pod", nil, nil, at(4)) {
		t.Error("ours: want a write of 3 s refused and one of 4 s taken")
	}
}

// TestPlegDeviationStaleDelete pins that the kubelet's Delete has no time, so that
// a Delete that was decided upon before a write removes what was written. Ours
// refuses it.
func TestPlegDeviationStaleDelete(t *testing.T) {
	guarded(t)
	c := newCaches()
	c.set(at(3))
	if c.ours.Delete("pod", at(2)) {
		t.Error("ours deleted an entry of 3 s at 2 s")
	}
	c.theirs.Delete("pod")
	c.check(t, "deleted at 2 s", present{true, false})
}

// TestPlegDeviationDeleteAnswers pins that in the kubelet's cache a deletion
// answers nobody: a caller that waits for the pod goes on waiting until the global
// time comes. Ours answers that the pod is gone.
func TestPlegDeviationDeleteAnswers(t *testing.T) {
	guarded(t)
	synctest.Test(t, func(t *testing.T) {
		c := newCaches()
		c.set(at(1))
		w := c.wait(t, at(2))
		w.check(t, "written at 1 s", false, false)
		c.ours.Delete("pod", at(3))
		c.theirs.Delete("pod")
		w.check(t, "deleted at 3 s", true, false)
		c.both(at(4))
		w.check(t, "global time 4 s", true, true)
	})
}

// TestPlegDeviationGlobalTime pins that the kubelet's global time can go back, so
// that callers wait again for what was known. Ours cannot.
func TestPlegDeviationGlobalTime(t *testing.T) {
	guarded(t)
	synctest.Test(t, func(t *testing.T) {
		c := newCaches()
		c.both(at(5))
		c.wait(t, at(4)).check(t, "global time 5 s", true, true)
		c.both(at(3))
		w := c.wait(t, at(4))
		w.check(t, "global time 3 s after 5 s", true, false)
		c.both(at(6))
		w.check(t, "global time 6 s", true, true)
	})
}

// TestPlegDeviationFloor pins that the kubelet's cache takes a write of an absent
// pod that is older than the full list which did not show it. Ours refuses it.
func TestPlegDeviationFloor(t *testing.T) {
	guarded(t)
	c := newCaches()
	c.both(at(5))
	ours, theirs := c.set(at(4))
	took(t, "a write of 4 s, global time 5 s", ours, theirs, false, true)
	c.check(t, "a write of 4 s, global time 5 s", present{false, true})

	// Both take what is newer than its entry, if there is one.
	c = newCaches()
	c.set(at(1))
	c.both(at(5))
	ours, theirs = c.set(at(4))
	took(t, "a write of 4 s, entry of 1 s, global time 5 s", ours, theirs, true, true)
}

// TestPlegDeviationBoundary pins that knowledge exactly as old as asked for is
// enough for callers that wait at the kubelet's cache already, and not for those
// that come later. At ours it is enough for nobody.
func TestPlegDeviationBoundary(t *testing.T) {
	guarded(t)
	for step, know := range map[string]func(caches){
		"global time 2 s": func(c caches) { c.both(at(2)) },
		"a write of 2 s":  func(c caches) { c.set(at(2)) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCaches()
			first := c.wait(t, at(2))
			first.check(t, "nothing known", false, false)
			know(c)
			first.check(t, step+", who waits", false, true)
			second := c.wait(t, at(2))
			second.check(t, step+", who comes later", false, false)
			c.both(at(3))
			first.check(t, "global time 3 s", true, true)
			second.check(t, "global time 3 s", true, true)
		})
	}
}

// TestPlegDeviationMiss pins that the kubelet's cache returns an empty status for a
// pod it does not have, as it does for an empty pod. Ours says that the pod is
// absent, and as of when.
func TestPlegDeviationMiss(t *testing.T) {
	guarded(t)
	c := newCaches()
	check := func(step string, want statuscache.Entry[*kubecontainer.PodStatus]) {
		t.Helper()
		if got := c.ours.Get("pod"); got != want {
			t.Errorf("%s: ours %+v, want %+v", step, got, want)
		}
		if status, err := c.theirs.Get("pod"); !isEmpty(status, "pod") || err != nil {
			t.Errorf("%s: the kubelet's %+v, %v; want an empty status", step, status, err)
		}
	}
	check("nothing known", statuscache.Entry[*kubecontainer.PodStatus]{})
	c.both(at(1))
	check("global time 1 s", statuscache.Entry[*kubecontainer.PodStatus]{Modified: at(1)})
}

// TestPlegDeviationNoTime pins that the kubelet's cache takes a write without a
// time. Ours refuses what it could not order.
func TestPlegDeviationNoTime(t *testing.T) {
	guarded(t)
	c := newCaches()
	ours, theirs := c.set(time.Time{})
	took(t, "no time", ours, theirs, false, true)
}
