package jobcontroller

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/jobpolicy/batch"
)

var t0 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// testPod returns a pod with only the fields that the test needs.
func testPod(uid string, version int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid), ResourceVersion: strconv.Itoa(version)}}
}

func shown(pods ...*corev1.Pod) map[types.UID]*corev1.Pod {
	m := map[types.UID]*corev1.Pod{}
	for _, p := range pods {
		m[p.UID] = p
	}
	return m
}

func TestCreationSettlesWhenSeenOrPassed(t *testing.T) {
	deleted := testPod("a", 120)
	deleted.DeletionTimestamp = &metav1.Time{Time: t0}
	for _, test := range []struct {
		name    string
		pods    map[types.UID]*corev1.Pod
		version string
		after   time.Duration
		open    int
		givenUp int
	}{
		{"not seen", nil, "99", 0, 1, 0},
		{"seen", shown(testPod("a", 100)), "99", 0, 0, 0},
		{"seen being deleted", shown(deleted), "99", 0, 0, 0},
		{"the store has come to the creation, and the pod is gone again", nil, "100", 0, 0, 0},
		{"the store is one behind", nil, "99", 0, 1, 0},
		{"versions of more digits are later", nil, "1000", 0, 0, 0},
		{"versions of fewer digits are earlier", nil, "20", 0, 1, 0},
		{"another pod", shown(testPod("b", 99)), "99", 0, 1, 0},
		{"a store that does not tell", nil, "", 0, 1, 0},
		{"a store that does not tell, seen", shown(testPod("a", 100)), "", 0, 0, 0},
		{"a version that is no number", nil, "x", 0, 1, 0},
		{"just before it is given up", nil, "99", expectationsEnd - 1, 1, 0},
		{"never seen", nil, "99", expectationsEnd, 0, 1},
		{"the clock was set back", nil, "99", -time.Minute, 1, 0},
		{"the clock was set back far", nil, "99", -time.Hour, 0, 1},
	} {
		var e expectations
		e.expectCreation(testPod("a", 100), t0)
		if open, givenUp := e.settle(test.pods, test.version, t0.Add(test.after)); open != test.open || givenUp != test.givenUp {
			t.Errorf("%s: open %d, given up %d, want %d, %d", test.name, open, givenUp, test.open, test.givenUp)
		}
	}
}

func TestDeletionSettlesWhenGoneOrBeingDeleted(t *testing.T) {
	deleted := testPod("a", 120)
	deleted.DeletionTimestamp = &metav1.Time{Time: t0}
	for _, test := range []struct {
		name          string
		pods          map[types.UID]*corev1.Pod
		after         time.Duration
		open, givenUp int
	}{
		{"there as before", shown(testPod("a", 100)), 0, 1, 0},
		{"gone", nil, 0, 0, 0},
		{"being deleted", shown(deleted), 0, 0, 0},
		{"another is there", shown(testPod("b", 100)), 0, 0, 0},
		{"there for ever", shown(testPod("a", 100)), expectationsEnd, 0, 1},
	} {
		var e expectations
		e.expectDeletion("a", t0)
		if open, givenUp := e.settle(test.pods, "500", t0.Add(test.after)); open != test.open || givenUp != test.givenUp {
			t.Errorf("%s: open %d, given up %d, want %d, %d", test.name, open, givenUp, test.open, test.givenUp)
		}
	}
}

