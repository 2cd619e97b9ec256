package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// Every question has exactly one answer.
func TestRun(t *testing.T) {
	kinds := Kinds{
		"double": Answer(func(in struct{ N int }) (any, error) { return 2 * in.N, nil }),
		"null":   func(json.RawMessage) (any, error) { return nil, nil },
		"panic":  func(json.RawMessage) (any, error) { panic("oops") },
		"error":  func(json.RawMessage) (any, error) { return 1, errors.New("oops") },
		"never":  func(json.RawMessage) (any, error) { return nil, fmt.Errorf("here: %w", Unsupported("not here")) },
		"nan":    func(json.RawMessage) (any, error) { return math.NaN(), nil },
		"nil":    nil,
	}
	for question, want := range map[string]string{
		`{"id":"a","kind":"double","n":2}`:   `{"id":"a","got":4}`,
		`{"id":"a","kind":"double","n":"x"}`: `{"id":"a","got":null,"error":"json: cannot unmarshal`,
		`{"id":"a","kind":"null"}`:           `{"id":"a","got":null}`,
		`{"id":"a","kind":"panic"}`:          `{"id":"a","got":null,"error":"panic: oops"}`,
		`{"id":"a","kind":"error"}`:          `{"id":"a","got":null,"error":"oops"}`,
		`{"id":"a","kind":"never"}`:          `{"id":"a","got":null,"unsupported":true,"why":"not here"}`,
		`{"id":"a","kind":"nan"}`:            `{"id":"a","got":null,"error":"json: unsupported value: NaN"}`,
		`{"id":"a","kind":"nil"}`:            `{"id":"a","got":null,"unsupported":true,"why":"kind nil"}`,
		`{"id":"a","kind":"other"}`:          `{"id":"a","got":null,"unsupported":true,"why":"kind other"}`,
		`[]`:                                 `{"id":"","got":null,"error":"json: cannot unmarshal array`,
	} {
		var out strings.Builder
		if err := Run(strings.NewReader(question+"\n"), &out, kinds); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(out.String(), want) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s: %s, want %s", question, out.String(), want)
		}
	}
	var out strings.Builder
	if err := Run(strings.NewReader(`{"id":"a","kind":"null"}{`), &out, kinds); err == nil || out.String() != `{"id":"a","got":null}`+"\n" {
		t.Errorf("a broken question: %v, %q", err, out.String())
	}
}
