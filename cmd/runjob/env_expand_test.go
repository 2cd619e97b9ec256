package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/jobpolicy/batch"
)

func TestVariablesAreExpandedAsInKubernetes(t *testing.T) {
	variables := map[string]string{"A": "1", "EMPTY": "", "NESTED": "$(A)"}
	for text, want := range map[string]string{
		"":                "",
		"plain":           "plain",
		"$(A)":            "1",
		"x$(A)y$(A)":      "x1y1",
		"$(EMPTY)":        "",
		"$(NESTED)":       "$(A)", // once
		"$(MISSING)":      "$(MISSING)",
		"$$(A)":           "$(A)",
		"$$$(A)":          "$1",
		"$A ${A} $( A) $": "$A ${A} $( A) $",
		"$(A":             "$(A",
		"$($(A))":         "$($(A))",
	} {
		e := expander{variables: variables}
		if got, err := e.expand(text); got != want || err != nil {
			t.Errorf("expand(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

// Variables that have each other twice fill no memory, and neither do the words of a
// command.
func TestExpandedTextIsBounded(t *testing.T) {
	c := batch.Container{Command: []string{"true", "$(V16)"}}
	for i := range 17 {
		before := fmt.Sprintf("$(V%d)", i-1)
		c.Env = append(c.Env, batch.EnvVar{Name: fmt.Sprintf("V%d", i), Value: before + before})
	}
	none := newConfig("default", envFiles{})
	if _, _, err := none.environment(nil, &batch.Pod{}, c, jobfile.ContainerSources{}); err != nil {
		t.Error(err)
	}
	for range 3 {
		c.Command = append(c.Command, c.Command...)
	}
	if _, _, err := none.environment(nil, &batch.Pod{}, c, jobfile.ContainerSources{}); err != errExpanded {
		t.Errorf("words: %v", err)
	}
	c.Command, c.Env = c.Command[:1], slices.Repeat(c.Env, 1000)
	if _, _, err := none.environment(nil, &batch.Pod{}, c, jobfile.ContainerSources{}); err != errExpanded {
		t.Errorf("variables: %v", err)
	}
	unclosed := strings.Repeat("$(", 2<<20)
	if got, err := new(expander).expand(unclosed); got != unclosed || err != nil {
		t.Error("changed a text without names")
	}
}
