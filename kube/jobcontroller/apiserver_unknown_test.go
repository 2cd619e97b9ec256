package jobcontroller

import (
	"encoding/json"
	"maps"
	"slices"
)

// An API server newer than client-go has Jobs with fields unknown to client-go. These
// functions keep the fields beside the Jobs, and add them to answers.

// stored returns an object as sent, with the fields unknown to client-go.
func (s *apiServer) stored(o object) any {
	if extra := s.unknown[keyOf(o.GetNamespace(), o.GetName())]; len(extra) > 0 {
		return with(fieldsOf(o), extra)
	}
	return o
}

// fieldsOf returns the fields of an object's JSON.
func fieldsOf(o any) (fields map[string]any) {
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		panic(err)
	}
	return fields
}

// with returns fields with those of extra that they lack. It compares items of lists by
// position.
func with(fields, extra map[string]any) map[string]any {
	fields = maps.Clone(fields)
	for name, e := range extra {
		switch f := fields[name].(type) {
		case nil:
			fields[name] = e
		case map[string]any:
			if e, ok := e.(map[string]any); ok {
				fields[name] = with(f, e)
			}
		case []any:
			f = slices.Clone(f)
			e, _ := e.([]any)
			for i := range min(len(f), len(e)) {
				item, _ := f[i].(map[string]any)
				if more, ok := e[i].(map[string]any); ok && item != nil {
					f[i] = with(item, more)
				}
			}
			fields[name] = f
		}
	}
	return fields
}

// without returns the parts of have that known lacks, the inverse of with.
func without(fields, known map[string]any) map[string]any {
	extra := map[string]any{}
	for name, f := range fields {
		switch k := known[name].(type) {
		case nil:
			if f != nil {
				extra[name] = f
			}
		case map[string]any:
			if f, ok := f.(map[string]any); ok {
				if e := without(f, k); len(e) > 0 {
					extra[name] = e
				}
			}
		case []any:
			f, _ := f.([]any)
			items, some := make([]any, min(len(f), len(k))), false
			for i := range items {
				more := map[string]any{}
				item, _ := f[i].(map[string]any)
				if k, ok := k[i].(map[string]any); ok && item != nil {
					more = without(item, k)
				}
				items[i], some = more, some || len(more) > 0
			}
			if some {
				extra[name] = items
			}
		}
	}
	return extra
}
