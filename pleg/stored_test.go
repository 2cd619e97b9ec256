package pleg_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/internal/states"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
)

// The position of an ExitReader with live and ended containers, an expected one, and exits
// that nobody has read.
func TestStoredStatesDecideTheSame(t *testing.T) {
	states.Test(t, "exitposition", storedPosition, decideByPosition)
}

// newStoredReader returns a reader of a runtime that looks only when it is asked to.
func newStoredReader(t *testing.T, rt *plegtest.Runtime[string], o pleg.ExitOptions[string]) (*pleg.ExitReader[string], *pleg.Generator[string, *plegtest.Status]) {
	gen, err := pleg.NewGenerator(rt, statuscache.New[string](statuscache.Options[*plegtest.Status]{}), pleg.GeneratorOptions[string]{})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gen.ExitReader(o)
	if err != nil {
		t.Fatal(err)
	}
	return reader, gen
}

// storedRuntime returns a runtime at the time of the position. Of the containers of web-0,
// "read" and "unread" have ended.
func storedRuntime() *plegtest.Runtime[string] {
	rt := plegtest.New[string](1, plegtest.Faults{})
	for _, container := range []string{"lives", "vanishes", "read", "unread"} {
		rt.CreateContainer("web-0", pleg.Container{ID: container, Name: container, Attempt: 1})
		rt.Start("web-0", container)
	}
	return rt
}

func storedPosition(t *testing.T) (position any) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		rt := storedRuntime()
		reader, gen := newStoredReader(t, rt, pleg.ExitOptions[string]{})
		defer reader.Close()
		gen.Relist(ctx)
		for code, container := range []string{"read", "unread"} {
			time.Sleep(time.Second)
			rt.ExitCode("web-0", container, int32(code+1))
			gen.Relist(ctx)
		}
		if _, ok := reader.TryNext(); !ok {
			t.Error("no exit is known")
		}
		reader.Expect("web-1", pleg.Container{ID: "expected", Name: "app"})
		position = reader.Position()
	})
	return position
}

func decideByPosition(t *testing.T, text []byte) (decisions []string) {
	var position pleg.ExitPosition[string]
	if err := json.Unmarshal(text, &position); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		rt := storedRuntime()
		time.Sleep(time.Minute)
		for code, container := range []string{"read", "unread", "lives"} {
			rt.ExitCode("web-0", container, int32(code+1))
		}
		rt.Remove("web-0", "vanishes")
		rt.Create("web-2", "new")
		rt.Start("web-2", "new")
		reader, gen := newStoredReader(t, rt, pleg.ExitOptions[string]{Resume: &position})
		defer reader.Close()
		for range 2 { // an absence needs a second answer
			gen.Relist(t.Context())
			time.Sleep(time.Second)
		}
		for {
			e, ok := reader.TryNext()
			if !ok {
				break
			}
			decisions = append(decisions, fmt.Sprintf("%s %s (%s): exit code %d, %s", e.Pod, e.Container, e.Details.Name, e.Details.Code, e.Source))
		}
	})
	slices.Sort(decisions) // exits of several pods come in no particular order
	return decisions
}
