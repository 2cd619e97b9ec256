package check

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/internal/spelling"
	"github.com/restartkit/restart/kube/check/document"
)

// judge collects the findings about an object. Paths begin at the object.
type judge struct {
	*Object
	errs     field.Errors // values that the API server refuses
	findings []Finding    // everything else
	version  string       // of Kubernetes
	asked    bool         // for that version
}

func (j *judge) add(kind field.Type, path string, value any, detail string) {
	j.errs.Add(kind, path, value, detail)
}

// say adds a finding other than an error.
func (j *judge) say(severity Severity, kind Kind, path, text string) {
	j.findings = append(j.findings, Finding{Severity: severity, Kind: kind, Line: j.LineOf(path), Field: j.fieldPath(path), Text: text})
}

// isNew reports whether the object is yet to be created. One of a file is, unless it has
// a UID, or a status with a field, which only a cluster sets.
func (j *judge) isNew() bool {
	if j.Node == nil {
		return false
	}
	if status := j.Node.Field("status"); status.IsObject() && len(status.Value.(document.Object)) > 0 {
		return false
	}
	return j.Node.Field("metadata").Field("uid").Text() == ""
}

// Judge returns the findings about the object. It is safe for concurrent use as
// long as nobody modifies the object.
func (o *Object) Judge(opts Options) Judgement {
	j := &judge{Object: o, version: opts.Kubernetes, asked: opts.Kubernetes != ""}
	if !j.asked {
		j.version = Newest
	}
	var job *jobJudge
	switch value := o.Value.(type) {
	case *batchv1.Job:
		job = j.job(value)
	case *batchv1.CronJob:
		job = j.cronJob(value)
	case *corev1.Pod:
		j.pod(value)
	case *appsv1.ReplicaSet:
		j.replicaSet(value)
	case *appsv1.Deployment:
		j.deployment(value)
	case *appsv1.StatefulSet:
		j.statefulSet(value)
	case *appsv1.DaemonSet:
		j.daemonSet(value)
	}
	judgement := Judgement{Findings: append([]Finding(nil), o.found...)}
	for _, mistake := range o.Mistakes {
		finding := findingOf(mistake)
		finding.Field = o.fieldPath(mistake.Path)
		switch since := newerField(mistake); {
		case since > 0 && since <= minorOf(j.version):
			continue
		case since > 0:
			finding.Kind, finding.Text = KindVersion, fmt.Sprintf("Kubernetes %s does not have the field, which came with 1.%d", shortVersion(j.version), since)
		default:
			finding.Text += o.elsewhere(mistake)
		}
		judgement.Findings = append(judgement.Findings, finding)
	}
	judgement.Findings = append(judgement.Findings, j.refusals()...)
	if job != nil && job.isReadable() {
		job.lint()
		if job.isSound() && worst(j.findings) != Error {
			judgement.WorstCase = job.worstCase()
		}
	}
	judgement.Findings = append(judgement.Findings, j.findings...)
	sortByLine(judgement.Findings)
	return judgement
}

// elsewhere says where a field belongs that stands in a specification and belongs in the
// one of its pods, or the other way round, or beside a container's securityContext.
func (o *Object) elsewhere(m document.Mistake) string {
	if m.Fault != document.Unknown || m.Meant != "" {
		return ""
	}
	owner, at := o.JobPath("spec"), max(strings.LastIndexByte(m.Path, '.'), 0)
	pods := owner + ".template.spec"
	parent, name := m.Path[:at], m.Path[min(at+1, len(m.Path)):]
	isSpec := o.Kind != "Pod" && (parent == "spec" || parent == owner || parent == pods)
	last := parent[strings.LastIndexByte(parent, '.')+1:]
	switch {
	case strings.HasPrefix(last, "containers[") || strings.HasPrefix(last, "initContainers["):
		if hasField[corev1.SecurityContext](name) {
			return ": it belongs in securityContext"
		}
	case isSpec && parent != owner && o.Job() != nil && hasField[batchv1.JobSpec](name):
		return ": it belongs in " + owner
	case isSpec && parent != pods && hasField[corev1.PodSpec](name):
		return ": it belongs in " + pods
	}
	return ""
}

