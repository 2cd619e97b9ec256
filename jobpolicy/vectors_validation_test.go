package jobpolicy

import (
	"errors"

	"github.com/restartkit/restart/conformance/vectors"
	"github.com/restartkit/restart/field"
)

// createVector: the mistakes in a specification.
func createVector(c *vectors.Case) (any, error) {
	var in struct {
		Spec vectorSpec `json:"spec"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	spec := in.Spec.spec()
	if in.Spec.emptyText() {
		c.Deviate(emptyTextIsAbsent, mistakesText(modelValidate(&spec)))
	}
	return mistakes(spec.Validate())
}

// updateVector: the mistakes in a specification that replaces another.
func updateVector(c *vectors.Case) (any, error) {
	var in struct {
		Old vectorSpec `json:"old"`
		New vectorSpec `json:"new"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	old, spec := in.Old.spec(), in.New.spec()
	if in.New.emptyText() || in.Old.emptyMode() && in.New.Mode == nil {
		c.Deviate(emptyTextIsAbsent, mistakesText(modelValidateUpdate(&spec, &old)))
	}
	return mistakes(spec.ValidateUpdate(&old))
}

const emptyTextIsAbsent = "completionMode or podReplacementPolicy that is there but empty is taken as absent"

// mistakes is an error of Validate in the shape of a wanted outcome.
func mistakes(err error) (any, error) {
	var list field.Errors
	if err != nil && !errors.As(err, &list) {
		return nil, err
	}
	return mistakesText(list), nil
}

func mistakesText(list field.Errors) []map[string]string {
	all := []map[string]string{}
	for _, e := range list {
		all = append(all, map[string]string{"type": longErrorType(e.Type), "field": e.Field})
	}
	return all
}

// longErrorType is the API server's name for a kind of mistake.
func longErrorType(t field.Type) string { return "FieldValue" + string(t) }
