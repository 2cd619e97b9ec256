package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

var errThree = errors.New("three at rest")

// counter is a world that counts to a limit and breaks when it settles at three.
type counter struct {
	n, limit int
	broken   error
}

func (c *counter) Steps() int               { return min(2, c.limit-c.n) }
func (c *counter) Describe(step int) string { return fmt.Sprintf("%d more", step+1) }
func (c *counter) Take(step int)            { c.n += step + 1 }
func (c *counter) State() []byte            { return []byte{byte(c.n)} }
func (c *counter) Broken() error            { return c.broken }

func (c *counter) Settle() {
	if c.n == 3 {
		c.broken = errThree
	}
}

// All histories are visited, and the story of a state that does not settle can be told
// and followed.
func TestHistories(t *testing.T) {
	for limit := 1; limit < 3; limit++ {
		h := NewHistories(func() World { return &counter{limit: limit} })
		r := Run(context.Background(), h, Options{Workers: 2})
		if !r.Complete || int(r.States) != limit+1 || int(r.Transitions) != 2*limit-1 {
			t.Errorf("limit %d: %+v", limit, r)
		}
	}
	h := NewHistories(func() World { return &counter{limit: 9} })
	r := Run(context.Background(), h, Options{})
	if r.Broken != errThree || len(r.Story) != 2 {
		t.Fatalf("%+v, want %v after 2 steps", r, errThree)
	}
	text := h.Tell(r.Story)
	w, err := h.Follow(text)
	if err != nil {
		t.Fatal(err)
	}
	if w.Settle(); w.Broken() != errThree {
		t.Errorf("%q does not replay", text)
	}
	_, err = h.Follow("1 more\n3 more\n")
	if want := `search: Follow: line 2: "3 more" is not possible`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
