package batch_test

import (
	"errors"
	"testing"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/internal/vectors/shape"
)

func vectorFiles() []vectors.File {
	return []vectors.File{{Name: "validation", Kinds: map[string]vectors.Kind{
		"create": {Run: createVector},
		"update": {Run: updateVector},
	}}}
}

func TestVectors(t *testing.T) { vectors.Run(t, vectorFiles()) }

func TestVectorsTurnRed(t *testing.T) { vectors.TurnRed(t, vectorFiles()) }

// Each documented difference excuses a case, including differences without a recorded
// case.
func TestVectorsExplainDifferences(t *testing.T) {
	for _, tt := range []struct{ file, kase, reason string }{
		{"validation", `{"id":"x","kind":"create","spec":{"mode":"","restart_policy":"Never"},"want":[{"type":"FieldValueNotSupported","field":"spec.completionMode"}]}`, emptyTextIsAbsent},
		{"validation", `{"id":"x","kind":"update","old":{"mode":"","restart_policy":"Never"},"new":{"restart_policy":"Never"},"want":[{"type":"FieldValueInvalid","field":"spec.completionMode"}]}`, emptyTextIsAbsent},
	} {
		reason, failures, err := vectors.Reason(vectorFiles(), tt.file, tt.kase)
		if err != nil {
			t.Fatal(err)
		}
		if len(failures) > 0 || reason != tt.reason {
			t.Errorf("%s\npasses for the reason %q, want %q; failures %v", tt.kase, reason, tt.reason, failures)
		}
	}
}

// createVector returns the mistakes in a specification.
func createVector(c *vectors.Case) (any, error) {
	var in struct {
		Spec shape.Spec `json:"spec"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	spec := in.Spec.Batch()
	if in.Spec.EmptyText() {
		c.Deviate(emptyTextIsAbsent, mistakesText(modelValidate(&spec)))
	}
	return mistakes(spec.Validate())
}

// updateVector returns the mistakes in an updated specification.
func updateVector(c *vectors.Case) (any, error) {
	var in struct {
		Old shape.Spec `json:"old"`
		New shape.Spec `json:"new"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	old, spec := in.Old.Batch(), in.New.Batch()
	if in.New.EmptyText() || in.Old.EmptyMode() && in.New.Mode == nil {
		c.Deviate(emptyTextIsAbsent, mistakesText(modelValidateUpdate(&spec, &old)))
	}
	return mistakes(spec.ValidateUpdate(&old))
}

const emptyTextIsAbsent = "completionMode or podReplacementPolicy that is there but empty is taken as absent"

// mistakes returns an error of Validate in the form of a wanted outcome.
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
