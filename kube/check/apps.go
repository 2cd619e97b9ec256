package check

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/kube/check/document"
)

// alwaysTemplate checks the template of pods kept running.
func (j *judge) alwaysTemplate(template *corev1.PodTemplateSpec) {
	const path = "spec.template.spec."
	j.template("spec.template.", template)
	if policy := template.Spec.RestartPolicy; policy != "" && policy != corev1.RestartPolicyAlways {
		j.add(field.NotSupported, path+"restartPolicy", string(policy), fmt.Sprintf("must be Always, or absent, in a %s", j.Kind))
	}
	if seconds := template.Spec.ActiveDeadlineSeconds; seconds != nil {
		j.add(field.Invalid, path+"activeDeadlineSeconds", *seconds, fmt.Sprintf("must be absent: a %s keeps its pods running", j.Kind))
	}
	j.podVersion("spec.template.", &template.Spec)
	a := newAftermath(j.Kind, &template.Spec)
	for i := range template.Spec.Containers {
		j.ends(fmt.Sprintf("%scontainers[%d]", path, i), a, &template.Spec.Containers[i])
	}
}

// ends reports a container that may stay ended, by its own restartPolicy, in a pod that is
// kept running.
func (j *judge) ends(at string, a *aftermath, c *corev1.Container) {
	if c.RestartPolicy == nil || minorOf(j.version) < keepsRestartRules {
		return
	}
	isMistaken := slices.ContainsFunc(j.Mistakes, func(m document.Mistake) bool { return document.Within(m.Path, at) })
	isRefused := slices.ContainsFunc(j.errs, func(e field.Error) bool { return document.Within(e.Field, at) })
	if isMistaken || isRefused {
		return
	}
	code, ends := staysEnded(a.pod, c)
	if !ends {
		return
	}
	effect := a.ofExit(c, false, code)
	j.say(Warning, KindEnds, at+".restartPolicy", fmt.Sprintf("after exit code %d, %s; use Always, or restartPolicyRules for every exit code", code, effect))
}

func (j *judge) replicaSet(r *appsv1.ReplicaSet) {
	j.metadata(&r.ObjectMeta, false)
	notNegative(j, "spec.replicas", r.Spec.Replicas)
	notNegative(j, "spec.minReadySeconds", &r.Spec.MinReadySeconds)
	j.selector(r.Spec.Selector, &r.Spec.Template.ObjectMeta)
	j.alwaysTemplate(&r.Spec.Template)
}

// defaultProgressDeadline is the progressDeadlineSeconds of a Deployment that names none.
const defaultProgressDeadline = 600

func (j *judge) deployment(d *appsv1.Deployment) {
	j.metadata(&d.ObjectMeta, false)
	notNegative(j, "spec.replicas", d.Spec.Replicas)
	notNegative(j, "spec.minReadySeconds", &d.Spec.MinReadySeconds)
	notNegative(j, "spec.revisionHistoryLimit", d.Spec.RevisionHistoryLimit)
	notNegative(j, "spec.progressDeadlineSeconds", d.Spec.ProgressDeadlineSeconds)
	deadline, at := int32(defaultProgressDeadline), "spec.minReadySeconds"
	if d.Spec.ProgressDeadlineSeconds != nil {
		deadline, at = *d.Spec.ProgressDeadlineSeconds, "spec.progressDeadlineSeconds"
	}
	if deadline <= d.Spec.MinReadySeconds {
		j.add(field.Invalid, at, nil, fmt.Sprintf("progressDeadlineSeconds, %d, must be above minReadySeconds, %d", deadline, d.Spec.MinReadySeconds))
	}
	j.selector(d.Spec.Selector, &d.Spec.Template.ObjectMeta)
	j.alwaysTemplate(&d.Spec.Template)
}

// longestRevision is the length of the hash that a StatefulSet adds to its name, with a
// hyphen, for a label of its pods.
const longestRevision = 11

func (j *judge) statefulSet(s *appsv1.StatefulSet) {
	j.metadata(&s.ObjectMeta, true)
	notNegative(j, "spec.replicas", s.Spec.Replicas)
	notNegative(j, "spec.minReadySeconds", &s.Spec.MinReadySeconds)
	j.selector(s.Spec.Selector, &s.Spec.Template.ObjectMeta)
	j.alwaysTemplate(&s.Spec.Template)
	if name := finalName(&s.ObjectMeta); len(name) <= validation.DNS1123LabelMaxLength && len(name)+longestRevision > validation.LabelValueMaxLength {
		j.say(Warning, KindName, nameField(&s.ObjectMeta), fmt.Sprintf(
			"with %d letters its pods may not be created: their label controller-revision-hash is the name and up to %d more, and must be at most %d", len(name), longestRevision, validation.LabelValueMaxLength))
	}
}

func (j *judge) daemonSet(d *appsv1.DaemonSet) {
	j.metadata(&d.ObjectMeta, false)
	notNegative(j, "spec.minReadySeconds", &d.Spec.MinReadySeconds)
	notNegative(j, "spec.revisionHistoryLimit", d.Spec.RevisionHistoryLimit)
	j.selector(d.Spec.Selector, &d.Spec.Template.ObjectMeta)
	j.alwaysTemplate(&d.Spec.Template)
}
