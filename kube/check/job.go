package check

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	apifield "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
	"github.com/restartkit/restart/kube/check/document"
	"github.com/restartkit/restart/kube/convert"
)

// jobJudge judges a Job, or the Job in a CronJob's template.
type jobJudge struct {
	*judge
	spec *batchv1.JobSpec
	job  *batch.Job // with defaults
	at   string     // path before spec, which ends with a dot unless it is empty
}

func (j *judge) newJob(at string, m *metav1.ObjectMeta, spec *batchv1.JobSpec) *jobJudge {
	job := &jobJudge{judge: j, spec: spec, at: at, job: convert.Job(&batchv1.Job{ObjectMeta: *m, Spec: *spec})}
	job.job.Spec.Default()
	return job
}

// job checks a Job.
func (j *judge) job(value *batchv1.Job) *jobJudge {
	j.metadata(&value.ObjectMeta, false)
	job := j.newJob("", &value.ObjectMeta, &value.Spec)
	job.validate()
	j.jobName(value, &job.job.Spec)
	j.jobSelector(value)
	return job
}

// validate checks the specification.
func (j *jobJudge) validate() {
	j.addAll(j.job.Spec.Validate(), func(path string) string { return j.at + path })
	j.emptyTexts()
	if by := j.spec.ManagedBy; by != nil {
		j.managedBy(*by)
	}
	j.template(j.at+"spec.template.", &j.spec.Template)
}

// emptyTexts refuses empty texts, which are not the same as absent
// ones.
func (j *jobJudge) emptyTexts() {
	s := j.spec
	if s.CompletionMode != nil && *s.CompletionMode == "" {
		j.add(field.NotSupported, j.at+"spec.completionMode", "", "must be NonIndexed or Indexed")
	}
	if s.PodReplacementPolicy != nil && *s.PodReplacementPolicy == "" {
		j.add(field.NotSupported, j.at+"spec.podReplacementPolicy", "", "must be Failed or TerminatingOrFailed")
	}
}

// maxManagedBy is the longest name of another controller.
const maxManagedBy = 63

func (j *jobJudge) managedBy(by string) {
	path := j.at + "spec.managedBy"
	if errs := validation.IsDomainPrefixedPath(apifield.NewPath("x"), by); len(errs) > 0 {
		j.add(field.Invalid, path, by, "must be a domain and a path, such as example.com/controller")
	}
	if len(by) > maxManagedBy {
		j.add(field.TooLong, path, nil, fmt.Sprintf("must be at most %d bytes", maxManagedBy))
	}
}

// jobName checks that the names of the pods and their label job-name fit. s is the
// specification with defaults.
func (j *judge) jobName(job *batchv1.Job, s *batch.JobSpec) {
	name, at := finalName(&job.ObjectMeta), nameField(&job.ObjectMeta)
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return // reported
	}
	manual := job.Spec.ManualSelector != nil && *job.Spec.ManualSelector
	if len(name) > validation.LabelValueMaxLength && !manual {
		j.add(field.Invalid, at, name, fmt.Sprintf("must be at most %d letters, since it becomes a label of the pods", validation.LabelValueMaxLength))
	}
	if s.CompletionMode != batch.IndexedCompletion || s.Completions == nil || *s.Completions < 1 {
		return
	}
	if last := fmt.Sprintf("%s-%d", name, *s.Completions-1); len(validation.IsDNS1123Label(last)) > 0 {
		j.add(field.Invalid, at, name, "must be shorter, and without dots: the last pod's host name would be "+last)
	}
}

// jobSelector checks the selector and the labels of a new Job, which the API server sets.
func (j *judge) jobSelector(job *batchv1.Job) {
	template := job.Spec.Template.Labels
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		if job.Spec.Selector == nil {
			j.add(field.Required, "spec.selector", nil, "manualSelector needs it")
		} else if selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err != nil {
			j.add(field.Invalid, "spec.selector", nil, err.Error())
		} else if !selector.Matches(labels.Set(template)) {
			j.add(field.Invalid, "spec.selector", nil, "must select the labels of the template: "+selector.String()+" does not")
		}
		return
	}
	if !j.isNew() { // it is as the API server has made it
		return
	}
	refuse := func(path, text string) { j.add(field.Invalid, path, nil, text) }
	name := finalName(&job.ObjectMeta)
	for _, label := range []string{"controller-uid", batchv1.ControllerUidLabel} {
		if _, isSet := template[label]; isSet {
			refuse(fmt.Sprintf("spec.template.metadata.labels[%s]", label), "a new Job cannot have this label, which the API server sets: remove it")
		}
	}
	for _, label := range []string{"job-name", batchv1.JobNameLabel} {
		if value, isSet := template[label]; isSet && value != name {
			refuse(fmt.Sprintf("spec.template.metadata.labels[%s]", label), "must be the name of the Job, or absent: the API server sets it")
		}
	}
	if job.Spec.Selector == nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	set := labels.Set{"job-name": name, batchv1.JobNameLabel: name}
	if err != nil || !selector.Matches(set) {
		refuse("spec.selector", "a new Job cannot have one, since the API server sets it: remove it, or set manualSelector")
	}
}

