package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Tree decodes JSON into maps, lists and scalars. Numbers stay text.
func Tree(data []byte) (tree any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// Value converts a Go value to the form returned by Tree.
func Value(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Tree(data)
}

// Text returns a Go value as JSON, or the error of encoding it.
func Text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Differences compares every field of want with got, both as returned by Tree, and adds
// their number to compared. A field missing from got is a difference; additional fields
// of got are ignored.
func Differences(want, got any, compared *int) []string {
	return differences("want", want, got, compared)
}

func differences(path string, want, got any, compared *int) []string {
	difference := func() []string {
		return []string{fmt.Sprintf("%s: got %s, want %s", path, Text(got), Text(want))}
	}
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok && len(want) > 0 {
			*compared++
			return difference()
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			g, ok := fields[name]
			if !ok {
				*compared++
				all = append(all, fmt.Sprintf("%s.%s: missing, want %s", path, name, Text(want[name])))
				continue
			}
			all = append(all, differences(path+"."+name, want[name], g, compared)...)
		}
		return all
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			*compared++
			return difference()
		}
		if len(want) == 0 {
			*compared++
			return nil
		}
		var all []string
		for i := range want {
			all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), want[i], items[i], compared)...)
		}
		return all
	}
	*compared++
	if want != got && !sameNumber(want, got) {
		return difference()
	}
	return nil
}

// sameNumber reports whether both are one number, written in two ways such as 1000,
// 1000.0 and 1e3. Numbers from 2^53 on have one way only.
func sameNumber(a, b any) bool {
	x, isX := a.(json.Number)
	y, isY := b.(json.Number)
	if !isX || !isY {
		return false
	}
	f, errX := x.Float64()
	g, errY := y.Float64()
	return errX == nil && errY == nil && f == g && math.Abs(f) < 1<<53
}
