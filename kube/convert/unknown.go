package convert

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// unknownField is a field of batchv1.JobSpec that jobpolicy does not know.
type unknownField struct {
	index int
	name  string // in JSON
}

// unknownOfJobSpec depends on the version of k8s.io/api. From 0.37 on it includes
// scheduling, whose Go type has changed in 0.38.
var unknownOfJobSpec = unknownOf(reflect.TypeFor[batchv1.JobSpec](), reflect.TypeFor[batch.JobSpec]())

// unknownOf returns the fields of theirs whose names in JSON ours lacks.
func unknownOf(theirs, ours reflect.Type) (unknown []unknownField) {
	known := map[string]bool{}
	for field := range ours.Fields() {
		known[nameInJSON(field)] = true
	}
	for i := range theirs.NumField() {
		if name := nameInJSON(theirs.Field(i)); !known[name] {
			unknown = append(unknown, unknownField{i, name})
		}
	}
	return unknown
}

func nameInJSON(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// unknownFields returns the JSON of the fields that are set and that jobpolicy does not
// know, by their names, or nil if there are none.
func unknownFields(s *batchv1.JobSpec) map[string]json.RawMessage {
	var unknown map[string]json.RawMessage
	v := reflect.ValueOf(s).Elem()
	for _, f := range unknownOfJobSpec {
		value := v.Field(f.index)
		if value.IsZero() { // all of them are optional
			continue
		}
		text, err := json.Marshal(value.Interface())
		if err != nil {
			panic(fmt.Sprintf("convert: spec.%s has no JSON: %v", f.name, err)) // no type of the API can fail
		}
		if unknown == nil {
			unknown = make(map[string]json.RawMessage)
		}
		unknown[f.name] = text
	}
	return unknown
}