// longestCronJob is the length of a CronJob's name to which a Job's name adds a hyphen
// and ten digits.
const longestCronJob = validation.DNS1123LabelMaxLength - 11

// cronJob checks a CronJob.
func (j *judge) cronJob(value *batchv1.CronJob) *jobJudge {
	j.metadata(&value.ObjectMeta, false)
	if name := finalName(&value.ObjectMeta); len(name) > longestCronJob {
		j.add(field.Invalid, nameField(&value.ObjectMeta), name, fmt.Sprintf("must be at most %d letters, since its Jobs' names are 11 longer", longestCronJob))
	}
	spec := &value.Spec
	j.schedule(spec)
	notNegative(j, "spec.startingDeadlineSeconds", spec.StartingDeadlineSeconds)
	notNegative(j, "spec.successfulJobsHistoryLimit", spec.SuccessfulJobsHistoryLimit)
	notNegative(j, "spec.failedJobsHistoryLimit", spec.FailedJobsHistoryLimit)
	switch spec.ConcurrencyPolicy {
	case "", batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent:
	default:
		j.add(field.NotSupported, "spec.concurrencyPolicy", string(spec.ConcurrencyPolicy), "must be Allow, Forbid or Replace")
	}
	template := &spec.JobTemplate
	j.labels("spec.jobTemplate.metadata.", &template.ObjectMeta)
	job := j.newJob("spec.jobTemplate.", &template.ObjectMeta, &template.Spec)
	job.validate()
	if mode := template.Spec.CompletionMode; mode != nil && *mode == batchv1.IndexedCompletion && template.Spec.Completions == nil && template.Spec.Parallelism == nil {
		// Only a Job of its own gets the default.
		j.add(field.Required, "spec.jobTemplate.spec.completions", nil, "completionMode Indexed needs it in a CronJob")
	}
	if template.Spec.Selector != nil {
		j.add(field.Invalid, "spec.jobTemplate.spec.selector", nil, "must be absent: the API server sets it in each Job")
	}
	if manual := template.Spec.ManualSelector; manual != nil && *manual {
		j.add(field.NotSupported, "spec.jobTemplate.spec.manualSelector", true, "must be false or absent in a CronJob")
	}
	j.jobsOf(value, &job.job.Spec)
	return job
}

// jobsOf warns if the API server accepts the CronJob and refuses each of its Jobs. s is
// their specification with defaults.
func (j *judge) jobsOf(value *batchv1.CronJob, s *batch.JobSpec) {
	name := finalName(&value.ObjectMeta)
	if s.CompletionMode == batch.IndexedCompletion && s.Completions != nil && *s.Completions > 0 && len(validation.IsDNS1123Subdomain(name)) == 0 {
		const minutes = 29812345 // of a start since 1970, whose number of digits will stay for long
		if last := fmt.Sprintf("%s-%d-%d", name, minutes, *s.Completions-1); len(validation.IsDNS1123Label(last)) > 0 {
			j.say(Warning, KindName, nameField(&value.ObjectMeta), "the API server refuses each of its Jobs, since the last pod's host name would be such as "+last+": use a shorter name without dots")
		}
	}
	for _, label := range []string{"controller-uid", batchv1.ControllerUidLabel, "job-name", batchv1.JobNameLabel} {
		if _, isSet := value.Spec.JobTemplate.Spec.Template.Labels[label]; isSet {
			j.say(Warning, KindName, fmt.Sprintf("spec.jobTemplate.spec.template.metadata.labels[%s]", label), "the API server refuses each of its Jobs, since it sets this label itself: remove it")
		}
	}
}

// isReadable reports whether all of the specification that decides about restarts was
// decoded, so that its effects can be judged. A mistake elsewhere in a container does not
// matter.
func (j *jobJudge) isReadable() bool {
	for _, mistake := range j.Mistakes {
		if document.Within(mistake.Path, j.at+"spec") && mistake.Fault != document.Again && !j.isAside(mistake) {
			return false
		}
	}
	return true
}