// hasField reports whether a type has a field of that name in JSON.
func hasField[T any](name string) bool {
	t := reflect.TypeFor[T]()
	for field := range t.Fields() {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return true
		}
	}
	return false
}

// refusals returns the errors as findings. It leaves out those that only follow from
// a mistake reported already: a field that is missing because its name is misspelt
// or its value of a wrong type. Of consecutive errors about one field that is missing or
// not supported, it keeps the last, which is the most specific.
func (j *judge) refusals() (refusals []Finding) {
	misspelt := make(map[string]bool) // objects with a misspelt field
	var wrong []string                // values of wrong types
	for _, mistake := range j.Mistakes {
		switch {
		case mistake.Meant != "":
			misspelt[mistake.Path[:max(strings.LastIndexByte(mistake.Path, '.'), 0)]] = true
		case mistake.Fault == document.Wrong:
			wrong = append(wrong, mistake.Path)
		}
	}
	for i, e := range j.errs {
		if i+1 < len(j.errs) && sameMistake(e, j.errs[i+1]) || follows(e.Field, wrong) {
			continue
		}
		if e.Type == field.Required && misspelt[e.Field[:max(strings.LastIndexByte(e.Field, '.'), 0)]] {
			continue
		}
		refusals = append(refusals, Finding{Severity: Error, Kind: KindInvalid, Line: j.LineOf(e.Field), Field: j.fieldPath(e.Field), Text: textOf(e)})
	}
	return refusals
}

// textOf returns an error without its path, as in `is "x", must be Always`.
func textOf(e field.Error) string {
	value := ""
	switch v := e.Value.(type) {
	case nil:
	case string:
		value = quote.Text(v)
	default:
		value = fmt.Sprint(v)
	}
	detail := e.Detail
	if e.Type == field.Required && value == "" {
		return "required: " + detail
	}
	if e.Type == field.TooMany {
		return fmt.Sprintf("has %s items, %s", value, detail)
	}
	if e.Type == field.TooLong {
		return "too long: " + detail
	}
	if e.Type == field.Duplicate && detail == "" {
		detail = "already given"
	}
	switch {
	case value == "":
		return detail
	case strings.HasPrefix(detail, "must "):
		return "is " + value + ", " + detail + meant(e)
	}
	return "is " + value + ": " + detail
}

// meant asks whether an unsupported value was meant to be one of those that the
// detail names, as in "must be OnFailure or Never in a Job".
func meant(e field.Error) string {
	value, isText := e.Value.(string)
	list, isList := strings.CutPrefix(e.Detail, "must be ")
	if e.Type != field.NotSupported || !isText || !isList {
		return ""
	}
	var known []string
	for word := range strings.FieldsSeq(list) {
		name := strings.TrimSuffix(word, ",")
		if name == "or" {
			continue
		}
		if name[0] < 'A' || name[0] > 'Z' {
			break
		}
		known = append(known, name)
	}
	// The list is short, so a guess may be bolder than among the names of fields.
	if near := spelling.Within(len(value)/2, value, known); near != "" && len(known) > 1 {
		return ": did you mean " + near + "?"
	}
	return ""
}

// follows reports whether an error at path may be due to one of the values of wrong
// types.
func follows(path string, wrong []string) bool {
	for _, other := range wrong {
		if document.Within(path, other) || document.Within(other, path) {
			return true
		}
	}
	return false
}

// sameMistake reports whether two errors concern one missing field or one unsupported
// value.
func sameMistake(a, b field.Error) bool {
	return a.Type == b.Type && a.Field == b.Field && (a.Type == field.Required || a.Type == field.NotSupported)
}

// addAll adds the errors of a Validate, with their paths in the object.
func (j *judge) addAll(err error, path func(string) string) {
	var errs field.Errors
	if errors.As(err, &errs) {
		for _, e := range errs {
			e.Field = path(e.Field)
			j.errs = append(j.errs, e)
		}
	}
}

// notNegative checks an optional number.
func notNegative[T int32 | int64](j *judge, path string, n *T) {
	if n != nil && *n < 0 {
		j.add(field.Invalid, path, *n, "must be 0 or more")
	}
}
