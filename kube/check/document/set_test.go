package document

import (
	"encoding/json"
	"testing"
)

func TestSet(t *testing.T) {
	const text = "a: &a {x: 1, list: [{n1: 2}, 3]}\nb: *a\nnothing:\n"
	for _, test := range []struct{ path, value, want, fails string }{
		{"a.x", "2", `{"a":{"list":[{"n1":2},3],"x":2},"b":{"list":[{"n1":2},3],"x":1},"nothing":null}`, ""},
		{"a.list[0].n1", "[z]", `{"a":{"list":[{"n1":["z"]},3],"x":1},"b":{"list":[{"n1":2},3],"x":1},"nothing":null}`, ""},
		{"a.list[1]", "{z: 4}", `{"a":{"list":[{"n1":2},{"z":4}],"x":1},"b":{"list":[{"n1":2},3],"x":1},"nothing":null}`, ""},
		{"nothing.new.field", "true", `{"a":{"list":[{"n1":2},3],"x":1},"b":{"list":[{"n1":2},3],"x":1},"nothing":{"new":{"field":true}}}`, ""},
		{"a", "", `{"b":{"list":[{"n1":2},3],"x":1},"nothing":null}`, ""},
		{"a.list[2]", "1", "", "there is no element 2"},
		{"a.list[99999999999999999999]", "1", "", "there is no element 99999999999999999999"},
		{"a.x.n1", "1", "", "n1 is not in an object"},
		{"a..x", "1", "", `not a path at "..x"`},
		{"[0]", "1", "", "there is no element 0"},
	} {
		documents, err := Parse([]byte(text))
		if err != nil || len(documents) != 1 {
			t.Fatal(documents, err)
		}
		root := documents[0].Root
		value, err := ParseValue(test.value)
		if err != nil {
			t.Fatal(err)
		}
		err = root.Set(test.path, value)
		if test.fails != "" {
			if err == nil || err.Error() != test.fails {
				t.Errorf("%s=%s: error %v, want %s", test.path, test.value, err, test.fails)
			}
			continue
		}
		got, _ := json.Marshal(unlined(root))
		if err != nil || string(got) != test.want {
			t.Errorf("%s=%s: %s, %v, want %s", test.path, test.value, got, err, test.want)
		}
		if line := root.LineOf("a.list[0].n1"); test.path == "a.list[0].n1" && line != 1 {
			t.Errorf("line %d, want that of the enclosing value", line)
		}
	}
	for _, text := range []string{"{", "a: 1\n---\nb: 2\n", "\x00"} {
		if value, err := ParseValue(text); err == nil {
			t.Errorf("%q: %v", text, value)
		}
	}
}

// unlined is a value as encoding/json has it.
func unlined(n *Node) any {
	if n == nil {
		return nil
	}
	switch value := n.Value.(type) {
	case Object:
		object := make(map[string]any)
		for i := range value {
			object[value[i].Name] = unlined(value[i].Value)
		}
		return object
	case []*Node:
		list := make([]any, len(value))
		for i := range value {
			list[i] = unlined(value[i])
		}
		return list
	default:
		return value
	}
}
