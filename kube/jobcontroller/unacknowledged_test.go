package jobcontroller

import (
	"errors"
	"testing"
	"time"
)

// A deletion without an answer keeps its first time, until there is an answer.
func TestUnansweredDeletionsKeepTheirFirstTime(t *testing.T) {
	lost := errors.New("connection reset")
	var u unacknowledged
	if u.isOver("a", lost, t0) {
		t.Error("over before it was sent")
	}
	u.deletionUnanswered("a", t0)
	u.deletionUnanswered("a", t0.Add(time.Minute))
	u.deletionUnanswered("b", t0.Add(time.Minute))
	for _, test := range []struct {
		uid   string
		err   error
		after time.Duration
		want  bool
	}{
		{"a", nil, 2 * expectationsEnd, false},
		{"a", lost, expectationsEnd - 1, false},
		{"a", lost, expectationsEnd, true},
		{"b", lost, expectationsEnd, false},
		{"c", lost, expectationsEnd, false},
		{"a", forbidden("no right to"), 0, true},
		{"c", forbidden("no right to"), 0, false},
	} {
		if got := u.isOver(test.uid, test.err, t0.Add(test.after)); got != test.want {
			t.Errorf("%s after %v, %v: %v", test.uid, test.after, test.err, got)
		}
	}
	u.deletionAnswered("a")
	if u.isOver("a", lost, t0.Add(expectationsEnd)) {
		t.Error("over, although it had an answer")
	}
}
