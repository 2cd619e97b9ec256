package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/restartkit/restart/internal/spelling"
	"github.com/restartkit/restart/kube/check/document"
)

// MaxFileSize is the size of the largest file to be read, in bytes. Its documents have
// no limit of their own: an API server takes at most 3 MiB in a request, but a document
// can be a List of many objects.
const MaxFileSize = 16 << 20

// File is the content of a file.
type File struct {
	Name string

	// Objects are the objects of the file in order, with the items of lists in place of
	// the lists. Those of kinds that are not judged have no Value.
	Objects []*Object

	// Findings are about the file and about documents that hold no object.
	Findings []Finding

	// NoObjects is the number of documents that are no object, such as the values of a
	// chart, and Encrypted and Templated the number of those that are not judged because
	// they are encrypted or a template.
	NoObjects, Encrypted, Templated int
}

// ReadFile reads a file. Its mistakes are among its Findings.
func ReadFile(name string) *File {
	file, err := os.Open(name)
	if err != nil {
		return unreadable(name, err)
	}
	defer file.Close()
	return Read(name, file)
}

// Read reads a file of the given name from r, at most MaxFileSize bytes.
func Read(name string, r io.Reader) *File { return read(name, r, MaxFileSize) }

func read(name string, r io.Reader, most int) *File {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
		return unreadable(name, err)
	case len(text) > most:
		return unreadable(name, fmt.Errorf("larger than %d MiB", most>>20))
	}
	return Parse(name, text)
}

// unreadable is a file that cannot be read.
func unreadable(name string, err error) *File {
	return &File{Name: name, Findings: []Finding{{Severity: Error, Kind: KindUnreadable, Text: plainError(err).Error()}}}
}

// Parse reads the text of a file.
func Parse(name string, text []byte) *File {
	f := &File{Name: name}
	documents, err := document.Parse(text)
	var syntax *document.SyntaxError
	switch {
	case errors.As(err, &syntax):
		f.Findings = append(f.Findings, Finding{Severity: Error, Kind: KindUnreadable, Line: syntax.Line, Text: syntax.Detail})
	case err != nil:
		f.Findings = append(f.Findings, Finding{Severity: Error, Kind: KindUnreadable, Text: err.Error()})
	}
	for i := range documents {
		f.add(&documents[i])
	}
	return f
}

// add adds the objects of a document.
func (f *File) add(d *document.Document) {
	switch {
	case d.Err != nil && isTemplate(d.Text):
		f.template(d.Err.Line)
	case d.Err != nil:
		f.Findings = append(f.Findings, Finding{Severity: Error, Kind: KindUnreadable, Line: d.Err.Line, Text: "neither YAML nor JSON: " + d.Err.Detail})
	default:
		f.addObject(&Object{Line: d.Root.Line, Node: d.Root, text: d.Text}, "")
	}
}

// isTemplate reports whether a text has the marks of a template, such as Helm's or
// Jinja's.
func isTemplate(text []byte) bool {
	return bytes.Contains(text, []byte("{{")) || bytes.Contains(text, []byte("{%"))
}

// template says once that the file is a template.
func (f *File) template(line int) {
	if f.Templated++; f.Templated > 1 {
		return
	}
	f.Findings = append(f.Findings, Finding{Severity: Notice, Kind: KindTemplated, Line: line,
		Text: "a template, which is not judged: fill it in first, as in helm template CHART | restart check -"})
}

// addObject adds an object, or the items of a list. of is the kind of an item of a typed
// list that names none.
func (f *File) addObject(o *Object, of string) {
	if !o.Node.IsObject() {
		f.NoObjects++
		return
	}
	o.describe(of)
	switch {
	case o.isEncrypted():
		f.Encrypted++
		if _, isJudged := judged[o.Kind]; isJudged || strings.HasPrefix(o.Kind, "ENC[") || o.Kind == "" {
			f.Findings = append(f.Findings, Finding{Severity: Notice, Kind: KindEncrypted, Line: o.Line, Field: o.path,
				Text: "encrypted with SOPS, which is not judged: decrypt it first, as in sops -d FILE | restart check -"})
		}
		return
	case o.APIVersion == "" && o.Kind == "":
		f.NoObjects++
		return
	}
	if items := o.Node.Field("items"); o.isList() && items.List() != nil {
		kind := strings.TrimSuffix(o.Kind, "List")
		for i, item := range items.List() {
			one := &Object{Line: item.Line, Node: item, path: o.fieldPath(fmt.Sprintf("items[%d]", i)), text: o.text}
			if kind != "" && item.IsObject() {
				one.APIVersion = o.APIVersion
			}
			f.addObject(one, kind)
		}
		return
	}
	o.decode()
	if o.isTemplated() {
		f.template(o.Line)
		o.Value, o.Mistakes, o.found = nil, nil, nil
		return
	}
	f.Objects = append(f.Objects, o)
}

// describe sets the kind and the names of an object.
func (o *Object) describe(of string) {
	if version := o.Node.Field("apiVersion").Text(); version != "" {
		o.APIVersion = version
	}
	if o.Kind = o.Node.Field("kind").Text(); o.Kind == "" {
		o.Kind = of
	}
	metadata := o.Node.Field("metadata")
	o.Namespace = metadata.Field("namespace").Text()
	if o.Name = metadata.Field("name").Text(); o.Name == "" {
		o.Name = metadata.Field("generateName").Text()
	}
}

