package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// recent keeps the keys that were put last for the first time.
func TestRecentForgetsTheOldest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		r := recent[int]{limit: limit}
		var keys []string
		values := map[string]int{}
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys") {
			k := fmt.Sprint(key)
			r.put(k, i)
			if _, ok := values[k]; !ok {
				keys = append(keys, k)
			}
			values[k] = i
			if len(keys) > limit {
				delete(values, keys[0])
				keys = keys[1:]
			}
			if !slices.Equal(r.inOrder(), keys) || !maps.Equal(r.values, values) {
				t.Fatalf("%v %v, want %v %v", r.inOrder(), r.values, keys, values)
			}
		}
	})
}
