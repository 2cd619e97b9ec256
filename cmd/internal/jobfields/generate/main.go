// Command generate writes the fields of a Job and a CronJob, as their Go types
// have them, in the form that package jobfields reads.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: generate FILE")
	}
	var text bytes.Buffer
	write(&text)
	if err := os.WriteFile(flag.Arg(0), text.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// write writes every struct that a Job or a CronJob can hold, by name.
func write(w io.Writer) {
	structs := make(map[string]reflect.Type)
	collect(reflect.TypeFor[batchv1.Job](), structs)
	collect(reflect.TypeFor[batchv1.CronJob](), structs)
	names := make([]string, 0, len(structs))
	for name := range structs {
		names = append(names, name)
	}
	slices.Sort(names)
	out := bufio.NewWriter(w)
	defer out.Flush()
	fmt.Fprintln(out, "# Written by generate from k8s.io/api. Do not edit.")
	for _, name := range names {
		fmt.Fprintln(out, name)
		for _, f := range fields(structs[name]) {
			fmt.Fprintf(out, "\t%s %s\n", f.name, typeName(f.of))
		}
	}
}

// collect adds the struct t, and those that its fields hold.
func collect(t reflect.Type, structs map[string]reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collect(t.Elem(), structs)
	case reflect.Struct:
		if special(t) != "" || structs[t.Name()] == t {
			return
		}
		if structs[t.Name()] != nil {
			log.Fatalf("two types are named %s", t.Name())
		}
		structs[t.Name()] = t
		for _, f := range fields(t) {
			collect(f.of, structs)
		}
	}
}

type field struct {
	name string
	of   reflect.Type
}

// fields returns the fields of a struct by their JSON names, those of embedded
// structs included.
func fields(t reflect.Type) (all []field) {
	for f := range t.Fields() {
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name == "-":
		case name != "":
			all = append(all, field{name, f.Type})
		case f.Anonymous:
			all = append(all, fields(f.Type)...)
		}
	}
	return all
}

// special names the types that have a form of their own in JSON.
func special(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "time"
	case reflect.TypeFor[resource.Quantity]():
		return "quantity"
	case reflect.TypeFor[intstr.IntOrString]():
		return "intstr"
	case reflect.TypeFor[metav1.FieldsV1]():
		return "any"
	}
	return ""
}

func typeName(t reflect.Type) string {
	if name := special(t); name != "" {
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "[]" + typeName(t.Elem())
	case reflect.Map:
		return "map[string]" + typeName(t.Elem())
	case reflect.Struct:
		return t.Name()
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return t.Kind().String()
	}
	log.Fatalf("no name for %v", t)
	return ""
}
