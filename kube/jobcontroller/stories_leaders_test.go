package jobcontroller

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// memoryText returns an annotation as written with a status in which so many pods have
// failed, one after the other.
func memoryText(t *testing.T, job *batchv1.Job, failed int, last time.Time) string {
	t.Helper()
	var m jobpolicy.State
	text := fmt.Sprintf(`{"job":%q,"written":{"failed":%d},"failures":%d,"lastFailure":%q}`, job.UID, failed, failed, last.Format(time.RFC3339Nano))
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.Failures != failed {
		t.Fatalf("%s: %+v, %v", text, m, err)
	}
	return text
}

// The last status of an earlier leader is stored after the next one has read the Job.
// The delay continues from that status.
func TestDelayGoesOnAfterALateWriteOfAnotherLeader(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(time.Hour, 0))
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(20)) }))
		after(2 * time.Hour)
		s.changeJob("a", func(j *batchv1.Job) {
			j.Status.Failed = 4
			j.Annotations = map[string]string{AnnotationMemory: memoryText(t, j, 4, time.Now())}
		})
		endAll(s, 1)
		fifth := time.Now()
		after(159 * time.Second)
		if n, job := s.called("POST pods"), s.job("a"); n != 1 || job.Status.Failed != 5 {
			t.Errorf("%d attempts within 160 s of the fifth failure: %+v", n, job.Status)
		}
		after(time.Until(fifth.Add(165 * time.Second)))
		if n := s.called("POST pods"); n != 2 {
			t.Errorf("%d attempts when the delay is over", n)
		}
	})
}

// addPodOf stores a pod of Job a like another controller.
func addPodOf(s *apiServer, name string) *corev1.Pod {
	job := s.job("a")
	return s.addPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: job.Spec.Template.Labels, Finalizers: []string{batch.JobTrackingFinalizer},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, jobKind)},
	}})
}

// While this controller was paused, another one counted the end of a pod, removed its
// finalizer, and then created or deleted a pod. The informer does not show this yet.
func TestWhatAnotherLeaderDidIsNotDoneAgain(t *testing.T) {
	for _, test := range []struct {
		name            string
		does            func(s *apiServer, running string)
		before          int // failed, as long as the informer shows nothing of it
		failed, created int // in the end
	}{
		{"it has replaced the pod", func(s *apiServer, _ string) { addPodOf(s, "new") }, 1, 1, 2},
		{"it has deleted the other one", func(s *apiServer, running string) {
			s.changePod(running, func(p *corev1.Pod) {
				p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(30))
			})
		}, 1, 2, 4},
		{"it has let the other one go, whose labels were changed", func(s *apiServer, running string) {
			s.changePod(running, func(p *corev1.Pod) { p.Labels, p.Finalizers, p.OwnerReferences = nil, nil, nil })
			s.addPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "of-nobody"}}) // the list is later than the pod that was let go
		}, 1, 1, 4},
		{"it has named a pod that is not shown yet", func(s *apiServer, _ string) {
			pod := addPodOf(s, "new")
			s.end("new", 1)
			s.changeJob("a", func(j *batchv1.Job) {
				j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{pod.UID}}
				j.Annotations[AnnotationMemory] = memoryText(t, j, 2, time.Now())
			})
		}, 1, 2, 3},
		{"it has counted a pod that is gone before it is shown", func(s *apiServer, _ string) {
			addPodOf(s, "new")
			s.end("new", 1)
			s.changeJob("a", func(j *batchv1.Job) {
				j.Status.Failed = 2
				j.Annotations[AnnotationMemory] = memoryText(t, j, 2, time.Now())
			})
			after(8 * time.Second) // as long the informer will show it so
			s.changePod("new", func(p *corev1.Pod) { p.Finalizers, p.Annotations = nil, map[string]string{removable: "yes"} })
		}, 2, 2, 3},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			start(t, s, Options{}, lagging(time.Hour, 20*time.Second))
			after(30 * time.Second)
			s.createJob(newJob("a", func(j *batchv1.Job) {
				j.Spec.Parallelism, j.Spec.Completions = new(int32(2)), new(int32(5))
				j.Annotations = map[string]string{AnnotationBaseDelay: "25s"} // it creates no pod before it writes the Job
			}))
			after(2 * time.Hour)
			pods := s.pods()
			if len(pods) != 2 {
				t.Fatalf("%d pods", len(pods))
			}
			ended := time.Now()
			s.end(pods[0].Name, 1)
			after(9 * time.Second)
			s.changeJob("a", func(j *batchv1.Job) {
				j.Status.Failed = 1
				j.Annotations[AnnotationMemory] = memoryText(t, j, 1, ended)
			})
			s.changePod(pods[0].Name, func(p *corev1.Pod) { p.Finalizers = nil })
			test.does(s, pods[1].Name)
			after(time.Until(ended.Add(28 * time.Second))) // it sees the end, and the rest it does not; the delay is over
			if job := s.job("a"); int(job.Status.Failed) != test.before || s.called("POST pods") != 2 || s.called("LIST pods") != 1 {
				t.Errorf("%s: %+v, %d creations, %d lists of pods", test.name, job.Status, s.called("POST pods"), s.called("LIST pods"))
			}
			after(3 * time.Minute)
			if job := s.job("a"); int(job.Status.Failed) != test.failed || job.Status.Active != 2 || s.called("POST pods") != test.created || s.called("DELETE pods") != 0 {
				t.Errorf("%s: when all is seen: %+v, %d creations, %d deletions", test.name, job.Status, s.called("POST pods"), s.called("DELETE pods"))
			}
			endAll(s, 0)
			after(time.Minute)
			if job := s.job("a"); job.Status.Succeeded != 2 || s.called("LIST pods") != 1 {
				t.Errorf("%s: after two more: %+v, %d lists of pods", test.name, job.Status, s.called("LIST pods"))
			}
		})
	}
}

