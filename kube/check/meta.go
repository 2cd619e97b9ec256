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

// The characters of names.
const (
	labelRule     = "must be at most 63 lower case letters, digits and hyphens, with a letter or digit at both ends"
	subdomainRule = "must be lower case letters, digits, hyphens and dots, with a letter or digit at both ends and beside each dot"
)

// generatedLength is the number of letters that an API server adds to a generateName, and
// longestGenerated the number that it keeps.
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

// metadata checks the names and labels of an object. isLabel says that a name may not have
// dots.
func (j *judge) metadata(m *metav1.ObjectMeta, isLabel bool) {
	if m.Name == "" && m.GenerateName == "" {
		j.add(field.Required, "metadata.name", nil, "an object needs a name or a generateName")
	}
	if m.Name != "" {
		j.name("metadata.name", m.Name, m.Name, isLabel)
	}
	if prefix := m.GenerateName; prefix != "" {
		// A hyphen at the end is fine, since letters follow it.
		whole := prefix
		if len(prefix) > 1 && strings.HasSuffix(prefix, "-") {
			whole = prefix[:len(prefix)-1] + "x"
		}
		j.name("metadata.generateName", prefix, whole, isLabel)
	}
	if m.Namespace != "" && len(validation.IsDNS1123Label(m.Namespace)) > 0 {
		j.add(field.Invalid, "metadata.namespace", m.Namespace, labelRule)
	}
	j.labels("metadata.", m)
	for i, owner := range m.OwnerReferences {
		for _, part := range []struct{ name, value string }{{"apiVersion", owner.APIVersion}, {"kind", owner.Kind}, {"name", owner.Name}, {"uid", string(owner.UID)}} {
			if part.value == "" {
				j.add(field.Required, fmt.Sprintf("metadata.ownerReferences[%d].%s", i, part.name), nil, "an owner needs it")
			}
		}
	}
}

// name checks the name at a path. whole is the name, or a prefix with the letters that the server adds.
func (j *judge) name(path, written, whole string, isLabel bool) {
	switch {
	case isLabel && len(validation.IsDNS1123Label(whole)) > 0:
		j.add(field.Invalid, path, written, labelRule)
	case len(whole) > validation.DNS1123SubdomainMaxLength:
		j.add(field.TooLong, path, nil, fmt.Sprintf("must be at most %d bytes", validation.DNS1123SubdomainMaxLength))
	case len(validation.IsDNS1123Subdomain(whole)) > 0:
		j.add(field.Invalid, path, written, subdomainRule)
	}
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
