// Package recorded asks Kubernetes for the outcomes of the recorded cases in testdata/vectors.
// Its test fails if the required version of Kubernetes decides otherwise than recorded.
package recorded

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/restartkit/restart/internal/vectors"
)

// An answer returns Kubernetes' outcome of a case, in the form of the case's want.
type answer func(*vectors.Case) (any, error)

// answered decodes the case's input for f.
func answered[In any](f func(In) (any, error)) answer {
	return func(c *vectors.Case) (any, error) {
		var in In
		if err := c.Decode(&in); err != nil {
			return nil, err
		}
		return f(in)
	}
}

// errNoSwitch is returned for cases of a feature that can no longer be switched off.
var errNoSwitch = errors.New("this version cannot switch the feature off")

// answers are the functions that answer the cases of each kind, by the file's name and the
// kind. Whole Jobs (jobcontroller_runs) need an API server and a kubelet, where they were
// recorded. Restart delays are those of client-go, which package differences records.
func answers() map[string]answer {
	return map[string]answer{
		"backoffrecord":           answered(streak),
		"finishtime":              answered(finishTime),
		"remaining/global":        answered(remaining),
		"remaining/per_index":     answered(remainingPerIndex),
		"remaining/ready_indexes": answered(readyIndexes),

		"indexset_parse/strict":  answered(parse),
		"indexset_parse/lenient": answered(parseLenient),
		"indexset_parse/format":  answered(format),
		"indexset_ops/has":       answered(has),
		"indexset_ops/union":     answered(union),

		"indexset_ops/succeeded":       answered(succeeded),
		"indexset_ops/failed":          answered(failed),
		"indexset_ops/index_failed":    answered(indexFailed),
		"indexset_ops/kept_pods":       answered(keptPods),
		"indexset_ops/next_counts":     answered(nextCounts),
		"indexset_ops/pending":         answered(pending),
		"indexset_ops/duplicates":      answered(duplicates),
		"indexset_ops/generate_name":   answered(generateName),
		"indexset_ops/failure_count":   answered(failureCount),
		"indexset_ops/overlap":         answered(overlap),
		"indexset_ops/finished_counts": answered(finishedCounts),

		"podfailurepolicy":     answered(podFailurePolicy),
		"successpolicy/policy": answered(successPolicy),
		"successpolicy/rule":   answered(successRule),
		"validation/create":    answered(validateCreate),
		"validation/update":    answered(validateUpdate),
		"jobsync":              answered(pass),
	}
}

// files returns the files of cases that Kubernetes' functions can answer.
func files() (all []vectors.File) {
	kinds := map[string]map[string]vectors.Kind{}
	for name, ask := range answers() {
		file, kind, _ := strings.Cut(name, "/")
		if kinds[file] == nil {
			kinds[file] = map[string]vectors.Kind{}
		}
		k := vectors.Kind{
			Run:    func(c *vectors.Case) (any, error) { return outcome(c, ask) },
			Normal: func(c *vectors.Case, want any) (any, error) { return normal(c, unprefixed(want)) },
		}
		if name == "indexset_parse/lenient" {
			k.Ignored = []string{"intervals"} // as Kubernetes holds them: out of order, not joined
		}
		kinds[file][kind] = k
	}
	for _, file := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, vectors.File{Name: file, Kinds: kinds[file]})
	}
	return all
}

// outcome returns Kubernetes' outcome of a case.
func outcome(c *vectors.Case, ask answer) (any, error) {
	got, err := ask(c)
	if errors.Is(err, errNoSwitch) {
		c.Exclude(err.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if got, err = vectors.Value(got); err != nil {
		return nil, err
	}
	if got, err = normal(c, got); err != nil {
		return nil, err
	}
	if reason := changedSince136[c.File+"/"+c.ID]; reason != "" {
		c.Deviate(reason, got) // which fails if Kubernetes decides as recorded
	}
	return got, nil
}
