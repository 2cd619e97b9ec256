package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/document"
)

// object is an object of a file: a document, or an item of a list.
type object struct {
	node *document.Node
	kind string
	at   string // path of the node in its document, with a dot behind it
}

// objects returns the objects of a file in their order, those in lists included.
func objects(documents []*document.Node) (all []object) {
	for _, node := range documents {
		kind := node.Field("kind").Text()
		of, isList := strings.CutSuffix(kind, "List")
		var items []*document.Node
		if list := node.Field("items"); isList && list != nil {
			items, isList = list.Value.([]*document.Node)
		}
		if !isList || items == nil {
			all = append(all, object{node: node, kind: kind})
			continue
		}
		for i, item := range items {
			one := object{item, item.Field("kind").Text(), fmt.Sprintf("items[%d].", i)}
			if one.kind == "" {
				one.kind = of
			}
			all = append(all, one)
		}
	}
	return all
}

func (o object) name() string {
	metadata := o.node.Field("metadata")
	if name := metadata.Field("name").Text(); name != "" {
		return name
	}
	return metadata.Field("generateName").Text()
}

func (o object) String() string {
	text := o.kind
	if text == "" {
		text = "an object without a kind"
	}
	if name := o.name(); name != "" {
		text += " " + name
	}
	return fmt.Sprintf("%s (line %d)", text, o.node.Line)
}

// isJob reports whether the object is a Job, or has the template of one.
func (o object) isJob() bool { return o.kind == "Job" || o.kind == "CronJob" }

// isConfig reports whether the object can hold values of variables.
func (o object) isConfig() bool { return o.kind == "Secret" || o.kind == "ConfigMap" }

// chooseJob returns the Job or CronJob of that name. If name is "", it returns the only
// Job, or else the only CronJob.
func chooseJob(all []object, name string) (object, error) {
	var jobs, found []object
	for _, o := range all {
		if o.isJob() {
			jobs = append(jobs, o)
		}
		if o.isJob() && (name == "" || o.name() == name) {
			found = append(found, o)
		}
	}
	if name == "" {
		found = preferJobs(found)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && name != "":
		return object{}, fmt.Errorf("-job %s: %d have this name: %s", name, len(found), list(found))
	case len(found) > 1:
		return object{}, fmt.Errorf("%d Jobs, choose one with -job NAME: %s", len(found), list(found))
	case len(jobs) > 0:
		return object{}, fmt.Errorf("-job %s: no Job has this name; there is %s", name, list(jobs))
	case len(all) == 1:
		return object{}, notAJob(all[0])
	case len(all) == 0:
		return object{}, errors.New("no Job in it")
	}
	return object{}, fmt.Errorf("no Job in it; there is %s", list(all))
}

func preferJobs(found []object) []object {
	var jobs []object
	for _, o := range found {
		if o.kind == "Job" {
			jobs = append(jobs, o)
		}
	}
	if len(jobs) > 0 {
		return jobs
	}
	return found
}

// notAJob returns why the only object of a file is not a Job.
func notAJob(o object) error {
	if _, ok := o.node.Value.(document.Object); !ok {
		return errors.New("not a Job: must be an object with apiVersion, kind, metadata and spec")
	}
	e := backoff.FieldError{Field: o.at + "kind", Type: backoff.ErrorTypeNotSupported, Value: o.kind, Detail: `must be "Job" or "CronJob"`}
	switch kind := o.node.Field("kind"); {
	case o.at != "" || o.kind != "": // a text, or of a list
	case kind == nil || kind.Value == nil:
		e.Type, e.Value = backoff.ErrorTypeRequired, nil
	default:
		e.Type, e.Value = backoff.ErrorTypeInvalid, nil
	}
	return mistakes{{line: o.node.LineOf("kind"), text: e.Error()}}
}

// list names the first objects, in the order of their file.
func list(all []object) string {
	const most = 8
	texts := make([]string, 0, most+1)
	for i, o := range all {
		if i == most {
			texts = append(texts, fmt.Sprintf("%d more", len(all)-most))
			break
		}
		texts = append(texts, o.String())
	}
	return strings.Join(texts, ", ")
}
