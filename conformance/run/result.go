package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/restartkit/restart/conformance/vectors"
)

// result is the comparison of all answers with the recorded outcomes.
type result struct {
	kinds       []*tally
	unsupported []reasoned // by the program's reason
	known       []reasoned // by the list's reason
	failed      []difference
	wrong       []string // other mistakes
	stderr      string
}

// tally counts the cases of one kind, or of all.
type tally struct {
	kind                                    string
	cases, pass, known, failed, unsupported int
}

// reasoned is the cases with one reason.
type reasoned struct {
	reason string
	cases  []difference
}

// difference is a case whose answer is not the recorded outcome.
type difference struct {
	id   string
	diff []string
}

// judge compares the answers. known holds the reasons of expected differences by id.
func judge(cases []*vectors.Case, a *asked, known map[string]string) *result {
	r := &result{stderr: a.stderr}
	unsupported, expected := map[string][]difference{}, map[string][]difference{}
	for _, c := range cases {
		t := r.tally(c.FullKind())
		t.cases++
		id := c.FullID()
		reason, listed := known[id]
		got, answered := a.answers[id]
		diff := a.compare(c)
		switch {
		case answered && got.Unsupported:
			t.unsupported++
			unsupported[got.Why] = append(unsupported[got.Why], difference{id: id})
			if listed {
				r.wrong = append(r.wrong, fmt.Sprintf("%s is listed as known, but is unsupported", id))
			}
		case len(diff) == 0:
			t.pass++
			if listed {
				r.wrong = append(r.wrong, fmt.Sprintf("%s is listed as known, but passes", id))
			}
		case listed && answered && got.Error == "":
			t.known++
			expected[reason] = append(expected[reason], difference{id, diff})
		default:
			t.failed++
			r.failed = append(r.failed, difference{id, diff})
		}
	}
	r.unsupported, r.known = groups(unsupported), groups(expected)
	for _, text := range a.stray {
		r.wrong = append(r.wrong, "stdout: "+text)
	}
	if more := a.strays - len(a.stray); more > 0 {
		r.wrong = append(r.wrong, fmt.Sprintf("stdout: %d more such lines", more))
	}
	return r
}

// compare returns in what the answer to a case differs.
func (a *asked) compare(c *vectors.Case) []string {
	answer, ok := a.answers[c.FullID()]
	switch {
	case !ok:
		return []string{a.missing}
	case answer.Error != "":
		return []string{"error: " + shorten(answer.Error, 1000)}
	}
	got, err := vectors.Tree(answer.Got)
	if err != nil {
		return []string{err.Error()}
	}
	differences, _ := c.Compare(got)
	return differences
}

func groups(byReason map[string][]difference) (all []reasoned) {
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		all = append(all, reasoned{reason, byReason[reason]})
	}
	return all
}

func (r *result) tally(kind string) *tally {
	for _, t := range r.kinds {
		if t.kind == kind {
			return t
		}
	}
	r.kinds = append(r.kinds, &tally{kind: kind})
	return r.kinds[len(r.kinds)-1]
}

// total returns the sum of all kinds.
func (r *result) total() *tally {
	sum := &tally{kind: "all"}
	for _, t := range r.kinds {
		sum.cases += t.cases
		sum.pass += t.pass
		sum.known += t.known
		sum.failed += t.failed
		sum.unsupported += t.unsupported
	}
	return sum
}

// ok reports whether every case passes, is unsupported or differs as listed, and the
// program kept to the protocol.
func (r *result) ok() bool { return len(r.failed) == 0 && len(r.wrong) == 0 }
