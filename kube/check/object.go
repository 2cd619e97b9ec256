package check

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/check/document"
)

// Object is an object of a file or of a cluster.
type Object struct {
	APIVersion string
	Kind       string
	Namespace  string // "" if the object does not say
	Name       string // name or generateName
	Line       int    // where it begins; 0 if it is not from a file

	// Value is a *batchv1.Job, *batchv1.CronJob, *corev1.Pod, *appsv1.ReplicaSet,
	// *appsv1.Deployment, *appsv1.StatefulSet or *appsv1.DaemonSet without defaults. It
	// is nil for any other kind, for an encrypted object and for a template.
	Value any

	// Node is the object as the file has it; nil if it is not from a file.
	Node *document.Node

	// Mistakes are the values that do not fit Value's type. Value lacks such fields. Their paths
	// begin at the object, and so do the paths that Judge uses.
	Mistakes document.Mistakes

	path  string // of the object in its document, such as items[2]
	found []Finding
	text  []byte // of its document
}

// kindOf describes a judged kind.
type kindOf struct {
	apiVersion string
	make       func() any
}

// judged are these kinds.
var judged = map[string]kindOf{
	"Job":         {"batch/v1", func() any { return new(batchv1.Job) }},
	"CronJob":     {"batch/v1", func() any { return new(batchv1.CronJob) }},
	"Pod":         {"v1", func() any { return new(corev1.Pod) }},
	"ReplicaSet":  {"apps/v1", func() any { return new(appsv1.ReplicaSet) }},
	"Deployment":  {"apps/v1", func() any { return new(appsv1.Deployment) }},
	"StatefulSet": {"apps/v1", func() any { return new(appsv1.StatefulSet) }},
	"DaemonSet":   {"apps/v1", func() any { return new(appsv1.DaemonSet) }},
}

// ObjectOf returns a typed object, such as one of a cluster, which is of one of the
// types of Object.Value. It does not copy the value. Judge then leaves out findings
// that only concern an object before its creation.
func ObjectOf(value metav1.Object) (*Object, error) {
	o := &Object{Namespace: value.GetNamespace(), Name: value.GetName(), Value: value}
	switch value.(type) {
	case *batchv1.Job:
		o.Kind = "Job"
	case *batchv1.CronJob:
		o.Kind = "CronJob"
	case *corev1.Pod:
		o.Kind = "Pod"
	case *appsv1.ReplicaSet:
		o.Kind = "ReplicaSet"
	case *appsv1.Deployment:
		o.Kind = "Deployment"
	case *appsv1.StatefulSet:
		o.Kind = "StatefulSet"
	case *appsv1.DaemonSet:
		o.Kind = "DaemonSet"
	default:
		return nil, fmt.Errorf("check: ObjectOf: %T is not judged", value)
	}
	o.APIVersion = judged[o.Kind].apiVersion
	return o, nil
}

// IsJudged reports whether the object is of a kind that Judge judges.
func (o *Object) IsJudged() bool { return o.Value != nil }

// String returns the kind and the name.
func (o *Object) String() string {
	switch {
	case o.Kind == "" && o.Name == "":
		return "object without a kind"
	case o.Kind == "":
		return "object " + o.Name + " without a kind"
	case o.Name == "":
		return o.Kind + " without a name"
	}
	return o.Kind + " " + o.Name
}

// LineOf returns the line of a field of the object, such as
// spec.template.spec.restartPolicy, or else of the innermost enclosing field in the
// file. It is 0 for an object that is not from a file.
func (o *Object) LineOf(path string) int { return o.Node.LineOf(path) }

// Job returns the Job of the object, without defaults. For a CronJob it is the Job made
// from its template, with the CronJob's name and a hyphen as generateName. It is nil for
// any other kind. The Job shares memory with Value.
func (o *Object) Job() *batchv1.Job {
	switch value := o.Value.(type) {
	case *batchv1.Job:
		return value
	case *batchv1.CronJob:
		template := value.Spec.JobTemplate
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: value.Namespace, Labels: template.Labels, Annotations: template.Annotations},
			Spec:       template.Spec,
		}
		if value.Name != "" {
			job.GenerateName = value.Name + "-"
		}
		return job
	}
	return nil
}

// JobPath returns the path in the object for a path in its Job, which differs for a
// CronJob: spec.jobTemplate.spec.completions for spec.completions.
func (o *Object) JobPath(path string) string {
	if _, isCron := o.Value.(*batchv1.CronJob); isCron && (document.Within(path, "spec") || document.Within(path, "metadata")) {
		return "spec.jobTemplate." + path
	}
	return path
}

// fieldPath returns a path in the document for a path in the object.
func (o *Object) fieldPath(path string) string {
	if o.path == "" || path == "" {
		return o.path + path
	}
	return o.path + "." + path
}
