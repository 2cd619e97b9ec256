package queue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The queue agrees with a slice and a map.
func TestQueueHoldsEachKeyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Queue[int, int]
		var order []int
		values := map[int]int{}
		key := rapid.IntRange(0, 5)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if _, ok := values[k]; !ok {
					order = append(order, k)
				}
				values[k]++
				*m.Put(k)++
			},
			"drop": func(t *rapid.T) {
				k := key.Draw(t, "key")
				m.Drop(k)
				delete(values, k)
				order = slices.DeleteFunc(order, func(x int) bool { return x == k })
			},
			"take": func(t *rapid.T) {
				k, v, ok := m.Take()
				if ok != (len(order) > 0) || ok && (k != order[0] || v != values[k]) {
					t.Fatalf("took %d, %d, %v from %v", k, v, ok, order)
				}
				if ok {
					delete(values, k)
					order = order[1:]
				}
			},
			"": func(t *rapid.T) {
				if got := slices.Collect(m.Keys()); !slices.Equal(got, order) || m.Len() != len(order) {
					t.Fatalf("keys %v, want %v", got, order)
				}
			},
		})
	})
}
