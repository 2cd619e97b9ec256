package jobcontroller

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// trouble causes one incident.
func (s *sim) trouble() {
	pods := s.server.pods()
	var pod *corev1.Pod
	if len(pods) > 0 {
		pod = pods[s.IntN(len(pods))]
	}
	s.collectGarbage()
	n, name := s.IntN(40), fmt.Sprintf("job%d", s.IntN(3))
	if failed := s.control.faults.creationFailed(); failed != "" && s.chance(2) {
		n, name = 2+s.IntN(4), failed // it is another Job when the creation may be made again
	}
	switch {
	case n == 0:
		s.kill()
		s.note("fault: controller killed", 1)
		time.Sleep(time.Duration(s.IntN(3000)) * time.Millisecond)
		s.begin()
	case n == 1:
		quota := 0
		if s.chance(3) {
			quota = 5 + s.IntN(8)
		}
		s.locked(func() { s.quota = quota })
	case n == 2:
		s.someJob(name, func(j *batchv1.Job) {
			j.Spec.Suspend = new(j.Spec.Suspend == nil || !*j.Spec.Suspend)
			s.records[j.UID].startedOver = true
			if *j.Spec.Suspend {
				s.note("fault: Job suspended", 1)
			} else {
				s.note("fault: Job resumed", 1)
				if s.chance(2) {
					s.note("fault: template changed", 1)
					j.Spec.Template.Spec.NodeSelector = map[string]string{"zone": strconv.Itoa(s.IntN(1000))}
				}
			}
		})
	case n == 3:
		s.someJob(name, func(j *batchv1.Job) {
			*j.Spec.Parallelism = int32(1 + s.IntN(5))
			s.records[j.UID].startedOver = true
			s.records[j.UID].parallelism = max(s.records[j.UID].parallelism, *j.Spec.Parallelism)
		})
	case n == 4 && s.chance(6):
		if job := s.server.job(name); job != nil {
			s.note("fault: Job removed", 1)
			s.locked(func() { s.records[job.UID].removed = true })
			s.server.removeJob(job.Name)
		}
	case n == 5 && s.chance(4):
		s.someJob(name, func(j *batchv1.Job) {
			if j.DeletionTimestamp == nil {
				s.note("fault: Job being deleted", 1)
				j.DeletionTimestamp, j.Finalizers = new(metav1.Now()), []string{metav1.FinalizerDeleteDependents}
				j.Generation++
			}
		})
	case n == 6 && !s.calm:
		s.note("fault: no pod is created for some time", 1)
		f := s.control.faults
		f.mu.Lock()
		f.outage = time.Now().Add(time.Duration(s.IntN(15)) * time.Second)
		f.mu.Unlock()
	case pod == nil:
	case n < 9 && pod.DeletionTimestamp == nil && !ended(pod):
		s.note("fault: pod evicted", 1)
		s.server.changePod(pod.Name, func(p *corev1.Pod) {
			p.DeletionTimestamp = new(metav1.Now())
			p.DeletionGracePeriodSeconds = new(int64(30))
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
		})
	default:
		code := int32(0)
		if s.chance(2) {
			code = int32(1 + s.IntN(10))
		}
		s.advance(pod, code)
	}
}

// advance advances a pod by one step, like its kubelet.
func (s *sim) advance(pod *corev1.Pod, code int32) {
	s.server.changePod(pod.Name, func(p *corev1.Pod) {
		switch {
		case p.UID != pod.UID:
		case p.DeletionTimestamp != nil && !ended(p):
			endPod(p, 143)
		case p.DeletionTimestamp != nil && p.Annotations[removable] == "":
			if p.Annotations == nil {
				p.Annotations = map[string]string{}
			}
			p.Annotations[removable] = "true"
		case ended(p):
		case p.Status.Phase == corev1.PodPending:
			p.Status.Phase = corev1.PodRunning
			p.Spec.NodeName = "node"
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		default:
			if endPod(p, code); code != 0 {
				s.note("fault: pod failed", 1)
			}
		}
	})
}

// collectGarbage deletes the pods of Jobs that are gone or being deleted, and then
// these Jobs.
func (s *sim) collectGarbage() {
	deleting := map[types.UID]string{} // name
	for i := range 3 {
		if job := s.server.job(fmt.Sprintf("job%d", i)); job != nil && job.DeletionTimestamp != nil {
			deleting[job.UID] = job.Name
		}
	}
	pods := s.server.pods()
	for uid, name := range deleting {
		if !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return controlledBy(p, uid) }) {
			s.locked(func() { s.records[uid].removed = true })
			s.server.removeJob(name)
		}
	}
	for _, pod := range pods {
		ref := metav1.GetControllerOf(pod)
		if ref != nil && pod.DeletionTimestamp == nil && (s.records[ref.UID].removed || deleting[ref.UID] != "") {
			s.server.changePod(pod.Name, func(p *corev1.Pod) {
				p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(30))
			})
		}
	}
}

func (s *sim) someJob(name string, f func(*batchv1.Job)) {
	if job := s.server.job(name); job != nil && !finished(job) {
		s.server.changeJob(job.Name, f)
	}
}

// allow is the quota. It counts active pods and those with finalizers.
func (s *sim) allow(*corev1.Pod) error {
	n := 0
	for _, pod := range s.server.podsLocked() {
		if !ended(pod) || tracked(pod) {
			n++
		}
	}
	if s.quota == 0 || s.calm || n < s.quota {
		return nil
	}
	s.note("fault: quota refused a pod", 1)
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", fmt.Errorf("exceeded quota"))
}
