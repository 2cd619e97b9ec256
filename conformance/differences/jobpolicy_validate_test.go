package differences

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8sbatch "k8s.io/kubernetes/pkg/apis/batch"
	batchdefaults "k8s.io/kubernetes/pkg/apis/batch/v1"
	"pgregory.net/rapid"

	restartfield "github.com/restartkit/restart/field"
	"github.com/restartkit/restart/kube/convert"
)

// TestValidateDifferential compares, on random specifications a few changes away
// from a correct one, what we and the API server fill in and the mistakes that we
// and it find.
func TestValidateDifferential(t *testing.T) {
	const wanted = 5000
	var seen struct{ specs, accepted, rejected, panicked int }
	kinds := map[string]int{} // mistakes by kind
	for seen.specs < wanted && !t.Failed() {
		rapid.Check(t, func(t *rapid.T) {
			for range 5 {
				spec := drawSpec(t)
				job := jobOf(spec)
				ours := convert.Job(job.DeepCopy()).Spec
				ours.Default()
				setDefaults(job)
				theirs := convert.Job(job).Spec
				// The API server also fills in manualSelector, which is not ours.
				delete(theirs.Unknown, "manualSelector")
				if !reflect.DeepEqual(ours, theirs) {
					t.Fatalf("defaults (-API server +ours):\n%s", cmp.Diff(theirs, ours))
				}
				got := ourMistakes(t, ours.Validate())
				want, panicked := theirMistakes(t, job)
				seen.specs++
				switch {
				case panicked:
					// Without completions a success policy's rules make ValidateJob
					// panic; the API server answers with an internal error.
					seen.panicked++
					if len(got) == 0 {
						t.Fatalf("ours accepts what makes theirs panic: %s", show(spec))
					}
					continue
				case len(want) == 0:
					seen.accepted++
				default:
					seen.rejected++
				}
				for _, mistake := range want {
					kinds[mistake.Type+" "+mistake.Field]++
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("mistakes (-API server +ours):\n%s\nin %s", diff, show(spec))
				}
			}
		})
	}
	t.Logf("%+v, %d kinds of mistakes", seen, len(kinds))
	if seen.accepted < seen.specs/20 || seen.rejected < seen.specs/4 || seen.panicked == 0 {
		t.Errorf("the specifications are too much alike: %+v", seen)
	}
}

// mistake is what both sides say about one field.
type mistake struct{ Type, Field string }

// ourMistakes reads the error of Validate.
func ourMistakes(t *rapid.T, err error) []mistake {
	if err == nil {
		return nil
	}
	var errs restartfield.Errors
	if !errors.As(err, &errs) {
		t.Fatalf("Validate returned a %T: %v", err, err)
	}
	var all []mistake
	for _, e := range errs {
		all = append(all, mistake{string(e.Type), e.Field})
	}
	return all
}

// jobOf is a Job of that specification, with the selector and the labels that the
// API server generates.
func jobOf(spec *batchv1.JobSpec) *batchv1.Job {
	labels := map[string]string{
		"controller-uid": "1", "job-name": "job",
		batchv1.ControllerUidLabel: "1", batchv1.JobNameLabel: "job",
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "default", UID: "1"},
		Spec:       *spec.DeepCopy(),
	}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	job.Spec.Template.Labels = labels
	return job
}

// setDefaults does the API server's defaulting of package batch; that of the pod
// template is left out.
func setDefaults(job *batchv1.Job) {
	batchdefaults.SetDefaults_Job(job)
	if p := job.Spec.PodFailurePolicy; p != nil {
		for i := range p.Rules {
			for k := range p.Rules[i].OnPodConditions {
				batchdefaults.SetDefaults_PodFailurePolicyOnPodConditionsPattern(&p.Rules[i].OnPodConditions[k])
			}
		}
	}
}

// theirMistakes validates as the API server does on create.
func theirMistakes(t *rapid.T, job *batchv1.Job) (all []mistake, panicked bool) {
	internal := internalOf(t, job)
	return theirList(func() field.ErrorList {
		return validateJob(internal)
	})
}