// isAside reports whether a mistake concerns a field of a container that neither its
// name nor its restarts depend on.
func (j *jobJudge) isAside(m document.Mistake) bool {
	rest, inPod := strings.CutPrefix(m.Path, j.at+"spec.template.spec.")
	list, inContainer, _ := strings.Cut(rest, "].")
	if !inPod || !strings.HasPrefix(list, "containers[") && !strings.HasPrefix(list, "initContainers[") || inContainer == "" {
		return false
	}
	for _, name := range []string{inContainer, m.Meant} {
		if name == "name" || document.Within(name, "restartPolicy") || document.Within(name, "restartPolicyRules") {
			return false
		}
	}
	return true
}

// isSound reports whether the Job itself is valid, so that its worst case can be told.
func (j *jobJudge) isSound() bool {
	return j.job.Spec.Validate() == nil && j.spec.Template.Spec.RestartPolicy != corev1.RestartPolicyAlways
}

// lint adds the findings of jobpolicy/lint, except those to which an error leaves no
// meaning.
func (j *jobJudge) lint() {
	job := *j.job
	job.Spec = convert.Job(&batchv1.Job{Spec: *j.spec}).Spec // without defaults, which depend on the version
	findings, _ := lint.CheckJobFor(&job, j.version)
	for _, finding := range findings {
		if finding.Kind == lint.KindEvicted && !j.asked {
			continue // true of every Job with such a rule, so only said about a chosen version
		}
		if j.isMeaningless(finding) {
			continue
		}
		j.say(Severity(finding.Severity), Kind(finding.Kind), j.at+finding.Field, finding.Text)
	}
	j.stopSignals(j.at+"spec.template.", &j.spec.Template.Spec)
	j.inPlace()
}

// restartsInPlace reports whether a container restarts in its pod after an exit.
func restartsInPlace(pod *corev1.PodSpec, c *corev1.Container, code int32) bool {
	policy := convert.ExitPolicy(pod, c)
	action, _ := policy.DecideExit(backoff.Exit{Code: code}, 1)
	return action == backoff.ActionRestart || action == backoff.ActionRestartAll
}

// inPlace warns about containers that restart after they have succeeded, so that the
// Job never completes, and about rules on exits after which the container restarts, which
// no rule sees.
func (j *jobJudge) inPlace() {
	if slices.ContainsFunc(j.errs, func(e field.Error) bool { return document.Within(e.Field, j.at+"spec.template.spec") }) {
		return // which may be the reason
	}
	pod := keptInPod(&j.spec.Template.Spec, minorOf(j.version))
	for i := range pod.Containers {
		if restartsInPlace(pod, &pod.Containers[i], 0) {
			j.say(Warning, KindNeverEnds, fmt.Sprintf("%sspec.template.spec.containers[%d].restartPolicy", j.at, i), "the container restarts also after it has succeeded, so the Job never completes; use OnFailure or Never, and no rule for exit code 0")
		}
	}
	if j.spec.PodFailurePolicy == nil {
		return
	}
	for i := range j.spec.PodFailurePolicy.Rules {
		on := j.spec.PodFailurePolicy.Rules[i].OnExitCodes
		if on == nil || on.Operator != batchv1.PodFailurePolicyOnExitCodesOpIn {
			continue
		}
		for _, code := range on.Values {
			for k := range pod.Containers {
				c := &pod.Containers[k]
				if code != 0 && (on.ContainerName == nil || *on.ContainerName == c.Name) && restartsInPlace(pod, c, code) {
					j.say(Warning, KindInPlace, fmt.Sprintf("%sspec.podFailurePolicy.rules[%d].onExitCodes", j.at, i),
						fmt.Sprintf("container %s restarts in its pod after exit code %d, so this rule never sees that exit", quote.Text(c.Name), code))
				}
			}
		}
	}
}

// isMeaningless reports whether an error of the specification may be the reason of a
// finding. The effect of a rule depends on the rule and on those before it, and the effect of
// a limit on all of them.
func (j *jobJudge) isMeaningless(f lint.Finding) bool {
	if f.Kind == lint.KindVersion {
		return false
	}
	for _, e := range j.errs {
		path, ours := strings.CutPrefix(e.Field, j.at)
		if !ours || !document.Within(path, "spec") {
			continue
		}
		switch {
		case document.Within(path, f.Field) || document.Within(f.Field, path):
			return true
		case f.Rule >= 0 && isBefore(path, f):
			return true
		case f.Rule < 0 && (path == "spec.template.spec.restartPolicy" || !document.Within(path, "spec.template")):
			return true
		}
	}
	return false
}

// isBefore reports whether a path is in a rule before that of a finding.
func isBefore(path string, f lint.Finding) bool {
	policy, _, _ := strings.Cut(f.Field, ".rules[")
	for i := range f.Rule {
		if document.Within(path, fmt.Sprintf("%s.rules[%d]", policy, i)) {
			return true
		}
	}
	return false
}
