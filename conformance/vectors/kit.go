package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The protocol between the runner and a program, which README.md describes: the name of
// a case, the question about it, and the comparison of the answer.

// FullID returns the case's id among those of all files, such as "remaining/rem-t-01".
func (c *Case) FullID() string { return c.File + "/" + c.ID }

// FullKind returns the case's kind among those of all files: "remaining/global", or
// "finishtime" for the cases of a file without kinds.
func (c *Case) FullKind() string {
	if c.Kind == "" {
		return c.File
	}
	return c.File + "/" + c.Kind
}

// Question returns the case as a question to a program, without the wanted outcome and
// the case's origin.
func (c *Case) Question() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(c.raw, &fields); err != nil {
		return nil, err
	}
	question := map[string]any{"id": c.FullID(), "kind": c.FullKind()}
	for name, value := range fields {
		if !strings.HasPrefix(name, "want") && !slices.Contains(notAsked, name) {
			question[name] = value
		}
	}
	return json.Marshal(question)
}

// notAsked are the fields of a case, or of a run, beside its input.
var notAsked = []string{
	"id", "kind", "origin", "table", "asserted", "upstream", "upstream_gates_are_defaults",
	"outcome", "finalStatus", "podsCreated", "steps", "recreationDelays", "tier", "note",
}

// Compare compares a program's answer, as returned by Tree, with the wanted outcome. It
// returns the differences and the number of fields compared.
func (c *Case) Compare(got any) (differences []string, compared int) {
	want, err := c.normal(unprefixed(c.Want))
	if err == nil {
		got, err = c.normal(got)
	}
	if err != nil {
		return []string{err.Error()}, 0
	}
	if c.FullKind() == "jobcontroller_runs/timing" {
		want = allowSlowRecorder(want, got)
	}
	differences = Differences(want, got, &compared)
	if compared == 0 && len(differences) == 0 {
		differences = []string{"nothing was compared"}
	}
	return differences, compared
}

// unprefixed returns the fields of an outcome such as want_ms by the names that they
// have in an answer, such as ms.
func unprefixed(want any) any {
	fields, ok := want.(map[string]any)
	if !ok {
		return want
	}
	named := map[string]any{}
	for name, value := range fields {
		named[strings.TrimPrefix(name, "want_")] = value
	}
	return named
}

// normal returns an outcome, wanted or of an answer, in the form in which outcomes of
// the case's kind are compared.
func (c *Case) normal(outcome any) (any, error) {
	fields, _ := outcome.(map[string]any)
	fields = maps.Clone(fields)
	replace := func(name string, by func(any) (any, error)) (err error) {
		if value, ok := fields[name]; ok {
			fields[name], err = by(value)
		}
		return err
	}
	switch c.FullKind() {
	case "indexset_ops/overlap":
		return IsError(c, outcome)
	case "indexset_ops/duplicates":
		return PodContents(c, outcome)
	case "indexset_parse/strict":
		return fields, replace("error", asError)
	case "indexset_parse/lenient":
		delete(fields, "intervals") // as Kubernetes holds them: out of order, not joined
		return fields, nil
	case "jobsync":
		if err := replace("error", asError); err != nil {
			return nil, err
		}
		if err := replace("created_indexes", sorted); err != nil {
			return nil, err
		}
		return fields, replace("requeue_after_ms", soonest)
	case "jobcontroller_runs/run":
		return fields, replace("steps", sortedCreations)
	}
	return outcome, nil
}

// asError compares only whether an error occurred. Texts of errors differ.
func asError(value any) (any, error) { return value != nil && value != false, nil }

// IsError compares only whether an error occurred.
func IsError(_ *Case, want any) (any, error) { return asError(want) }

// soonest returns the first of several times to sync again, or of a list without any the
// list itself.
func soonest(value any) (any, error) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return value, nil
	}
	first := list[0]
	for _, other := range list[1:] {
		a, errA := strconv.ParseInt(fmt.Sprint(first), 10, 64)
		b, errB := strconv.ParseInt(fmt.Sprint(other), 10, 64)
		if err := errors.Join(errA, errB); err != nil {
			return nil, fmt.Errorf("requeue_after_ms: %w", err)
		}
		if b < a {
			first = other
		}
	}
	return first, nil
}

// sortedCreations sorts each step's created pods.
func sortedCreations(value any) (any, error) {
	steps, ok := value.([]any)
	if !ok {
		return value, nil
	}
	steps = slices.Clone(steps)
	for i, step := range steps {
		fields, _ := step.(map[string]any)
		if created, ok := fields["podsCreatedAfter"]; ok {
			fields = maps.Clone(fields)
			fields["podsCreatedAfter"], _ = sorted(created)
			steps[i] = fields
		}
	}
	return steps, nil
}

// sorted sorts a list of pods that are created at once, in no order.
func sorted(value any) (any, error) {
	list, ok := value.([]any)
	if !ok {
		return value, nil
	}
	return slices.SortedFunc(slices.Values(list), func(a, b any) int { return strings.Compare(Text(a), Text(b)) }), nil
}

// allowSlowRecorder replaces each wanted delay by the answer's if that is at most a
// tenth shorter, because a recorded delay contains the recorder's own slowness.
func allowSlowRecorder(want, got any) any {
	wanted, _ := want.(map[string]any)
	answered, _ := got.(map[string]any)
	delays, _ := wanted["recreation_delays_ms"].([]any)
	ours, _ := answered["recreation_delays_ms"].([]any)
	delays = slices.Clone(delays)
	for i := range min(len(delays), len(ours)) {
		was, _ := delays[i].(json.Number)
		is, _ := ours[i].(json.Number)
		slow, errSlow := was.Float64()
		exact, errExact := is.Float64()
		if errSlow == nil && errExact == nil && exact >= slow*10/11-1 && exact <= slow {
			delays[i] = ours[i]
		}
	}
	wanted = maps.Clone(wanted)
	wanted["recreation_delays_ms"] = delays
	return wanted
}