// internalOf is the Job as the API server's own type.
func internalOf(t *rapid.T, job *batchv1.Job) *k8sbatch.Job {
	var internal k8sbatch.Job
	if err := batchdefaults.Convert_v1_Job_To_batch_Job(job, &internal, nil); err != nil {
		t.Fatalf("conversion: %v", err)
	}
	return &internal
}

// theirList is what validate returns, or that it panics. Mistakes of the metadata,
// of the selector, of managedBy and of the template, but for its restart policy,
// are left out.
func theirList(validate func() field.ErrorList) (all []mistake, panicked bool) {
	defer func() {
		if recover() != nil {
			all, panicked = nil, true
		}
	}()
	names := typeNames()
	for _, e := range validate() {
		if !leftOut(e) {
			all = append(all, mistake{names[e.Type], e.Field})
		}
	}
	return all, false
}

// typeNames are our names for the API server's types of mistakes. Any other stays
// empty and so differs from ours.
func typeNames() map[field.ErrorType]string {
	return map[field.ErrorType]string{
		field.ErrorTypeRequired:     string(restartfield.Required),
		field.ErrorTypeInvalid:      string(restartfield.Invalid),
		field.ErrorTypeNotSupported: string(restartfield.NotSupported),
		field.ErrorTypeDuplicate:    string(restartfield.Duplicate),
		field.ErrorTypeTooMany:      string(restartfield.TooMany),
		field.ErrorTypeTooLong:      string(restartfield.TooLong),
	}
}

func leftOut(e *field.Error) bool {
	if e.Field == "spec.template.spec.restartPolicy" {
		return false
	}
	for _, path := range []string{"metadata", "spec.selector", "spec.managedBy", "spec.template"} {
		if e.Field == path || strings.HasPrefix(e.Field, path+".") || strings.HasPrefix(e.Field, path+"[") {
			return true
		}
	}
	return false
}

func show(spec *batchv1.JobSpec) string { return cmp.Diff(batchv1.JobSpec{}, *spec) }

// drawSpec draws a specification up to six changes away from a correct one.
func drawSpec(t *rapid.T) *batchv1.JobSpec {
	spec := correctSpecs()[rapid.IntRange(0, len(correctSpecs())-1).Draw(t, "base")]
	for range rapid.IntRange(0, 6).Draw(t, "changes") {
		rapid.SampledFrom(changes()).Draw(t, "change")(t, spec)
	}
	return spec
}

// correctSpecs are specifications that the API server accepts.
func correctSpecs() []*batchv1.JobSpec {
	spec := func(change func(*batchv1.JobSpec)) *batchv1.JobSpec {
		s := &batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			DNSPolicy:                     corev1.DNSClusterFirst,
			TerminationGracePeriodSeconds: new(int64),
			InitContainers:                []corev1.Container{container("prepare")},
			Containers:                    []corev1.Container{container("main"), container("sidecar")},
		}}}
		change(s)
		return s
	}
	indexed := func(s *batchv1.JobSpec) {
		s.CompletionMode = new(batchv1.IndexedCompletion)
		s.Completions, s.Parallelism = new(int32(10)), new(int32(3))
	}
	return []*batchv1.JobSpec{
		spec(func(s *batchv1.JobSpec) {}),
		spec(func(s *batchv1.JobSpec) {
			s.Parallelism, s.BackoffLimit, s.Suspend = new(int32(2)), new(int32(3)), new(true)
			s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		}),
		spec(indexed),
		spec(func(s *batchv1.JobSpec) {
			indexed(s)
			s.BackoffLimitPerIndex, s.MaxFailedIndexes = new(int32(1)), new(int32(5))
			s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				codesRule(batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyOnExitCodesOpIn, 1, 2, 42),
				conditionRule(batchv1.PodFailurePolicyActionIgnore, corev1.DisruptionTarget),
			}}
		}),
		spec(func(s *batchv1.JobSpec) {
			s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				codesRule(batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyOnExitCodesOpNotIn, 0, 3),
			}}
		}),
		spec(func(s *batchv1.JobSpec) {
			indexed(s)
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{
				{SucceededIndexes: new("0,2-5"), SucceededCount: new(int32(2))},
				{SucceededCount: new(int32(9))},
			}}
		}),
		spec(func(s *batchv1.JobSpec) {
			indexed(s)
			s.Completions, s.BackoffLimitPerIndex, s.MaxFailedIndexes = new(int32(200_000)), new(int32(0)), new(int32(10_000))
		}),
	}
}

