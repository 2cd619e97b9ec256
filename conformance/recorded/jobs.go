package recorded

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8sbatch "k8s.io/kubernetes/pkg/apis/batch"
	batchdefaults "k8s.io/kubernetes/pkg/apis/batch/v1"
	"k8s.io/kubernetes/pkg/apis/batch/validation"

	"github.com/restartkit/restart/internal/vectors/shape"
)

// podFailurePolicy also tells the deciding rule, which is the last of the shortest list
// of first rules with that result.
func podFailurePolicy(in struct {
	FailIndexEnabled *bool         `json:"fail_index_enabled"`
	Policy           *shape.Policy `json:"policy"`
	Pod              *shape.Pod    `json:"pod"`
}) (any, error) {
	pod, err := podOf(in.Pod)
	if err != nil {
		return nil, err
	}
	policy, err := policyOf(in.Policy)
	if err != nil {
		return nil, err
	}
	if policy == nil {
		return map[string]any{"action": nil, "counted": true, "message": nil, "matched": false, "rule": nil}, nil
	}
	if in.FailIndexEnabled != nil && !*in.FailIndexEnabled &&
		slices.ContainsFunc(policy.Rules, func(r batchv1.PodFailurePolicyRule) bool { return r.Action == batchv1.PodFailurePolicyActionFailIndex }) {
		return nil, errNoSwitch
	}
	message, counted, action := matchPodFailurePolicy(policy, pod)
	got := map[string]any{"action": action, "counted": counted, "message": message, "matched": action != nil, "rule": nil}
	for n := 1; action != nil && n <= len(policy.Rules); n++ {
		if _, _, first := matchPodFailurePolicy(&batchv1.PodFailurePolicy{Rules: policy.Rules[:n]}, pod); first != nil {
			got["rule"] = n - 1
			break
		}
	}
	return got, nil
}

func validateCreate(in struct {
	Spec shape.Spec `json:"spec"`
}) (any, error) {
	job, err := validatable(&in.Spec)
	if err != nil {
		return nil, err
	}
	return mistakes(createMistakes(job)), nil
}

func validateUpdate(in struct {
	Old shape.Spec `json:"old"`
	New shape.Spec `json:"new"`
}) (any, error) {
	old, err := validatable(&in.Old)
	if err != nil {
		return nil, err
	}
	job, err := validatable(&in.New)
	if err != nil {
		return nil, err
	}
	return mistakes(validation.ValidateJobSpecUpdate(job.Spec, old.Spec, field.NewPath("spec"), validation.JobValidationOptions{})), nil
}

// validatable returns a Job of the API server's own type, with everything around the
// specification that the API server asks for.
func validatable(v *shape.Spec) (*k8sbatch.Job, error) {
	job, err := jobOf(v)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{
		"controller-uid": "1", "job-name": "job",
		batchv1.ControllerUidLabel: "1", batchv1.JobNameLabel: "job",
	}
	job.ObjectMeta = metav1.ObjectMeta{Name: "job", Namespace: "default", UID: "1"}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	job.Spec.Template.Labels = labels
	var internal k8sbatch.Job
	return &internal, batchdefaults.Convert_v1_Job_To_batch_Job(job, &internal, nil)
}

// mistakes returns the errors in the form of a wanted outcome. The cases have no complete
// pod template, so of its mistakes only those in the restart policy count.
func mistakes(errs field.ErrorList) any {
	all := []map[string]string{}
	for _, e := range errs {
		if strings.HasPrefix(e.Field, "spec.template") && e.Field != "spec.template.spec.restartPolicy" {
			continue
		}
		all = append(all, map[string]string{"type": "FieldValue" + shortType(e.Type), "field": e.Field})
	}
	return all
}

// shortType returns an error's type as the name of its constant.
func shortType(t field.ErrorType) string {
	for name, of := range map[string]field.ErrorType{
		"Required": field.ErrorTypeRequired, "Invalid": field.ErrorTypeInvalid, "Duplicate": field.ErrorTypeDuplicate,
		"Forbidden": field.ErrorTypeForbidden, "NotSupported": field.ErrorTypeNotSupported, "TooLong": field.ErrorTypeTooLong, "TooMany": field.ErrorTypeTooMany,
	} {
		if t == of {
			return name
		}
	}
	return fmt.Sprint(t)
}
