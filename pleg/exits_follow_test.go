package pleg

import (
	"testing"

	"github.com/restartkit/restart/pleg/statuscache"
)

// idle is a runtime that is never asked.
type idle struct{ Runtime[string, shown] }

// Evidence of exits is kept while there is a reader.
func TestEvidenceIsKeptForReadersOnly(t *testing.T) {
	g, err := NewGenerator(idle{}, nil, statuscache.New[string](statuscache.Options[shown]{}), GeneratorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reader := func() *ExitReader[string] {
		r, err := g.ExitReader(ExitOptions[string]{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	follows := func(want bool) {
		t.Helper()
		if g.events.exits != want {
			t.Errorf("evidence is kept: %t, want %t", g.events.exits, want)
		}
	}
	follows(false)
	first, second := reader(), reader()
	follows(true)
	first.Close()
	follows(true)
	second.Close()
	follows(false)
}