func container(name string) corev1.Container {
	return corev1.Container{
		Name: name, Image: "image",
		ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

func codesRule(a batchv1.PodFailurePolicyAction, op batchv1.PodFailurePolicyOnExitCodesOperator, codes ...int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{
		Action:      a,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: op, Values: codes},
	}
}

func conditionRule(a batchv1.PodFailurePolicyAction, condition corev1.PodConditionType) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{
		Action:          a,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: condition}},
	}
}

// changes are what may happen to a specification, mostly to its harm.
func changes() []func(t *rapid.T, s *batchv1.JobSpec) {
	return []func(t *rapid.T, s *batchv1.JobSpec){
		func(t *rapid.T, s *batchv1.JobSpec) { s.Parallelism = drawCount(t) },
		func(t *rapid.T, s *batchv1.JobSpec) { s.Completions = drawCount(t) },
		func(t *rapid.T, s *batchv1.JobSpec) { s.BackoffLimit = drawCount(t) },
		func(t *rapid.T, s *batchv1.JobSpec) { s.BackoffLimitPerIndex = drawCount(t) },
		func(t *rapid.T, s *batchv1.JobSpec) { s.MaxFailedIndexes = drawCount(t) },
		func(t *rapid.T, s *batchv1.JobSpec) { s.TTLSecondsAfterFinished = drawCount(t) },
		func(t *rapid.T, s *batchv1.JobSpec) {
			s.ActiveDeadlineSeconds = new(rapid.Int64Range(-2, 2).Draw(t, "deadline"))
		},
		func(t *rapid.T, s *batchv1.JobSpec) {
			s.CompletionMode = rapid.SampledFrom([]*batchv1.CompletionMode{
				nil, new(batchv1.IndexedCompletion), new(batchv1.IndexedCompletion), new(batchv1.NonIndexedCompletion), new(batchv1.CompletionMode("indexed")),
			}).Draw(t, "mode")
		},
		func(t *rapid.T, s *batchv1.JobSpec) {
			s.PodReplacementPolicy = rapid.SampledFrom([]*batchv1.PodReplacementPolicy{
				nil, new(batchv1.Failed), new(batchv1.TerminatingOrFailed), new(batchv1.PodReplacementPolicy("Always")),
			}).Draw(t, "replacement")
		},
		func(t *rapid.T, s *batchv1.JobSpec) {
			s.Template.Spec.RestartPolicy = rapid.SampledFrom([]corev1.RestartPolicy{
				"Never", "Never", "OnFailure", "Always", "", "never",
			}).Draw(t, "restartPolicy")
		},
		func(t *rapid.T, s *batchv1.JobSpec) {
			s.Template.Spec.Containers = s.Template.Spec.Containers[:1]
			s.Template.Spec.InitContainers = nil
		},
		func(t *rapid.T, s *batchv1.JobSpec) { s.PodFailurePolicy = nil },
		func(t *rapid.T, s *batchv1.JobSpec) {
			policy := &batchv1.PodFailurePolicy{}
			for range rapid.SampledFrom([]int{0, 1, 2, 3, 19, 20, 21}).Draw(t, "rules") {
				policy.Rules = append(policy.Rules, drawRule(t))
			}
			s.PodFailurePolicy = policy
		},
		func(t *rapid.T, s *batchv1.JobSpec) {
			if p := s.PodFailurePolicy; p != nil && len(p.Rules) > 0 {
				p.Rules[rapid.IntRange(0, len(p.Rules)-1).Draw(t, "rule")] = drawRule(t)
			}
		},
		func(t *rapid.T, s *batchv1.JobSpec) { s.SuccessPolicy = nil },
		func(t *rapid.T, s *batchv1.JobSpec) {
			policy := &batchv1.SuccessPolicy{}
			for range rapid.SampledFrom([]int{0, 1, 1, 2, 20, 21}).Draw(t, "rules") {
				policy.Rules = append(policy.Rules, batchv1.SuccessPolicyRule{
					SucceededIndexes: drawIndexes(t),
					SucceededCount:   drawCount(t),
				})
			}
			s.SuccessPolicy = policy
		},
	}
}

