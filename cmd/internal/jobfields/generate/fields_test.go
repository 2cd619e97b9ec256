// Package generate compares the fields that package jobfields knows with k8s.io/api,
// and writes them anew with -rewrite.
package generate

import (
	"bytes"
	"encoding/json"
	"flag"
	"log"
	"os"
	"reflect"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var rewrite = flag.Bool("rewrite", false, "write fields.json anew")

func TestFieldsAreThoseOfTheAPI(t *testing.T) {
	types := make(table)
	types.name(reflect.TypeFor[batchv1.Job]())
	types.name(reflect.TypeFor[batchv1.CronJob]())
	types["PodFailurePolicyRule"]["name"] = "string" // which package jobpolicy has beside them (KEP-4443)
	want, err := json.MarshalIndent(types, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	const file = "../fields.json"
	if *rewrite {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("fields.json differs from k8s.io/api: run go generate in its folder")
	}
}

// table has the types of the fields of each struct, by their JSON names.
type table map[string]map[string]string

// named are the structs of the table.
var named = make(map[string]reflect.Type)

// special names the types that have a form of their own in JSON.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():        "time",
	reflect.TypeFor[metav1.MicroTime]():   "time",
	reflect.TypeFor[resource.Quantity]():  "quantity",
	reflect.TypeFor[intstr.IntOrString](): "intstr",
	reflect.TypeFor[metav1.FieldsV1]():    "any",
}

// name returns the name of a type, and adds the structs that it holds to the table.
func (types table) name(t reflect.Type) string {
	if name := special[t]; name != "" {
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return types.name(t.Elem())
	case reflect.Slice:
		return "[]" + types.name(t.Elem())
	case reflect.Map:
		return "map[string]" + types.name(t.Elem())
	case reflect.Struct:
		switch of := named[t.Name()]; of {
		case nil:
			named[t.Name()], types[t.Name()] = t, make(map[string]string)
			types.add(t.Name(), t)
		case t:
		default:
			log.Fatalf("%v and %v have the same name", t, of)
		}
		return t.Name()
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return t.Kind().String()
	}
	log.Fatalf("no name for %v", t)
	return ""
}

// add adds the fields of a struct, those of embedded structs included.
func (types table) add(to string, t reflect.Type) {
	for f := range t.Fields() {
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name == "-":
		case name != "":
			types[to][name] = types.name(f.Type)
		case f.Anonymous:
			types.add(to, f.Type)
		}
	}
}
