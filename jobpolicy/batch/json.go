package batch

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// Unknown fields, such as those of a newer Kubernetes, survive reading and writing a
// Job.

// UnmarshalJSON keeps unknown fields in Unknown.
func (s *JobSpec) UnmarshalJSON(text []byte) error {
	type plain JobSpec
	return readKnown(text, (*plain)(s), &s.Unknown)
}

// MarshalJSON includes the fields in Unknown.
func (s JobSpec) MarshalJSON() ([]byte, error) {
	type plain JobSpec
	return writeKnown(plain(s), s.Unknown)
}

// UnmarshalJSON keeps unknown fields in Unknown.
func (r *PodFailurePolicyRule) UnmarshalJSON(text []byte) error {
	type plain PodFailurePolicyRule
	return readKnown(text, (*plain)(r), &r.Unknown)
}

// MarshalJSON includes the fields in Unknown.
func (r PodFailurePolicyRule) MarshalJSON() ([]byte, error) {
	type plain PodFailurePolicyRule
	return writeKnown(plain(r), r.Unknown)
}

// readKnown unmarshals an object into a struct, and the fields missing there into
// unknown.
func readKnown[T any](text []byte, into *T, unknown *map[string]json.RawMessage) error {
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	t := reflect.TypeFor[T]()
	for name := range all {
		if hasField(t, name) {
			delete(all, name)
		}
	}
	if *unknown = nil; len(all) > 0 {
		*unknown = all
	}
	return nil
}

// hasField reports whether encoding/json stores a field of that name in a struct.
func hasField(t reflect.Type, name string) bool {
	for i := range t.NumField() {
		field, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if strings.EqualFold(field, name) {
			return field != "-"
		}
	}
	return false
}

// writeKnown marshals a struct together with the unknown fields. A field of the struct
// takes precedence over an unknown field of the same name.
func writeKnown[T any](from T, unknown map[string]json.RawMessage) ([]byte, error) {
	text, err := json.Marshal(from)
	if err != nil || len(unknown) == 0 {
		return text, err
	}
	var known map[string]json.RawMessage
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, err
	}
	all := maps.Clone(unknown)
	t := reflect.TypeFor[T]()
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return hasField(t, name) })
	maps.Copy(all, known)
	return json.Marshal(all)
}