// drawCount draws a number around a limit, or none.
func drawCount(t *rapid.T) *int32 {
	return rapid.OneOf(
		rapid.Just((*int32)(nil)),
		rapid.Ptr(rapid.Int32Range(-1, 12), false),
		rapid.Ptr(rapid.SampledFrom([]int32{9_999, 10_000, 10_001, 99_999, 100_000, 100_001, 1<<31 - 1, -1 << 31}), false),
	).Draw(t, "count")
}

// drawRule draws a rule, mostly with something wrong about it.
func drawRule(t *rapid.T) batchv1.PodFailurePolicyRule {
	rule := batchv1.PodFailurePolicyRule{Action: rapid.SampledFrom([]batchv1.PodFailurePolicyAction{
		"Ignore", "Count", "FailJob", "FailIndex", "", "failjob",
	}).Draw(t, "action")}
	parts := rapid.SampledFrom([]string{"codes", "codes", "conditions", "conditions", "both", "none"}).Draw(t, "parts")
	if parts == "codes" || parts == "both" {
		rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator:      rapid.SampledFrom([]batchv1.PodFailurePolicyOnExitCodesOperator{"In", "In", "NotIn", "NotIn", "", "in"}).Draw(t, "operator"),
			ContainerName: rapid.SampledFrom([]*string{nil, nil, new("main"), new("prepare"), new("sidecar"), new("")}).Draw(t, "container"),
			Values:        drawCodes(t),
		}
	}
	if parts == "conditions" || parts == "both" {
		for range rapid.SampledFrom([]int{0, 1, 1, 2, 20, 21}).Draw(t, "patterns") {
			rule.OnPodConditions = append(rule.OnPodConditions, batchv1.PodFailurePolicyOnPodConditionsPattern{
				Type:   corev1.PodConditionType(drawConditionType(t)),
				Status: rapid.SampledFrom([]corev1.ConditionStatus{"", "True", "False", "Unknown", "true"}).Draw(t, "status"),
			})
		}
	}
	return rule
}

func drawCodes(t *rapid.T) []int32 {
	few := rapid.SliceOfN(rapid.Int32Range(-1, 4), 0, 6)
	rising := rapid.Map(rapid.SampledFrom([]int{1, 2, 254, 255, 256}), func(n int) []int32 {
		codes := make([]int32, n)
		for i := range codes {
			codes[i] = int32(i + 1)
		}
		return codes
	})
	return rapid.OneOf(few, rising).Draw(t, "codes")
}

func drawConditionType(t *rapid.T) string {
	long := strings.Repeat("a", 63)
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"DisruptionTarget", "example.com/Ready", "", "/", "/Ready", "example.com/", "a/b/c", "Example.com/Ready", "-a", "a-", "a_b.c", "é",
			long, long + "a", strings.Repeat("a.", 127) + "/Ready", strings.Repeat("a.", 126) + "a/Ready", strings.Repeat("a.", 127) + "a/Ready",
			"a..b/Ready", ".a/Ready", "a./Ready", long + "aa.b/Ready",
		}),
		rapid.StringMatching(`[aZ0/._-]{0,6}`),
	).Draw(t, "type")
}

// drawIndexes draws the text of an index set, mostly close to a correct one, or
// none.
func drawIndexes(t *rapid.T) *string {
	item := rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 12), func(i int) string { return fmt.Sprint(i) }),
		rapid.Map(rapid.IntRange(0, 9), func(i int) string { return fmt.Sprintf("%d-%d", i, i+2) }),
		rapid.SampledFrom([]string{"", "+1", "01", "-1", "1-", "3-3", "5-3", "1-2-3", " 1", "a", "2147483647", "2147483648", "9223372036854775808", "0-2147483647", "1--3", "0x1", "1_0"}),
	)
	text := rapid.Map(rapid.SliceOfN(item, 0, 4), func(items []string) *string { return new(strings.Join(items, ",")) })
	long := strings.Repeat("0", 64<<10)
	return rapid.OneOf(
		rapid.Just((*string)(nil)),
		rapid.SampledFrom([]*string{new("0-9"), new("0,2-5"), new(long), new(long + "1")}),
		text, text,
	).Draw(t, "indexes")
}
