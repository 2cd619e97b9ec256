package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/restartkit/restart/jobpolicy"
	"sigs.k8s.io/yaml"
)

// manifest is a Job as its file describes it, with defaults and found valid.
type manifest struct {
	job     *jobpolicy.Job
	fields  fieldRefs
	ignored []string // paths of what is there but not used
}

// maxManifest is how much an API server takes as one request.
const maxManifest = 3 << 20

// readManifest reads the Job of a file, or of standard input if the name is -.
// What is wrong with the Job itself comes as jobpolicy.FieldErrors.
func readManifest(name string, set overrides) (*manifest, error) {
	file := os.Stdin
	if name != "-" {
		var err error
		if file, err = os.Open(name); err != nil {
			return nil, err
		}
		defer file.Close()
	}
	text, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxManifest {
		return nil, fmt.Errorf("larger than %d bytes: not a manifest", maxManifest)
	}
	document, err := parseDocument(text)
	if err != nil {
		return nil, err
	}
	return decodeManifest(document, set)
}

// parseDocument returns the one document of a YAML or JSON text.
func parseDocument(text []byte) (any, error) {
	documents, err := jsonDocuments(text)
	if err != nil {
		documents, err = yamlDocuments(text)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a YAML or JSON document: %w", err)
	case len(documents) == 0:
		return nil, errors.New("empty: a Job is needed")
	case len(documents) > 1:
		return nil, fmt.Errorf("%d documents: only one Job can be run at a time", len(documents))
	}
	return documents[0], nil
}

// jsonDocuments returns the values of a JSON text.
func jsonDocuments(text []byte) (documents []any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // as it is written: the type of the field decides
	for {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, err
		}
		documents = append(documents, document)
	}
}

// yamlDocuments returns the documents of a YAML stream, without empty ones.
func yamlDocuments(text []byte) (documents []any, err error) {
	for _, part := range splitDocuments(text) {
		converted, err := yaml.YAMLToJSONStrict(part.text)
		if err != nil {
			// Once more, as far down as in the stream: the error names the line.
			_, err = yaml.YAMLToJSONStrict(append(bytes.Repeat([]byte("\n"), part.line), part.text...))
			return nil, err
		}
		document, err := jsonDocuments(converted)
		if err != nil {
			return nil, err
		}
		if document[0] != nil {
			documents = append(documents, document[0])
		}
	}
	return documents, nil
}

// part is a document of a YAML stream and how many lines stand before it.
type part struct {
	text []byte
	line int
}

// splitDocuments cuts a YAML stream at the lines that begin (---) and end (...)
// documents, since the YAML library reads only the first one.
func splitDocuments(text []byte) []part {
	var parts []part
	begin, line := 0, 0 // of the present part
	at, lines := 0, 0
	cut := func(next int) {
		parts = append(parts, part{text[begin:at], line})
		begin, line = next, lines
	}
	for content := range bytes.Lines(text) {
		if isMarker(content, "---") {
			cut(at)
		}
		lines++
		if isMarker(content, "...") {
			cut(at + len(content))
		}
		at += len(content)
	}
	cut(len(text))
	return parts
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// decodeManifest turns a document, with overrides, into a Job, or says everything
// that is wrong with it.
func decodeManifest(document any, set overrides) (*manifest, error) {
	object, ok := document.(map[string]any)
	if !ok {
		return nil, errors.New("not a Job: must be an object with apiVersion, kind, metadata and spec")
	}
	if object["kind"] != "Job" {
		return nil, jobpolicy.FieldErrors{wrongKind(object["kind"])}
	}
	if err := set.apply(object); err != nil {
		return nil, err
	}
	var f fitter
	if object["status"] != nil {
		f.ignored = append(f.ignored, "status")
		delete(object, "status")
	}
	fitted, err := json.Marshal(f.fit(object, reflect.TypeFor[jobpolicy.Job](), ""))
	if err != nil {
		return nil, err
	}
	m := &manifest{job: new(jobpolicy.Job)}
	if err := json.Unmarshal(fitted, m.job); err != nil {
		return nil, err
	}
	m.fields, m.ignored = readFieldRefs(object, f.ignored)
	m.job.Spec.Default()
	if errs := m.check(slices.Concat(f.errs, set.unused(f.ignored))); len(errs) > 0 {
		return nil, errs
	}
	m.adopt()
	return m, nil
}

func wrongKind(kind any) jobpolicy.FieldError {
	e := jobpolicy.FieldError{Field: "kind", Type: jobpolicy.NotSupported, Value: kind, Detail: `must be "Job"`}
	text, isText := kind.(string)
	switch {
	case kind == nil:
		e.Type = jobpolicy.Required
	case !isText:
		e.Type, e.Value = jobpolicy.Invalid, nil
	case strings.HasSuffix(text, "List"):
		e.Detail = "only one Job can be run at a time"
	}
	return e
}

// adopt gives the Job what an API server would: a namespace, and no trace of
// another cluster's.
func (m *manifest) adopt() {
	from := m.job.ObjectMeta
	m.job.ObjectMeta = jobpolicy.ObjectMeta{Name: from.Name, Namespace: from.Namespace, Labels: from.Labels, Annotations: from.Annotations}
	if m.job.Namespace == "" {
		m.job.Namespace = "default"
	}
	for _, list := range [][]jobpolicy.Container{m.job.Spec.Template.Spec.InitContainers, m.job.Spec.Template.Spec.Containers} {
		for _, c := range list {
			if c.Image != "" {
				m.ignored = append(m.ignored, "image "+c.Image)
			}
		}
	}
}
