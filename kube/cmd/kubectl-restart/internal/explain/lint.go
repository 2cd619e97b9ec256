package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/backoff/lint"
	"github.com/restartkit/restart/jobpolicy/batch"
	joblint "github.com/restartkit/restart/jobpolicy/lint"
	"github.com/restartkit/restart/kube/convert"
)

// Subject is an object with a pod template, or a pod.
type Subject struct {
	Kind    string
	Meta    *metav1.ObjectMeta
	Path    string             // of Pod or Job in Object, such as spec.template.spec
	Pod     *corev1.PodSpec    // nil for a Job
	Job     *batchv1.JobSpec   // nil for other kinds
	JobMeta *metav1.ObjectMeta // of the Job, or of a CronJob's template; nil for other kinds
	Object  any                // the whole object, for the values of its lines
}

// Group holds the findings of one object, or of all pods with the same unknown owner.
type Group struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Findings  []Finding `json:"findings"`
}

// Lint returns the findings of the subjects, grouped by owner, in order. It leaves out
// a subject whose controller is a subject, too. With a version, such as 1.29, Lint adds the fields of Jobs that this
// version drops, refuses or treats otherwise; it returns an error for a version outside 1.25 to 1.38.
func Lint(subjects []Subject, version string) ([]Group, error) {
	there := make(map[types.UID]bool)
	for i := range subjects {
		there[subjects[i].Meta.UID] = true
	}
	if version != "" {
		if _, err := joblint.CheckFor(nil, version); err != nil {
			return nil, fmt.Errorf("version %q: must be from 1.25 to 1.38", version)
		}
	}
	groups := make(map[groupName]*Group)
	for i := range subjects {
		s := &subjects[i]
		owner := Group{Kind: s.Kind, Namespace: s.Meta.Namespace, Name: s.Meta.Name}
		if c := metav1.GetControllerOf(s.Meta); c != nil {
			if c.UID != "" && there[c.UID] {
				continue
			}
			owner.Kind, owner.Name = c.Kind, c.Name
		}
		key := groupName{owner.Kind, owner.Namespace, owner.Name}
		for _, f := range s.findings(version) {
			g := groups[key]
			if g == nil {
				g = &owner
				groups[key] = g
			}
			if !slices.Contains(g.Findings, f) {
				g.Findings = append(g.Findings, f)
			}
		}
	}
	all := make([]Group, 0, len(groups))
	for _, g := range groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

func (s *Subject) findings(version string) []Finding {
	if s.Job == nil {
		return lintPodSpec(s.Object, s.Path, s.Pod)
	}
	all := lintJobSpec(s.Object, s.Path, s.Job)
	if version == "" {
		return all
	}
	job := &batch.Job{Spec: *specOf(s.Job)}
	if s.JobMeta != nil {
		job.Annotations = s.JobMeta.Annotations
	}
	findings, _ := joblint.CheckJobFor(job, version) // Lint has checked the version
	for _, f := range findings {
		if f.Kind == joblint.KindVersion || f.Kind == joblint.KindEvicted {
			all = append(all, ofJob(s.Object, s.Path, f))
		}
	}
	return all
}

// lintPodSpec reviews the restart rules of a pod's containers.
func lintPodSpec(object any, path string, spec *corev1.PodSpec) (all []Finding) {
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"initContainers", spec.InitContainers}, {"containers", spec.Containers}} {
		for i := range list.containers {
			c := &list.containers[i]
			if len(c.RestartPolicyRules) == 0 {
				continue
			}
			for _, f := range lint.Check(convert.ExitPolicy(spec, c)) {
				field := fmt.Sprintf("%s.%s[%d].%s", path, list.name, i, f.Field)
				all = append(all, Finding{Kind: string(f.Kind), Severity: string(joblint.SeverityWarning), Field: field, Value: valueOf(object, field), Text: line(f.Text)})
			}
		}
	}
	return all
}

// lintJobSpec reviews a Job's specification and its pod template.
func lintJobSpec(object any, path string, spec *batchv1.JobSpec) (all []Finding) {
	for _, f := range joblint.Check(specOf(spec)) {
		all = append(all, ofJob(object, path, f))
	}
	return append(all, lintPodSpec(object, path+".template.spec", &spec.Template.Spec)...)
}

func ofJob(object any, path string, f joblint.Finding) Finding {
	field := strings.TrimSuffix(path, "spec") + f.Field
	return Finding{Kind: string(f.Kind), Severity: string(f.Severity), Field: field, Value: valueOf(object, field), Text: line(f.Text)}
}

// specOf converts a specification with all of its fields, for package lint.
func specOf(s *batchv1.JobSpec) *batch.JobSpec {
	spec := convert.JobSpec(s)
	if s.Scheduling != nil {
		if text, err := json.Marshal(s.Scheduling); err == nil {
			spec.Unknown = map[string]json.RawMessage{"scheduling": text}
		}
	}
	return spec
}

// older returns the fields of a Job that a cluster older than the given version drops
// or refuses, each for the newest such version. With an unknown version, it starts from
// the newest.
func older(s *batchv1.JobSpec, version string) (all []Finding) {
	spec := specOf(s)
	seen := make(map[string]bool)
	for minor := min(minorOf(version)-1, newestMinor); minor >= oldestMinor; minor-- {
		findings, err := joblint.CheckFor(spec, "1."+strconv.Itoa(minor))
		if err != nil {
			return all
		}
		for _, f := range findings {
			if f.Kind == joblint.KindVersion && !seen[f.Field] {
				seen[f.Field] = true
				all = append(all, Finding{Kind: string(f.Kind), Severity: string(f.Severity), Field: f.Field, Text: line(f.Text)})
			}
		}
	}
	return all
}

// The versions that package jobpolicy/lint knows, as 1.minor.
const oldestMinor, newestMinor = 25, 38

var minorVersion = regexp.MustCompile(`^v?1\.(\d{1,4})`)

// minorOf returns the minor version of an API server, or the one after the newest if
// it is unknown.
func minorOf(version string) int {
	m := minorVersion.FindStringSubmatch(version)
	if m == nil {
		return newestMinor + 1
	}
	minor, _ := strconv.Atoi(m[1]) // has at most four digits
	return minor
}

// groupName identifies a Group.
type groupName struct{ kind, namespace, name string }

var pathStep = regexp.MustCompile(`^\.?([A-Za-z]\w*)|^\[(\d+)\]`)

// mostValue is the number of bytes shown of a line's value.
const mostValue = 120

// valueOf returns the JSON at a path such as spec.podFailurePolicy.rules[0], or "" if
// there is none.
func valueOf(object any, path string) string {
	text, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	var at any
	if json.Unmarshal(text, &at) != nil {
		return ""
	}
	for path != "" {
		m := pathStep.FindStringSubmatch(path)
		switch {
		case m == nil:
			return ""
		case m[1] != "":
			fields, _ := at.(map[string]any)
			at = fields[m[1]]
		default:
			list, _ := at.([]any)
			i, err := strconv.Atoi(m[2])
			if err != nil || i >= len(list) {
				return ""
			}
			at = list[i]
		}
		path = path[len(m[0]):]
	}
	if at == nil {
		return ""
	}
	value, err := json.Marshal(at)
	if err != nil {
		return ""
	}
	if s := line(string(value)); len(s) <= mostValue {
		return s
	}
	return ""
}
