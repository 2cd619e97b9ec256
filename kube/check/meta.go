package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/restartkit/restart/field"
)

// What names must be made of.
const (
	labelRule     = "must be at most 63 lower case letters, digits and hyphens, with a letter or digit at both ends"
	subdomainRule = "must be lower case letters, digits, hyphens and dots, with a letter or digit at both ends and beside each dot"
)

// generatedLength is the number of letters that an API server adds to a generateName, and
// longestGenerated what it keeps of it.
const (
	generatedLength  = 5
	longestGenerated = validation.DNS1123LabelMaxLength - generatedLength
)

// finalName returns the name of the object, with letters in place of those that an API
// server adds to a generateName.
func finalName(m *metav1.ObjectMeta) string {
	if m.Name != "" || m.GenerateName == "" {
		return m.Name
	}
	return m.GenerateName[:min(len(m.GenerateName), longestGenerated)] + strings.Repeat("x", generatedLength)
}

// nameField is the field that the name comes from.
func nameField(m *metav1.ObjectMeta) string {
	if m.Name == "" && m.GenerateName != "" {
		return "metadata.generateName"
	}
	return "metadata.name"
}

// metadata checks the names and labels of an object.
func (j *judge) metadata(m *metav1.ObjectMeta, isLabel bool) {
	name, at := finalName(m), nameField(m)
	written := m.Name
	if written == "" {
		written = m.GenerateName
	}
	switch {
	case name == "":
		j.add(field.Required, "metadata.name", nil, "an object needs a name or a generateName")
	case isLabel && len(validation.IsDNS1123Label(name)) > 0:
		j.add(field.Invalid, at, written, labelRule)
	case len(name) > validation.DNS1123SubdomainMaxLength:
		j.add(field.TooLong, at, nil, fmt.Sprintf("must be at most %d bytes", validation.DNS1123SubdomainMaxLength))
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		j.add(field.Invalid, at, written, subdomainRule)
	}
	if m.Namespace != "" && len(validation.IsDNS1123Label(m.Namespace)) > 0 {
		j.add(field.Invalid, "metadata.namespace", m.Namespace, labelRule)
	}
	j.labels("metadata.", m)
}

// labels checks the labels and the names of annotations in the metadata at a path, which
// ends with a dot.
func (j *judge) labels(at string, m *metav1.ObjectMeta) {
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		path := fmt.Sprintf("%slabels[%s]", at, name)
		if len(validation.IsQualifiedName(name)) > 0 {
			j.add(field.Invalid, path, name, "the name of a label "+keyRule)
		}
		if value := m.Labels[name]; len(validation.IsValidLabelValue(value)) > 0 {
			j.add(field.Invalid, path, value, "must be at most 63 letters, digits, hyphens, underscores and dots, with a letter or digit at both ends")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Annotations)) {
		if len(validation.IsQualifiedName(strings.ToLower(name))) > 0 {
			j.add(field.Invalid, fmt.Sprintf("%sannotations[%s]", at, name), name, "the name of an annotation "+keyRule)
		}
	}
}

const keyRule = "must be at most 63 letters, digits, hyphens, underscores and dots, with a letter or digit at both ends, and before it perhaps a domain and a slash"

// selector checks that there is a selector and that it selects the pods of the template.
func (j *judge) selector(s *metav1.LabelSelector, template *metav1.ObjectMeta) {
	if s == nil {
		j.add(field.Required, "spec.selector", nil, "must select the pods of the template")
		return
	}
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		j.add(field.Invalid, "spec.selector", nil, "must not be empty")
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		j.add(field.Invalid, "spec.selector", nil, err.Error())
		return
	}
	if !selector.Matches(labels.Set(template.Labels)) {
		j.add(field.Invalid, "spec.selector", nil, "must select the labels of the template: "+selector.String()+" does not")
	}
}
