package statuscache

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func TestHotCallsAllocateNothing(t *testing.T) {
	c := New[string](Options[*int]{MaxSkew: -1})
	now := time.Now()
	for i := range 100 {
		c.Set(fmt.Sprint(i), nil, nil, now)
	}
	for range 1000 {
		w := &waiter[string]{key: "1", min: c.instant(now.Add(time.Hour)), done: make(chan struct{})}
		c.waits.add(w)
	}
	ctx, at := context.Background(), now
	for _, tt := range []struct {
		name string
		want float64
		do   func()
	}{
		{"Get", 0, func() { c.Get("7") }},
		{"Get miss", 0, func() { c.Get("x") }},
		{"GetNewerThan hit", 0, func() { c.GetNewerThan(ctx, "7", now.Add(-1)) }},
		{"Set", 1, func() { at = at.Add(1); c.Set("7", nil, nil, at) }},
		{"Set refused", 1, func() { c.Set("7", nil, nil, now) }},
		{"UpdateTime", 0, func() { at = at.Add(1); c.Writer().UpdateTime(at) }},
	} {
		if n := testing.AllocsPerRun(100, tt.do); n > tt.want {
			t.Errorf("%s allocates %v times, want %v", tt.name, n, tt.want)
		}
	}
}