// isList reports whether the object is a List of Kubernetes, or one of a kind.
func (o *Object) isList() bool {
	if of, ok := strings.CutSuffix(o.Kind, "List"); ok {
		_, isJudged := judged[of]
		return isJudged || of == ""
	}
	return false
}

// isEncrypted reports whether the object is encrypted with SOPS, which adds a field of
// its name.
func (o *Object) isEncrypted() bool {
	sops := o.Node.Field("sops")
	return sops.IsObject() && (sops.Field("mac") != nil || sops.Field("version") != nil || bytes.Contains(o.text, []byte("ENC[")))
}

// isTemplated reports whether a mistake stands at a value that a template leaves to be
// filled in.
func (o *Object) isTemplated() bool {
	if !bytes.Contains(o.text, []byte("{{")) {
		return false
	}
	if o.Value == nil && len(o.found) == 0 {
		return false
	}
	for _, finding := range o.Judge(Options{}).Findings {
		if finding.Severity == Error && hasMark(o.Node.At(strings.TrimPrefix(strings.TrimPrefix(finding.Field, o.path), "."))) {
			return true
		}
	}
	return false
}

// hasMark reports whether a value has the marks of a template.
func hasMark(n *document.Node) bool {
	if n == nil {
		return false
	}
	switch value := n.Value.(type) {
	case string:
		return strings.Contains(value, "{{")
	case document.Object:
		for i := range value {
			if strings.Contains(value[i].Name, "{{") || hasMark(value[i].Value) {
				return true
			}
		}
	case []*document.Node:
		if slices.ContainsFunc(value, hasMark) {
			return true
		}
	}
	return false
}

// decode decodes the object into the type of its kind, if it is a judged one. An apiVersion
// or kind that was surely meant to be of a judged kind is a mistake.
func (o *Object) decode() {
	kind, isJudged := judged[o.Kind]
	wrong := func(path, format string, args ...any) {
		o.found = append(o.found, Finding{Severity: Error, Kind: KindObject, Line: o.LineOf(path), Field: o.fieldPath(path), Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case o.Kind == "" && o.Node.Field("kind") != nil:
		wrong("kind", "must be a string")
	case o.Kind == "":
		wrong("kind", "required")
	case !isJudged:
		if meant := meantKind(o.APIVersion, o.Kind); meant != "" {
			wrong("kind", "no kind %s in %s: did you mean %s?", o.Kind, o.APIVersion, meant)
		} else if meant := meantElsewhere(o.APIVersion, o.Kind); meant != "" {
			wrong("kind", "no kind %s: did you mean %s of %s?", o.Kind, meant, judged[meant].apiVersion)
		}
		return
	case o.APIVersion == "":
		wrong("apiVersion", "required: must be %s", kind.apiVersion)
	case o.APIVersion != kind.apiVersion && isRemoved(o.APIVersion, o.Kind):
		wrong("apiVersion", "Kubernetes no longer has %s: must be %s", o.APIVersion, kind.apiVersion)
	case o.APIVersion != kind.apiVersion && isOurs(o.APIVersion):
		wrong("apiVersion", "no kind %s in %s: must be %s", o.Kind, o.APIVersion, kind.apiVersion)
	case o.APIVersion != kind.apiVersion:
		return // a kind of the same name in another group
	}
	if !isJudged {
		return
	}
	o.Value = kind.make()
	o.Mistakes = document.Decode(o.Node, o.Value)
}

// isOurs reports whether an apiVersion is one of a group in which all kinds are known, or
// surely a misspelling of one.
func isOurs(apiVersion string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	switch group {
	case "v1", "core", "apps", "batch", "extensions":
		return true
	}
	return spelling.Within(1, apiVersion, []string{"apps/v1", "batch/v1"}) != ""
}

// isRemoved reports whether older versions of Kubernetes had the kind in that group and
// version.
func isRemoved(apiVersion, kind string) bool {
	switch apiVersion {
	case "batch/v1beta1", "batch/v2alpha1":
		return kind == "CronJob"
	case "extensions/v1beta1":
		return kind == "Deployment" || kind == "ReplicaSet" || kind == "DaemonSet" || kind == "Job"
	case "apps/v1beta1":
		return kind == "Deployment" || kind == "StatefulSet"
	case "apps/v1beta2":
		return kind != "Job" && kind != "CronJob" && kind != "Pod"
	}
	return false
}

// meantKind returns the kind that a kind unknown to its apiVersion was surely meant to
// be, or "".
func meantKind(apiVersion, kind string) string {
	known := map[string][]string{
		"batch/v1": {"Job", "CronJob"},
		"apps/v1":  {"ReplicaSet", "Deployment", "StatefulSet", "DaemonSet"},
		"v1":       {"Pod"},
	}
	for _, suffix := range []string{"", "List"} {
		base, ok := strings.CutSuffix(kind, suffix)
		if !ok {
			continue
		}
		most := 2
		if apiVersion == "v1" {
			most = 0 // other kinds, such as Node, are near
		}
		if meant := spelling.Within(most, base, known[apiVersion]); meant != "" && meant != base {
			return meant + suffix
		}
		if of, found := judged[base]; found && suffix == "" && of.apiVersion != apiVersion {
			return ""
		}
	}
	return ""
}

// meantElsewhere returns the kind that a kind with the apiVersion of another kind, or with
// none, was surely meant to be, or "".
func meantElsewhere(apiVersion, kind string) string {
	if apiVersion != "" && !isOurs(apiVersion) {
		return ""
	}
	long := []string{"CronJob", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet"} // no other kind is near
	return spelling.Within(2, kind, long)
}