// A lagging store catches up in the order of versions. Expectations stay open until it
// shows every creation and deletion, but for at most five minutes.
func TestExpectationsEndWhenTheStoreHasCaughtUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e expectations
		version, at, now := 100, 100, t0
		truth := []map[types.UID]*corev1.Pod{} // by version-100
		current := map[types.UID]*corev1.Pod{}
		save := func() { truth = append(truth, maps.Clone(current)); version++ }
		save()
		last := now
		pending := map[types.UID]string{}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				p := testPod(fmt.Sprint("p", version), version)
				current[p.UID] = p
				save()
				e.expectCreation(p, now)
				pending[p.UID], last = "created", now
			},
			"delete": func(t *rapid.T) {
				uids := slices.Sorted(maps.Keys(truth[at-100]))
				if len(uids) == 0 {
					return
				}
				uid := rapid.SampledFrom(uids).Draw(t, "uid")
				delete(current, uid)
				save()
				e.expectDeletion(uid, now)
				last = now
			},
			"somebody else deletes": func(t *rapid.T) {
				uids := slices.Sorted(maps.Keys(current))
				if len(uids) == 0 {
					return
				}
				delete(current, rapid.SampledFrom(uids).Draw(t, "uid"))
				save()
			},
			"catch up": func(t *rapid.T) { at = rapid.IntRange(at, version-1).Draw(t, "version") },
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "seconds")) * time.Second)
			},
			"": func(t *rapid.T) {
				open, _ := e.settle(truth[at-100], strconv.Itoa(at), now)
				if open > 0 && at == version-1 {
					t.Fatalf("%d open although the store is up to date", open)
				}
				if open > 0 && now.Sub(last) >= expectationsEnd {
					t.Fatalf("%d open after %v", open, now.Sub(last))
				}
			},
		})
	})
}

// Pods without their finalizer are hidden until the store shows the removal.
func TestRemovedFinalizersAreHiddenUntilSeen(t *testing.T) {
	pod := func(version int, tracked bool, owner string) *corev1.Pod {
		p := testPod("a", version)
		if tracked {
			p.Finalizers = []string{batch.JobTrackingFinalizer}
		}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(owner), Controller: new(true)}}
		}
		return p
	}
	another := pod(100, true, "job")
	another.UID = "b"
	settled := func(h finalizerExpectations, store string, shown *corev1.Pod) []string {
		h.settle("job", store, func(name string) *corev1.Pod {
			if shown != nil && shown.Name == name {
				return shown
			}
			return nil
		})
		return h.uids()
	}
	for _, test := range []struct {
		name  string
		store string
		shown *corev1.Pod
		left  []string
	}{
		{"shown as it was", "100", pod(100, true, "job"), []string{"a"}},
		{"shown without", "110", pod(110, false, "job"), nil},
		{"shown without before it was taken off", "105", pod(105, false, "job"), nil},
		{"gone", "110", nil, nil},
		{"gone, and the store does not tell how far it has come", "", nil, nil},
		{"not shown yet: another controller has taken it off", "109", nil, []string{"a"}},
		{"another has its name", "120", another, nil},
		{"somebody has put it back", "111", pod(111, true, "job"), nil},
		{"a status was written before it went", "109", pod(109, true, "job"), []string{"a"}},
		{"shown before it was adopted", "100", pod(100, false, ""), []string{"a"}},
		{"shown before it was adopted, with a finalizer", "100", pod(100, true, ""), []string{"a"}},
		{"not the Job's any more", "120", pod(120, false, ""), nil},
	} {
		var h finalizerExpectations
		h.expect("a", "a", "110")
		if got := settled(h, test.store, test.shown); !slices.Equal(got, test.left) || h.has("a") != (len(test.left) > 0) {
			t.Errorf("%s: %v, want %v", test.name, got, test.left)
		}
	}
	for store, left := range map[string][]string{"129": {"a"}, "130": nil, "": {"a"}} {
		var h finalizerExpectations
		h.expect("a", "a", "130") // the version of a list that did not have it
		if got := settled(h, store, pod(120, false, "")); !slices.Equal(got, left) {
			t.Errorf("a pod that was released, store at %q: %v, want %v", store, got, left)
		}
	}
	var h finalizerExpectations
	if settled(h, "", nil) != nil || h.has("a") {
		t.Error("the zero value hides something")
	}
	h.expect("b", "b", "")
	h.expect("a", "a", "")
	if got := settled(h, "5", pod(5, true, "job")); !slices.Equal(got, []string{"a"}) {
		t.Errorf("a pod that was gone when its finalizer was to go: %v", got)
	}
}
