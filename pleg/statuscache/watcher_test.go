package statuscache

import (
	"fmt"
	"testing"
)

// A sleeping loop's memory does not grow with the number of changes.
func TestSleepingWatchHoldsOneEntryPerKey(t *testing.T) {
	c := New[string](Options[string]{MaxSkew: -1})
	for i := range 10 {
		c.Set(fmt.Sprint("old", i), "", nil, second(1))
	}
	w := c.watch()
	for range 5 {
		c.next(w)
	}
	for i := range 1000 {
		key := fmt.Sprint("new", i)
		c.Set(key, "", nil, second(2*i+2))
		c.Set(key, "", nil, second(2*i+3))
		c.Delete(key, second(2*i+3))
	}
	for i := range 10 {
		c.Delete(fmt.Sprint("old", i), second(10000))
	}
	if got := w.due.Len(); got != 5 {
		t.Errorf("%d keys are due, want the 5 deletions of what was shown", got)
	}
}
