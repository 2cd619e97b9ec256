package pleg

import (
	"strings"
	"testing"
)

// The table has what proves that an event's contents are newer than what is
// known, and what does not. Known is a list like "a:running"; with a + an event
// has reported more, with a ! the id was used before.
func TestOnlyNewerContentsAreBelieved(t *testing.T) {
	ranks := map[string]rank{"unseen": unseen, "unknown": unknown, "created": created, "running": running, "exited": exited, "removed": removed}
	states := map[string]State{"unknown": StateUnknown, "created": StateCreated, "running": StateRunning, "exited": StateExited}
	for _, tt := range []struct {
		known, seen, own string
		want             bool
	}{
		{"a:created", "a:running", "a", true},
		{"a:created", "a:exited", "a", true},
		{"a:running", "a:exited", "a", true},
		{"a:running", "a:running", "a", false}, // nothing new
		{"a:exited", "a:running", "a", false},
		{"a:unknown", "a:running", "a", false}, // it may have run then
		{"a:running", "a:unknown", "a", false},
		{"a:unseen", "a:running", "a", false}, // it may be gone since
		{"", "a:running", "a", false},
		{"a:removed", "a:running", "a", false},
		{"a!:running", "a:exited", "a", false}, // the one before exited, too
		{"a+:created", "a:running", "a", false},
		{"a:running", "", "a", false},
		{"a:running b:running", "a:exited b:running", "a", true},
		{"a:running b:running", "a:exited b:exited", "a", true},
		{"a:running b:running", "a:exited b:unknown", "a", true},
		{"a:running b:running", "a:exited b:created", "a", false},
		{"a:running b+:running", "a:exited b:running", "a", false},
		{"a:running b!:running", "a:exited b:running", "a", true},
		{"a:running b:running", "a:exited", "a", false},
		{"a:running b:running", "b:exited", "a", false},
		{"a:running b:running", "a:running b:exited", "a", false},
		{"a:running", "a:exited b:created", "a", false},
		{"a:running b:removed", "a:exited", "a", true},
		{"a:running b:removed", "a:exited b:exited", "a", false},
		{"a:running b:unseen", "a:exited", "a", true},
		{"a:running b:unseen", "a:exited b:created", "a", false},
	} {
		cs := containers{}
		for f := range strings.FieldsSeq(tt.known) {
			name, is, _ := strings.Cut(f, ":")
			c := &tracked{is: ranks[is], again: strings.HasSuffix(name, "!")}
			if strings.HasSuffix(name, "+") {
				c.reported = exited
			}
			cs[strings.TrimRight(name, "+!")] = c
		}
		var seen []Container
		for f := range strings.FieldsSeq(tt.seen) {
			id, is, _ := strings.Cut(f, ":")
			seen = append(seen, Container{id, states[is]})
		}
		if got := cs.follow(seen, tt.own); got != tt.want {
			t.Errorf("%q follows %q: %v, want %v", tt.seen, tt.known, got, tt.want)
		}
	}
}
