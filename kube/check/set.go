package check

import (
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/kube/check/document"
)

// Set sets the value at a path of an object read from a file, or removes it if
// value is nil, and decodes the object again. Objects that are missing along the path are
// added. The file's other objects stay as they are.
func (o *Object) Set(path string, value *document.Node) error {
	node := *o.Node
	if err := node.Set(path, value); err != nil {
		return err
	}
	o.Node, o.Value, o.Mistakes, o.found = &node, nil, nil, nil
	o.decode()
	return nil
}

// FindingOf returns an error that somebody else has found in the object, at a path that
// begins there, as a finding with its line.
func (o *Object) FindingOf(e field.Error) Finding {
	return Finding{Severity: Error, Kind: KindInvalid, Line: o.LineOf(e.Field), Field: o.fieldPath(e.Field), Text: textOf(e)}
}

// DocumentPath returns the path in the document for a path in the object, as in
// Finding.Field. They differ for an item of a list.
func (o *Object) DocumentPath(path string) string { return o.fieldPath(path) }
