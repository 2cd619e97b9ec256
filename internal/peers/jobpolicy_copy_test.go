package peers

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/jobpolicy"
)

// anything generates values of jobpolicy's types with every field drawn.
func anything[T any]() *rapid.Generator[T] {
	seconds := rapid.Map(rapid.Int64Range(0, 4e9), func(s int64) any { return time.Unix(s, 0).UTC() })
	return rapid.MakeCustom[T](rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{reflect.TypeFor[time.Time](): seconds},
	})
}

// TestCopy checks, on random objects, that a copy of client-go's type field by
// field is what decoding its JSON gives, and that every field of ours has a name
// that client-go's type knows.
func TestCopy(t *testing.T) {
	t.Run("Pod", func(t *testing.T) { rapid.Check(t, copies[jobpolicy.Pod](PodFrom)) })
	t.Run("Job", func(t *testing.T) { rapid.Check(t, copies[jobpolicy.Job](JobFrom)) })
}

func copies[Ours, Theirs any](copyOf func(*Theirs) *Ours) func(*rapid.T) {
	values := anything[Ours]()
	return func(t *rapid.T) {
		drawn := values.Draw(t, "object")
		var theirs Theirs
		decoder := json.NewDecoder(bytes.NewReader(encode(t, drawn)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&theirs); err != nil {
			t.Fatalf("client-go's type does not decode ours: %v", err)
		}
		var decoded Ours
		if err := json.Unmarshal(encode(t, theirs), &decoded); err != nil {
			t.Fatalf("our type does not decode client-go's: %v", err)
		}
		if diff := cmp.Diff(decoded, *copyOf(&theirs), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the copy differs from the decoded JSON (-decoded +copied):\n%s", diff)
		}
		if diff := cmp.Diff(drawn, decoded, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("a field got lost on the way through client-go's type (-drawn +decoded):\n%s", diff)
		}
	}
}

func encode(t *rapid.T, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encoding %T: %v", v, err)
	}
	return text
}

// TestCopyOfNothing checks the zero objects, whose pointers are all nil.
func TestCopyOfNothing(t *testing.T) {
	if diff := cmp.Diff(&jobpolicy.Pod{}, PodFrom(&corev1.Pod{})); diff != "" {
		t.Errorf("zero pod (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&jobpolicy.Job{}, JobFrom(&batchv1.Job{})); diff != "" {
		t.Errorf("zero Job (-want +got):\n%s", diff)
	}
}
