// Package check reads manifests of Kubernetes and judges what they do when something
// fails, without a cluster.
//
//	file := check.ReadFile("manifests.yaml")
//	for _, object := range file.Objects {
//		judgement := object.Judge(check.Options{})
//		for _, finding := range judgement.Findings {
//			fmt.Println(finding)
//		}
//	}
//
// It judges Jobs, CronJobs, Pods, ReplicaSets, Deployments, StatefulSets and DaemonSets:
//
//   - every field of the object by the types of k8s.io/api, for unknown, duplicate and
//     misspelt names and for values of wrong types;
//   - names, labels and the containers that a pod must have;
//   - everything that decides about restarts, as the API server of Kubernetes 1.37 does:
//     restart policies and rules, the policies, limits and deadlines of a Job, the
//     schedule of a CronJob, and the selector of a workload;
//   - valid parts that are surely unintended, with [jobpolicy/lint] and [backoff/lint].
//
// It does not judge the parts that [NotJudged] names, so no object is ever called valid.
//
// [jobpolicy/lint]: https://pkg.go.dev/github.com/restartkit/restart/jobpolicy/lint
// [backoff/lint]: https://pkg.go.dev/github.com/restartkit/restart/backoff/lint
package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/restartkit/restart/kube/check/document"
)

// NotJudged names the parts of an object that this package does not judge beyond the
// names and types of their fields.
const NotJudged = "images, commands, lifecycle hooks, volumes, resources, probes' targets, security, networking, scheduling, rollouts"

// Newest is the version of Kubernetes whose fields and rules are used unless Options
// name another one.
const Newest = "1.37"

// Severity is the severity of a Finding.
type Severity string

const (
	Error   Severity = "error"   // the API server refuses the object, or kubectl the file
	Warning Severity = "warning" // accepted, but something ends or goes on against the intention
	Notice  Severity = "notice"  // worth knowing: a part has no effect, or is not judged
)

// Kind is the kind of a Finding. Findings of jobpolicy/lint and backoff/lint keep their
// own kinds.
type Kind string

const (
	KindUnreadable   Kind = "unreadable"    // no file, no text, neither YAML nor JSON, too large
	KindTemplated    Kind = "templated"     // a template, such as Helm's, to be filled in first
	KindEncrypted    Kind = "encrypted"     // encrypted with SOPS
	KindObject       Kind = "object"        // a wrong or missing apiVersion or kind
	KindUnknownField Kind = "unknown-field" // a field that the type does not have
	KindDuplicate    Kind = "duplicate"     // a field given twice
	KindType         Kind = "type"          // a value of a wrong type
	KindInvalid      Kind = "invalid"       // a value that the API server refuses
	KindVersion      Kind = "version"       // a field that the version of Kubernetes drops, refuses or ignores
	KindName         Kind = "name"          // a name that becomes too long for a pod
	KindSchedule     Kind = "schedule"      // a CronJob that does not start when it seems to
	KindEnds         Kind = "ends"          // a container that may stay ended in a pod that is kept running
	KindNeverEnds    Kind = "never-ends"    // a container that restarts even after it has succeeded, in a Job, which never completes
	KindInPlace      Kind = "in-place"      // a rule of a Job for an exit after which the container restarts in its pod
	KindGrace        Kind = "grace"         // a grace period that counts as another one
)

// Finding is something to say about a file or an object.
type Finding struct {
	Severity Severity `json:"severity"`
	Kind     Kind     `json:"kind"`
	Line     int      `json:"line,omitempty"`  // 0 for an object without a file
	Field    string   `json:"field,omitempty"` // path in the document, such as items[2].spec.restartPolicy
	Text     string   `json:"text"`            // one sentence
}

// String returns the finding as one line without its severity, as in
// "line 6: spec.completionz: unknown field: did you mean completions?". Control
// characters in it come from the file.
func (f Finding) String() string {
	text := f.Text
	if f.Field != "" {
		text = f.Field + ": " + text
	}
	if f.Line > 0 {
		text = fmt.Sprintf("line %d: %s", f.Line, text)
	}
	return text
}

// Options say how to judge.
type Options struct {
	// Kubernetes is the version of the cluster, from 1.25 to 1.38, in the form 1.30 or
	// v1.30.4. "" means Newest.
	Kubernetes string
}

// Judgement has the findings about an object.
type Judgement struct {
	Findings  []Finding  // by line
	WorstCase *WorstCase // of a Job, or of each Job of a CronJob; nil if errors hide it
}

// Worst returns the highest severity among the findings, or "" without any.
func (j Judgement) Worst() Severity { return worst(j.Findings) }

func worst(findings []Finding) Severity {
	for _, severity := range []Severity{Error, Warning, Notice} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == severity }) {
			return severity
		}
	}
	return ""
}

func sortByLine(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
}

// findingOf returns a mistake of decoding as a finding.
func findingOf(m document.Mistake) Finding {
	kinds := map[document.Fault]Kind{document.Wrong: KindType, document.Unknown: KindUnknownField, document.Again: KindDuplicate}
	return Finding{Severity: Error, Kind: kinds[m.Fault], Line: m.Line, Field: m.Path, Text: m.Text()}
}
