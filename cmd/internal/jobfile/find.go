package jobfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/field"
)

// Object is a document of a file or an item of a list.
type Object struct {
	Node *document.Node
	Kind string
	at   string // path of the node in its document, with a trailing dot
}

// objects returns the objects of a file in order, including the items of lists.
func objects(documents []*document.Node) (all []Object) {
	for _, node := range documents {
		kind := node.Field("kind").Text()
		of, isList := strings.CutSuffix(kind, "List")
		var items []*document.Node
		if list := node.Field("items"); isList && list != nil {
			items, isList = list.Value.([]*document.Node)
		}
		if !isList || items == nil {
			all = append(all, Object{Node: node, Kind: kind})
			continue
		}
		for i, item := range items {
			one := Object{item, item.Field("kind").Text(), fmt.Sprintf("items[%d].", i)}
			if one.Kind == "" {
				one.Kind = of
			}
			all = append(all, one)
		}
	}
	return all
}

// Name returns the object's name or generateName.
func (o Object) Name() string {
	metadata := o.Node.Field("metadata")
	if name := metadata.Field("name").Text(); name != "" {
		return name
	}
	return metadata.Field("generateName").Text()
}

// String returns the object's kind, name and line.
func (o Object) String() string {
	text := o.Kind
	if text == "" {
		text = "an object without a kind"
	}
	if name := o.Name(); name != "" {
		text += " " + name
	}
	return fmt.Sprintf("%s (line %d)", text, o.Node.Line)
}

// isConfig reports whether the object can hold values for variables.
func (o Object) isConfig() bool { return o.Kind == "Secret" || o.Kind == "ConfigMap" }

// chooseJob returns the named Job or CronJob. If the name is "", it returns the only
// Job, or else the only CronJob.
func chooseJob(all []Object, how Reading) (Object, error) {
	name := how.Job
	jobs := only(all, func(o Object) bool { return o.Kind == "Job" || o.Kind == "CronJob" })
	found := only(jobs, func(o Object) bool { return name == "" || o.Name() == name })
	if plain := only(found, func(o Object) bool { return o.Kind == "Job" }); name == "" && len(plain) > 0 {
		found = plain
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && name != "":
		return Object{}, fmt.Errorf("%s: %d have this name: %s", how.option(name), len(found), list(found))
	case len(found) > 1:
		return Object{}, fmt.Errorf("%d Jobs, choose one with %s: %s", len(found), how.option("NAME"), list(found))
	case len(jobs) > 0:
		return Object{}, fmt.Errorf("%s: no Job has this name; there is %s", how.option(name), list(jobs))
	case len(all) == 1:
		return Object{}, notAJob(all[0])
	case len(all) == 0:
		return Object{}, errors.New("no Job in it")
	}
	return Object{}, fmt.Errorf("no Job in it; there is %s", list(all))
}

// only returns the objects for which keep returns true.
func only(all []Object, keep func(Object) bool) []Object {
	return slices.DeleteFunc(slices.Clone(all), func(o Object) bool { return !keep(o) })
}

// option returns how a user chooses the named Job.
func (r Reading) option(name string) string {
	if r.Processes {
		return "-job " + name
	}
	return "the name " + name
}

// notAJob returns the error for a file whose only object is not a Job.
func notAJob(o Object) error {
	if _, ok := o.Node.Value.(document.Object); !ok {
		return errors.New("not a Job: must be an object with apiVersion, kind, metadata and spec")
	}
	e := field.Error{Field: o.at + "kind", Type: field.NotSupported, Value: o.Kind, Detail: `must be "Job" or "CronJob"`}
	switch kind := o.Node.Field("kind"); {
	case o.at != "" || o.Kind != "": // a string, or an item of a list
	case kind == nil || kind.Value == nil:
		e.Type, e.Value = field.Required, nil
	default:
		e.Type, e.Value = field.Invalid, nil
	}
	return document.Mistakes{{Line: o.Node.LineOf("kind"), Detail: e.Error()}}
}

// list describes the first objects in the order of the file.
func list(all []Object) string {
	const most = 8
	var texts []string
	for _, o := range all[:min(len(all), most)] {
		texts = append(texts, o.String())
	}
	if len(all) > most {
		texts = append(texts, fmt.Sprintf("%d more", len(all)-most))
	}
	return strings.Join(texts, ", ")
}
