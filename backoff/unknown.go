package backoff

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/internal/spelling"
)

// Unknown fields are kept as the text of a JSON object. They survive a round trip, so a
// stored mistake is found as well, and a text keeps Policy comparable and cheap to copy.

// unknownFields returns the fields left over by read as a JSON object, or "".
func unknownFields(fields map[string]json.RawMessage) string {
	if len(fields) == 0 {
		return ""
	}
	text, _ := json.Marshal(fields) // decoded from valid JSON
	return string(text)
}

// marshalWith encodes a struct together with the object unknown. A field of the struct
// takes precedence over an unknown field of the same name.
func marshalWith(known any, unknown string) ([]byte, error) {
	text, err := json.Marshal(known)
	if err != nil || unknown == "" {
		return text, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(unknown), &fields); err != nil {
		return nil, err
	}
	for _, name := range jsonNames(known) {
		delete(fields, name)
	}
	switch more := unknownFields(fields); {
	case more == "":
		return text, nil
	case string(text) == "{}":
		return []byte(more), nil
	default:
		return append(append(text[:len(text)-1], ','), more[1:]...), nil
	}
}

// validateUnknown adds an error for each field in the object unknown, and suggests one
// of known. path is the prefix of their paths.
func validateUnknown(errs *field.Errors, path, unknown string, known any) {
	if unknown == "" {
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(unknown), &fields) != nil || len(fields) == 0 {
		errs.Add(field.Invalid, path+"Unknown", unknown, "must be empty or a JSON object with fields")
		return
	}
	names := jsonNames(known)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		detail := ""
		if meant := spelling.Nearest(name, names); meant != "" {
			detail = "did you mean " + meant + "?"
		}
		errs.Add(field.Unknown, path+nameText(name), nil, detail)
	}
}

// jsonNames returns the names of a struct's fields in JSON.
func jsonNames(of any) []string {
	t := reflect.TypeOf(of)
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// nameText prints the name of an unknown field in a path, in quotes if it is unusual.
func nameText(name string) string {
	const most = 63
	usual := func(c rune) bool {
		return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if name == "" || len(name) > most || strings.ContainsFunc(name, func(c rune) bool { return !usual(c) }) {
		return quote.Text(name)
	}
	return name
}
