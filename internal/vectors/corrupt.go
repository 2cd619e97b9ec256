package vectors

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TurnRed checks that the runner compares enough. It corrupts every kind of wanted
// field once, and fails if the runner does not notice or if a kind has no field to
// corrupt.
func TurnRed(t *testing.T, files []File) {
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			cases, err := f.read(Files())
			if err != nil {
				t.Fatal(err)
			}
			noticed, kinds := map[string]bool{}, map[string]bool{} // by kind of field; by kind of case
			for _, c := range cases {
				if f.Kinds[c.Kind].Run != nil && f.corruptEach(c, noticed) {
					kinds[c.Kind] = true
				}
			}
			for kind, k := range f.Kinds {
				if k.Run != nil && !kinds[kind] {
					t.Errorf("no field of a case of kind %q was corrupted", kind)
				}
			}
			for _, field := range slices.Sorted(maps.Keys(noticed)) {
				if !noticed[field] {
					t.Errorf("a wrong %s goes unnoticed", field)
				}
			}
			t.Logf("%d kinds of fields corrupted", len(noticed))
		})
	}
}

var place = regexp.MustCompile(`\[\d+\]`)

// corruptEach corrupts the case's fields of kinds not yet shown to be compared. It
// reports whether the case's wanted outcome is compared at all, which requires a model
// if the case deviates.
func (f File) corruptEach(c *Case, noticed map[string]bool) bool {
	if _, _, err := f.outcomes(c); err != nil || c.exclusion != "" || c.deviation != "" && !c.modelled {
		return false
	}
	how := ""
	if c.deviation != "" {
		how = " under a deviation"
	}
	for path, corrupted := range corruptions("want", c.Want) {
		field := strings.TrimSpace(c.Kind + " " + place.ReplaceAllString(path, "[]") + how)
		if noticed[field] {
			continue
		}
		bad := *c
		bad.Want = corrupted
		r := f.check([]*Case{&bad})
		noticed[field] = len(r.failures[c.ID]) > 0
	}
	return true
}

// corruptions yields copies of a wanted outcome, each with one field changed, by the
// field's path. Where one change may be equivalent, as with the text of an error, it
// changes the field in several ways.
func corruptions(path string, want any) func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		switch v := want.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				for p, corrupted := range corruptions(path+"."+name, v[name]) {
					w := maps.Clone(v)
					w[name] = corrupted
					if !yield(p, w) {
						return
					}
				}
			}
			return
		case []any:
			for i := range v {
				for p, corrupted := range corruptions(fmt.Sprintf("%s[%d]", path, i), v[i]) {
					w := slices.Clone(v)
					w[i] = corrupted
					if !yield(p, w) {
						return
					}
				}
			}
			yield(path+" (length)", append(slices.Clone(v), v...)[:len(v)+min(len(v), 1)])
			if len(v) == 0 {
				yield(path+" (length)", []any{map[string]any{}})
			}
			return
		case string:
			_ = yield(path, v+"x") && yield(path, nil)
		case json.Number:
			n, _ := v.Int64()
			_ = yield(path, json.Number(fmt.Sprint(n+1))) && yield(path, json.Number(fmt.Sprint(n-1)))
		case bool:
			yield(path, !v)
		case nil:
			_ = yield(path, "x") && yield(path, json.Number("12345"))
		}
	}
}
