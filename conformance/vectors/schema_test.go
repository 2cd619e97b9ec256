package vectors

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A schema checks JSON by the keywords of JSON Schema that schema.json uses.
type schema struct{ root map[string]any }

func readSchema(t *testing.T) schema {
	t.Helper()
	text, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Tree(text)
	if err != nil {
		t.Fatal(err)
	}
	return schema{tree.(map[string]any)}
}

// of returns the schema of a definition.
func (s schema) of(name string) any { return map[string]any{"$ref": "#/$defs/" + name} }

// check returns why the value at path does not have the schema, or "".
func (s schema) check(path string, by, value any) string {
	rules := by.(map[string]any)
	for _, keyword := range slices.Sorted(maps.Keys(rules)) {
		if why := s.checkKeyword(path, keyword, rules, value); why != "" {
			return why
		}
	}
	return ""
}

func (s schema) checkKeyword(path, keyword string, rules map[string]any, value any) string {
	fails := func(format string, args ...any) string { return path + ": " + fmt.Sprintf(format, args...) }
	rule := rules[keyword]
	switch keyword {
	case "title", "description", "$schema", "$id", "$defs":
	case "$ref":
		definition, ok := s.root["$defs"].(map[string]any)[strings.TrimPrefix(rule.(string), "#/$defs/")]
		if !ok {
			return fails("no definition %v", rule)
		}
		return s.check(path, definition, value)
	case "anyOf":
		var all []string
		for _, by := range rule.([]any) {
			why := s.check(path, by, value)
			if why == "" {
				return ""
			}
			all = append(all, why)
		}
		return fails("none of\n\t%s", strings.Join(all, "\n\t"))
	case "const":
		if value != rule {
			return fails("%v is not %v", value, rule)
		}
	case "enum":
		if !slices.Contains(rule.([]any), value) {
			return fails("%v is none of %v", value, rule)
		}
	case "type":
		types, ok := rule.([]any)
		if !ok {
			types = []any{rule}
		}
		if !slices.ContainsFunc(types, func(t any) bool { return hasType(value, t.(string)) }) {
			return fails("%s has not the type %v", Text(value), rule)
		}
	case "pattern":
		if text, ok := value.(string); ok && !regexp.MustCompile(rule.(string)).MatchString(text) {
			return fails("%q does not match %v", text, rule)
		}
	case "minimum":
		if n, ok := value.(json.Number); ok {
			if f, _ := n.Float64(); f < number(rule) {
				return fails("%v is below %v", n, rule)
			}
		}
	case "minItems", "maxItems":
		if list, ok := value.([]any); ok && (keyword == "minItems") == (len(list) < int(number(rule))) && len(list) != int(number(rule)) {
			return fails("%d items, %s %v", len(list), keyword, rule)
		}
	case "items":
		list, _ := value.([]any)
		for i, item := range list {
			if why := s.check(fmt.Sprintf("%s[%d]", path, i), rule, item); why != "" {
				return why
			}
		}
	case "required":
		fields, ok := value.(map[string]any)
		for _, name := range rule.([]any) {
			if _, has := fields[name.(string)]; ok && !has {
				return fails("%v is missing", name)
			}
		}
	case "properties", "additionalProperties":
		return s.checkFields(path, keyword == "properties", rules, value)
	default:
		return fails("unknown keyword %s", keyword)
	}
	return ""
}

// checkFields checks the fields of an object that have a schema of their own, or the
// others.
func (s schema) checkFields(path string, own bool, rules map[string]any, value any) string {
	fields, _ := value.(map[string]any)
	properties, _ := rules["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		by, has := properties[name]
		switch {
		case has != own:
			continue
		case !own && rules["additionalProperties"] == false:
			return path + ": unknown field " + name
		case !own:
			by = rules["additionalProperties"]
		}
		if why := s.check(path+"."+name, by, fields[name]); why != "" {
			return why
		}
	}
	return ""
}

func number(v any) float64 {
	f, _ := v.(json.Number).Float64()
	return f
}

func hasType(value any, name string) bool {
	switch value := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		return name == "integer" && !strings.ContainsAny(value.String(), ".eE")
	case []any:
		return name == "array"
	}
	return name == "object"
}

func TestFilesHaveTheSchema(t *testing.T) {
	s := readSchema(t)
	names, err := Names(Embedded())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(Embedded(), name+".json")
		if err != nil {
			t.Fatal(err)
		}
		file, err := Tree(text)
		if err != nil {
			t.Fatal(err)
		}
		if why := s.check(name, s.of(name), file); why != "" {
			t.Error(why)
		}
		if why := s.check(name, s.root, file); why != "" {
			t.Errorf("no alternative of the schema: %s", why)
		}
	}
}

// The schema notices mistakes in each file: a missing field, an unknown one, and a
// value of another type.
func TestSchemaRefusesMistakes(t *testing.T) {
	s := readSchema(t)
	refused := 0
	for name := range maps.Keys(s.root["$defs"].(map[string]any)) {
		text, err := fs.ReadFile(Embedded(), name+".json")
		if err != nil {
			continue // the definition of a shape
		}
		file, err := Tree(text)
		if err != nil {
			t.Fatal(err)
		}
		fields := file.(map[string]any)
		list := "cases"
		if name == "jobcontroller_runs" {
			list = "runs"
		}
		first := fields[list].([]any)[0].(map[string]any)
		for field := range first {
			for what, mistake := range map[string]map[string]any{
				"missing":         without(first, field),
				"unknown":         with(without(first, field), field+"_", first[field]),
				"of another type": with(first, field, []any{[]any{}}),
			} {
				if what == "missing" && (field == "table" || strings.HasPrefix(field, "upstream")) {
					continue // of cases from tables only
				}
				bad := with(fields, list, []any{mistake})
				if s.check(name, s.of(name), bad) == "" {
					t.Errorf("%s: %s may be %s", name, field, what)
				}
				refused++
			}
		}
	}
	if refused < 200 {
		t.Errorf("only %d mistakes were tried", refused)
	}
}

func with(fields map[string]any, name string, value any) map[string]any {
	fields = maps.Clone(fields)
	fields[name] = value
	return fields
}

func without(fields map[string]any, name string) map[string]any {
	fields = maps.Clone(fields)
	delete(fields, name)
	return fields
}

func TestSchemaOfAnswers(t *testing.T) {
	s := readSchema(t)
	for text, ok := range map[string]bool{
		`{"id":"a","got":null}`:                                  true,
		`{"id":"a","got":{"delays_ms":[1]}}`:                     true,
		`{"id":"a","got":null,"unsupported":true,"why":"never"}`: true,
		`{"id":"a","unsupported":true}`:                          true,
		`{"id":"a","error":"broken"}`:                            true,
		`{"id":"a"}`:                                             false,
		`{"got":1}`:                                              false,
		`{"id":"a","got":1,"error":"broken"}`:                    false,
		`{"id":"a","unsupported":false}`:                         false,
	} {
		tree, err := Tree([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if why := s.check("answer", s.of("answer"), tree); (why == "") != ok {
			t.Errorf("%s: %q", text, why)
		}
	}
}