// The last requests of the previous leader are carried out while the informers of this
// one start, so it sees the latest Job and older pods. The same holds if the memory is
// broken, and without room for a memory.
func TestLeaderThatStartsCountsNoEndThatTheOneBeforeHasCounted(t *testing.T) {
	for _, memory := range []string{"fine", "broken", "none"} {
		bubble(t, func(t *testing.T, s *apiServer) {
			before := start(t, s, Options{}, nil)
			s.createJob(newJob("a", nil))
			after(2 * time.Second)
			pod, ended := s.pods()[0].Name, time.Now()
			s.end(pod, 1)
			before.stop()
			start(t, s, Options{}, lagging(0, 20*time.Second))
			after(5 * time.Second)
			s.changeJob("a", func(j *batchv1.Job) {
				j.Status.Failed, j.Status.Active = 1, 0
				switch memory {
				case "fine":
					j.Annotations[AnnotationMemory] = memoryText(t, j, 1, ended)
				case "broken":
					j.Annotations[AnnotationMemory] = "{"
				case "none":
					delete(j.Annotations, AnnotationMemory)
					leaveRoom(j, 0)
				}
			})
			s.changePod(pod, func(p *corev1.Pod) { p.Finalizers = nil })
			after(time.Minute)
			if job := s.job("a"); job.Status.Failed != 1 || job.Status.Active != 1 || s.called("LIST pods") != 1 {
				t.Errorf("memory %s: %+v, %d lists of pods", memory, job.Status, s.called("LIST pods"))
			}
			endAll(s, 0)
			after(time.Minute)
			if job := s.job("a"); job.Status.Failed != 1 || job.Status.Succeeded != 1 || s.called("LIST pods") != 1 {
				t.Errorf("memory %s: in the end: %+v, %d lists of pods", memory, job.Status, s.called("LIST pods"))
			}
		})
	}
}

// A leader that starts without late requests lists the pods of no Job.
func TestLeaderThatStartsListsNothingThatItsInformersShow(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		before := start(t, s, Options{}, nil)
		for _, name := range []string{"a", "b", "c"} {
			s.createJob(newJob(name, nil))
		}
		after(2 * time.Second)
		endAll(s, 1)
		after(30 * time.Second)
		before.stop()
		start(t, s, Options{}, nil)
		after(time.Minute)
		endAll(s, 0)
		after(time.Minute)
		if n := s.called("LIST pods"); n != 0 || !finished(s.job("a")) || s.job("a").Annotations[AnnotationMemory] == "" {
			t.Errorf("%d lists of pods, %+v", n, s.job("a").Status)
		}
	})
}

// While this controller was paused, a user requested more pods, and another controller
// created them and wrote the status. Both controllers have the same memory.
func TestStatusOfAnotherLeaderIsNoticedWithoutItsMemory(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		start(t, s, Options{}, lagging(0, 20*time.Second))
		after(30 * time.Second)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Completions = new(int32(5)) }))
		after(time.Minute)
		s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"by": "a user"} })
		after(time.Minute)
		if n := s.called("LIST pods"); n != 0 {
			t.Errorf("%d lists of pods after a user has changed the Job", n)
		}
		addPodOf(s, "new-1")
		addPodOf(s, "new-2")
		s.changeJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Status.Active = new(int32(3)), 3 })
		after(15 * time.Second)
		if created, listed := s.called("POST pods"), s.called("LIST pods"); created != 1 || listed != 1 {
			t.Errorf("%d creations, %d lists of pods", created, listed)
		}
		after(time.Minute)
		if job := s.job("a"); job.Status.Active != 3 || s.called("POST pods") != 1 || s.called("DELETE pods") != 0 || s.called("LIST pods") != 1 {
			t.Errorf("when all is seen: %+v, %d creations, %d deletions, %d lists of pods", job.Status, s.called("POST pods"), s.called("DELETE pods"), s.called("LIST pods"))
		}
	})
}

// If another client replaces the Job by a manifest or breaks the annotation, the
// controller keeps its memory and writes it again.
func TestMemoryThatIsTakenAwayIsWrittenAgain(t *testing.T) {
	for _, text := range []string{"", "{", `{"job":"another","failures":9}`} {
		bubble(t, func(t *testing.T, s *apiServer) {
			start(t, s, Options{}, nil)
			s.createJob(newJob("a", nil))
			for _, delay := range []time.Duration{10, 20} {
				after(2 * time.Second)
				endAll(s, 1)
				after(delay*time.Second + 2*time.Second)
			}
			s.changeJob("a", func(j *batchv1.Job) { j.Annotations = map[string]string{AnnotationMemory: text} })
			after(5 * time.Second)
			if m, _, _ := decodeState(s.job("a").Annotations[AnnotationMemory], s.job("a").UID); m.Failures != 2 {
				t.Errorf("%q became %+v", text, m)
			}
			endAll(s, 1)
			after(39 * time.Second)
			if n := s.called("POST pods"); n != 3 {
				t.Errorf("%q: %d attempts before the third delay is over", text, n)
			}
			after(5 * time.Second)
			if n := s.called("POST pods"); n != 4 {
				t.Errorf("%q: %d attempts after the third delay", text, n)
			}
		})
	}
}
