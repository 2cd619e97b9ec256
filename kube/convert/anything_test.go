package convert

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/randfill"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// theirs generates values of the API's types with every field of the current version,
// sometimes with few of them, sometimes with all.
func theirs[T any]() *rapid.Generator[*T] {
	return rapid.Custom(func(t *rapid.T) *T {
		filler := randfill.NewWithSeed(rapid.Int64().Draw(t, "seed")).
			NilChance(rapid.SampledFrom([]float64{0, 0.3, 0.9}).Draw(t, "absent")).
			NumElements(0, 2).
			MaxDepth(12).
			Funcs(
				func(at *metav1.Time, c randfill.Continue) { at.Time = time.Unix(c.Int63n(4e9), 0).UTC() },
				func(q *resource.Quantity, c randfill.Continue) {
					*q = *resource.NewQuantity(c.Int63n(1000), resource.DecimalSI)
				},
				func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) },
				func(f *metav1.FieldsV1, c randfill.Continue) { f.SetRawBytes([]byte("{}")) },
			)
		object := new(T)
		filler.Fill(object)
		return object
	})
}

// ours generates values of jobpolicy's types with random values in every field.
func ours[T any]() *rapid.Generator[*T] {
	seconds := rapid.Map(rapid.Int64Range(0, 4e9), func(s int64) any { return time.Unix(s, 0).UTC() })
	return rapid.Ptr(rapid.MakeCustom[T](rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[time.Time]():                  seconds,
			reflect.TypeFor[map[string]json.RawMessage](): rapid.Just(any(map[string]json.RawMessage(nil))), // what client-go does not know
		},
		Fields: map[reflect.Type]map[string]*rapid.Generator[any]{
			reflect.TypeFor[batch.PodFailurePolicyRule](): {"Name": rapid.Just(any(""))}, // KEP-4443, which the API does not have
		},
	}), false)
}

// unequal describes the differences of two objects. Missing and empty lists are equal.
func unequal(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

func encode(t rapid.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encoding %T: %v", v, err)
	}
	return string(text)
}

// memory collects the memory reachable from v through pointers, maps and lists.
func memory(v reflect.Value, all map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.Kind() == reflect.Pointer {
			all[v.Pointer()] = true
		}
		memory(v.Elem(), all)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		all[v.Pointer()] = true
		for _, key := range v.MapKeys() {
			memory(v.MapIndex(key), all)
		}
	case reflect.Slice:
		if v.Cap() > 0 {
			all[v.Pointer()] = true
		}
		for i := range v.Len() {
			memory(v.Index(i), all)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[resource.Quantity]() {
			return // shares a time zone, a number that nobody writes to
		}
		for _, field := range v.Fields() {
			memory(field, all)
		}
	}
}

// shares reports whether a and b share writable memory.
func shares(a, b any) bool {
	ofA, ofB := map[uintptr]bool{}, map[uintptr]bool{}
	memory(reflect.ValueOf(a), ofA)
	memory(reflect.ValueOf(b), ofB)
	for at := range ofA {
		if ofB[at] {
			return true
		}
	}
	return false
}
