package recorded

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/internal/vectors"
)

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
func normal(c *vectors.Case, outcome any) (any, error) {
	fields, _ := outcome.(map[string]any)
	fields = maps.Clone(fields)
	replace := func(name string, by func(any) (any, error)) (err error) {
		if value, ok := fields[name]; ok {
			fields[name], err = by(value)
		}
		return err
	}
	switch fullKind(c) {
	case "indexset_ops/overlap":
		return vectors.IsError(c, outcome)
	case "indexset_ops/duplicates":
		return vectors.PodContents(c, outcome)
	case "indexset_parse/strict":
		return fields, replace("error", asError)
	case "jobsync":
		if err := replace("error", asError); err != nil {
			return nil, err
		}
		if err := replace("created_indexes", sorted); err != nil {
			return nil, err
		}
		return fields, replace("requeue_after_ms", soonest)
	}
	return outcome, nil
}

// asError compares only whether an error occurred. Texts of errors differ.
func asError(value any) (any, error) { return value != nil && value != false, nil }

// soonest returns the first of several times to sync again, or of a list without any the
// list itself.
func soonest(value any) (any, error) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return value, nil
	}
	first := int64(math.MaxInt64)
	for i, item := range list {
		ms, err := strconv.ParseInt(fmt.Sprint(item), 10, 64)
		if err != nil || slices.Contains(list[:i], item) {
			return nil, fmt.Errorf("requeue_after_ms: %v is no number, or there twice: %w", item, err)
		}
		first = min(first, ms)
	}
	return json.Number(strconv.FormatInt(first, 10)), nil
}

// sorted sorts a list of pods created at once, which have no order.
func sorted(value any) (any, error) {
	list, ok := value.([]any)
	if !ok {
		return value, nil
	}
	return slices.SortedFunc(slices.Values(list), func(a, b any) int { return strings.Compare(vectors.Text(a), vectors.Text(b)) }), nil
}

// fullKind returns the case's kind among those of all files: "remaining/global", or
// "finishtime" for the cases of a file without kinds.
func fullKind(c *vectors.Case) string {
	if c.Kind == "" {
		return c.File
	}
	return c.File + "/" + c.Kind
}
