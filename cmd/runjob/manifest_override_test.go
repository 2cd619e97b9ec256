package main

import (
	"strings"
	"testing"
)

// Overrides change the Job before it is validated.
func TestOverridesComeBeforeValidation(t *testing.T) {
	t.Parallel()
	const story = "../testdata/kep3850-story3.yaml"
	for name, test := range map[string]struct {
		args []string
		code int
		want string // in the output
	}{
		"a limit":            {[]string{"-set", "maxFailedIndexes=4"}, exitFailed, "MaxFailedIndexesExceeded"},
		"an index of a list": {[]string{"-set", `template.spec.containers[0].command=["true"]`}, exitComplete, "completedIndexes: 0-9"},
		"an element":         {[]string{"-set", `template.spec.containers[0]={name: job-container, command: ["true"]}`}, exitComplete, "completedIndexes: 0-9"},
		"twice":              {[]string{"-set", `spec.template.spec.containers[0].command=["true"]`, "-set", "completions=5", "-set", "parallelism=2"}, exitComplete, "completedIndexes: 0-4"},
		"objects in between": {[]string{"-set", "successPolicy.rules=[{succeededCount: 11}]"}, exitBad, "spec.successPolicy.rules[0].succeededCount: "},
		"nothing":            {[]string{"-set", "backoffLimitPerIndex="}, exitBad, "  -set spec.backoffLimitPerIndex: required"},
		"a wrong type":       {[]string{"-set", "parallelism=many"}, exitBad, `  -set spec.parallelism: invalid value "many": must be an integer`},
		"an unused element":  {[]string{"-set", "template.spec.volumes=[{}]", "-set", "template.spec.volumes[0].name=x"}, exitBad, "  -set spec.template.spec.volumes[0].name: unsupported value: set by a flag, but not used here\n"},
		"an unknown field":   {[]string{"-set", "maxFailedIndex=5"}, exitBad, "  -set spec.maxFailedIndex: unknown field: did you mean maxFailedIndexes?\n"},
		"no such element":    {[]string{"-set", "template.spec.containers[1].image=x"}, exitBad, "there is no element 1"},
		"not a list":         {[]string{"-set", "template[0]=x"}, exitBad, "there is no element 0"},
		"not an object":      {[]string{"-set", "completions.x=1"}, exitBad, "x is not in an object"},
		"not a path":         {[]string{"-set", "template..spec=1"}, exitBad, "not a path"},
		"no path":            {[]string{"-set", "=1"}, exitBad, "must be field=value"},
		"no value":           {[]string{"-set", "completions"}, exitBad, "must be field=value"},
		"not YAML":           {[]string{"-set", "completions=["}, exitBad, "not a YAML or JSON document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "", append(test.args, "-backoff", "1ms", story)...)
			p.Done(test.code)
			if out := p.Out.String() + p.Err.String(); !strings.Contains(out, test.want) {
				t.Errorf("want %q:\n%s", test.want, out)
			}
		})
	}
}
