package criwatch

import (
	"fmt"
	"testing"
	"time"
)

// The first event of a container counts, once, and memory is bounded.
func TestToldRemembersTheFirstEventOfTheLastContainers(t *testing.T) {
	var x eventTimes
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	for i := range 3 * mostEventTimes {
		x.note(fmt.Sprint(i), at(i))
		x.note(fmt.Sprint(i), at(0))
		if len(x.new)+len(x.old) > 2*mostEventTimes {
			t.Fatalf("after %d it remembers %d", i, len(x.new)+len(x.old))
		}
	}
	for i := 2 * mostEventTimes; i < 3*mostEventTimes; i++ {
		if got := x.take(fmt.Sprint(i)); !got.Equal(at(i)) {
			t.Fatalf("%d: time %v", i, got)
		}
		if got := x.take(fmt.Sprint(i)); !got.IsZero() {
			t.Fatalf("%d: second time %v", i, got)
		}
	}
	if got := x.take("0"); !got.IsZero() {
		t.Errorf("the first: time %v", got)
	}
}
