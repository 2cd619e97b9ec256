package jobcontroller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Pods to create take the names of creations without an answer, those of their own kind.
func TestLostNamesAreUsedFirst(t *testing.T) {
	lost := func(names ...string) (u unacknowledged) {
		for _, name := range names {
			u.creations = append(u.creations, unansweredCreation{name: name, generateName: name[:2]})
		}
		return u
	}
	for _, test := range []struct {
		lost   unacknowledged
		wanted string // generateNames
		want   string // with the names
	}{
		{lost(), "", ""},
		{lost(), "a- b-", "a-: b-:"},
		{lost("a-1"), "a-", "a-:a-1"},
		{lost("a-1"), "a- a- b-", "a-:a-1 a-: b-:"},
		{lost("a-1", "a-2"), "a- a- a-", "a-:a-1 a-:a-2 a-:"},
		{lost("b-1"), "a- b-", "b-:b-1 a-:"},
		{lost("b-1"), "a- a-", ""}, // b-1 may still bring a pod too many
		{lost("a-1", "b-1"), "a- a-", "a-:a-1"},
		{lost("a-1"), "", ""},
	} {
		var wanted []jobpolicy.Creation
		for name := range strings.FieldsSeq(test.wanted) {
			wanted = append(wanted, jobpolicy.Creation{ObjectMeta: batch.ObjectMeta{GenerateName: name}})
		}
		var got []string
		for _, n := range test.lost.nameAll(wanted) {
			got = append(got, n.GenerateName+":"+n.name)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("lost %v, wanted %q: %q, want %q", test.lost.creations, test.wanted, text, test.want)
		}
	}
}

// A creation without an answer is known once, with its last attempt, until the pod is
// shown as the Job's or the wait has been too long.
func TestLostCreationsAreSettled(t *testing.T) {
	pod := func(name, job string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, GenerateName: "a-", OwnerReferences: []metav1.OwnerReference{{UID: types.UID(job), Controller: new(true)}}}}
	}
	for _, test := range []struct {
		name    string
		pod     *corev1.Pod // shown
		after   time.Duration
		left    int
		givenUp int
	}{
		{"not shown", nil, 0, 1, 0},
		{"shown", pod("a-1", "job"), 0, 0, 0},
		{"another Job's pod", pod("a-1", "another"), 0, 1, 0},
		{"too old", nil, expectationsEnd, 0, 1},
		{"shown in the end", pod("a-1", "job"), expectationsEnd, 0, 0},
	} {
		var u unacknowledged
		u.creationUnanswered(pod("a-1", "job"), t0.Add(-time.Hour))
		u.creationUnanswered(pod("a-1", "job"), t0)
		if len(u.creations) != 1 || u.open() != 1 {
			t.Fatalf("one creation lost twice: %v", u.creations)
		}
		givenUp := u.settle("job", func(name string) *corev1.Pod {
			if name != "a-1" {
				t.Errorf("%s: asked for %s", test.name, name)
			}
			return test.pod
		}, t0.Add(test.after))
		if len(u.creations) != test.left || givenUp != test.givenUp {
			t.Errorf("%s: left %v, given up %d", test.name, u.creations, givenUp)
		}
		if u.creationAnswered("a-1"); u.open() != 0 {
			t.Errorf("%s: found, left %v", test.name, u.creations)
		}
	}
}
