//go:build unix

package statefolder

import "testing"

// TestDecodeNamesNoType of the program.
func TestDecodeNamesNoType(t *testing.T) {
	for text, want := range map[string]string{
		`{"run": {"step": 1}}`:   "",
		`[]`:                     "not a state of this program, but a JSON array",
		`{"run": {"step": "x"}}`: "not a state of this program: run.step is a JSON string",
		`{`:                      "unexpected end of JSON input",
	} {
		var into struct {
			Run struct {
				Step int `json:"step"`
			} `json:"run"`
		}
		got := ""
		if err := Decode([]byte(text), &into); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
