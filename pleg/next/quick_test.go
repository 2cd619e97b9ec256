package pleg

import (
	"context"
	"fmt"
	"testing"

	"github.com/restartkit/restart/pleg/statuscache"
)

type quiet struct{ pods []Pod[string] }

func (q quiet) Pods(context.Context) ([]Pod[string], error) { return q.pods, nil }
func (q quiet) Pod(_ context.Context, id string) (Pod[string], *int, error) {
	for _, p := range q.pods {
		if p.ID == id {
			return p, new(int), nil
		}
	}
	return Pod[string]{}, nil, ErrNotFound
}

func BenchmarkQuiet(b *testing.B) {
	var q quiet
	for i := range 1000 {
		q.pods = append(q.pods, Pod[string]{ID: fmt.Sprintf("%032d", i), Containers: []Container{
			{ID: fmt.Sprintf("%064d", 2*i), State: StateRunning}, {ID: fmt.Sprintf("%064d", 2*i+1), State: StateRunning}}})
	}
	g, err := NewGenerator(q, statuscache.New[string](statuscache.Options[*int]{}), GeneratorOptions[string]{})
	if err != nil {
		b.Fatal(err)
	}
	g.Relist(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		g.Relist(b.Context())
	}
}
