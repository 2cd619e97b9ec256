package main

import (
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/conformance/explore/jobworld"
	"github.com/restartkit/restart/conformance/syncjob"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// controller is Kubernetes' Job controller as a jobworld.Controller. A pass begins only
// when the watches have shown the answered writes of earlier passes, as with the feature
// gate StaleControllerConsistencyJob, which is on by default.
type controller struct {
	sync *syncjob.Controller // nil before the first pass
	spec *batchv1.JobSpec
	pods map[*batch.Pod]*corev1.Pod
}

const (
	namespace, name = "ns", "job"
	key             = namespace + "/" + name
)

func newController() jobworld.Controller {
	return &controller{pods: make(map[*batch.Pod]*corev1.Pod)}
}

// The facts about a pod.
const (
	known     = 1 << iota // in the informer's cache
	deleting              // there
	ended                 // there
	untracked             // there
	created               // by a request that was carried out, not known yet
	patched               // or created, by an answered request that is not shown yet
	untracks              // in the controller's set of finalizers to go
)

// The other facts, by their place in Memory.Global.
const (
	creations = iota // expected ones
	deletions
	failures    // in a row
	failuresAge // units
	written     // the status, by a request known to be carried out that is not shown yet
	finished    // the end is written
)

// Shown does the work of the informer's handlers addPod, updatePod and deletePod. A watch
// shows every change of a pod, so a pod is created before it is deleted.
func (c *controller) Shown(m jobworld.Memory, v jobworld.View, late int) jobworld.Memory {
	var there [jobworld.Most]*batch.Pod
	for _, p := range v.Pods {
		there[jobworld.Slot(p.UID)] = p
	}
	for i := range m.Pods {
		facts, p := &m.Pods[i], there[i]
		if i == late {
			continue
		}
		was := *facts
		*facts &^= known | deleting | ended | untracked | created | patched
		if p != nil {
			*facts |= look(p)
		}
		if was&known == 0 && (p != nil || was&created != 0) {
			observe(&m, creations) // even if the pod is deleted or gone by now
			was |= known
		}
		const watched = known | deleting | ended | untracked
		if was&watched != *facts&watched && *facts&(known|deleting) != known {
			observe(&m, deletions)
		}
		if *facts&known == 0 || *facts&untracked != 0 {
			*facts &^= untracks
		}
	}
	return m
}

// look returns the facts of a pod in the cache.
func look(p *batch.Pod) (facts uint16) {
	facts = known
	if !p.DeletionTimestamp.IsZero() {
		facts |= deleting
	}
	if p.Status.Phase == batch.PodSucceeded || p.Status.Phase == batch.PodFailed {
		facts |= ended
	}
	if !p.Tracked() {
		facts |= untracked
	}
	return facts
}

// observe lowers an expectation. There is none below 0, since passes ignore it.
func observe(m *jobworld.Memory, expectation int) {
	m.Global[expectation] -= min(m.Global[expectation], 1)
}

// JobShown lets passes begin again after a write of the status.
func (*controller) JobShown(m jobworld.Memory) jobworld.Memory {
	m.Global[written] = 0
	return m
}

// Waited makes the last failure older.
func (*controller) Waited(m jobworld.Memory, units int) jobworld.Memory {
	if m.Global[failures] > 0 {
		m.Global[failuresAge] = byte(min(int(m.Global[failuresAge])+units, int(longest/jobworld.Unit)))
	}
	return m
}

// Restarted forgets everything.
func (*controller) Restarted(jobworld.Memory, bool) jobworld.Memory { return jobworld.Memory{} }

// Pass runs syncJob.
func (c *controller) Pass(m jobworld.Memory, v jobworld.View, answers []jobworld.Answer) jobworld.Pass {
	if m.Global[written] != 0 || has(&m, patched) {
		return jobworld.Pass{Memory: m}
	}
	if c.sync == nil { // all views are of one time
		var err error
		c.sync, err = syncjob.New(v.Now)
		must(err)
	}
	c.load(&m, &v)
	s := newScript(c.sync, &v, answers)
	c.sync.Answer(s, s.write)
	field := c.sync.Expectations()
	own := *field
	*field = expectations{own, s}
	err := c.sync.Sync(key)
	*field = own
	if s.next != nil {
		return jobworld.Pass{Request: s.next, Memory: m}
	}
	p := jobworld.Pass{Memory: c.store(m, &v, s)}
	if err == nil {
		for _, d := range c.sync.After {
			if p.Requeue == 0 || d < p.Requeue {
				p.Requeue = d
			}
		}
	}
	return p
}

func has(m *jobworld.Memory, fact uint16) bool {
	for _, facts := range m.Pods {
		if facts&fact != 0 {
			return true
		}
	}
	return false
}

// load makes the view and the memory those of the controller.
func (c *controller) load(m *jobworld.Memory, v *jobworld.View) {
	must(c.sync.Jobs.Replace([]any{c.jobOf(v.Job)}, ""))
	pods := make([]any, len(v.Pods))
	for i, p := range v.Pods {
		pods[i] = c.podOf(p)
	}
	must(c.sync.Pods.Replace(pods, ""))
	must(c.sync.SetExpectations(key, int(m.Global[creations]), int(m.Global[deletions])))
	last := v.Now.Add(-time.Duration(m.Global[failuresAge]) * jobworld.Unit)
	must(c.sync.SetStreak(key, int32(m.Global[failures]), &last))
	var gone []types.UID
	for i, facts := range m.Pods {
		if facts&untracks != 0 {
			gone = append(gone, types.UID(jobworld.UID(i)))
		}
	}
	must(c.sync.SetUntracked(key, gone))
	c.sync.SetFinished(types.UID(v.Job.UID), m.Global[finished] != 0)
}

// store returns the memory after a pass.
func (c *controller) store(m jobworld.Memory, v *jobworld.View, s *script) jobworld.Memory {
	expected, _, err := (*c.sync.Expectations()).GetExpectations(key)
	must(err)
	adds, dels := expected.GetExpectations()
	m.Global = [8]byte{creations: byte(max(adds, 0)), deletions: byte(max(dels, 0))}
	if n, last := c.sync.Streak(key); n > 0 {
		m.Global[failures] = byte(n)
		m.Global[failuresAge] = byte(min(v.Now.Sub(*last), longest) / jobworld.Unit)
	}
	if c.sync.Wrote {
		m.Global[written] = 1
	}
	if c.sync.Finished(types.UID(v.Job.UID)) {
		m.Global[finished] = 1
	}
	gone := c.sync.Untracked(key)
	for i := range m.Pods {
		if m.Pods[i] &^= untracks; gone.Has(types.UID(jobworld.UID(i))) {
			m.Pods[i] |= untracks
		}
		m.Pods[i] |= s.facts[i]
	}
	return m
}

// jobOf returns the Job in Kubernetes' type.
func (c *controller) jobOf(j *batch.Job) *batchv1.Job {
	if c.spec == nil {
		c.spec = into[batchv1.JobSpec](&j.Spec)
		labels := map[string]string{"job": name}
		c.spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		c.spec.Template.Labels = labels
	}
	v1 := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(j.UID)}, Spec: *c.spec}
	v1.Spec.Suspend = &j.Spec.Suspend
	convert.SetJobStatus(&v1.Status, &j.Status)
	return v1
}

// podOf returns a pod in Kubernetes' type.
func (c *controller) podOf(p *batch.Pod) *corev1.Pod {
	v1 := c.pods[p]
	if v1 == nil {
		v1 = into[corev1.Pod](p)
		if v1.Labels == nil {
			v1.Labels = make(map[string]string)
		}
		v1.Labels["job"] = name
		owner := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, UID: name}}
		v1.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))}
		c.pods[p] = v1
	}
	return v1
}

// into converts a value by its JSON.
func into[T any](from any) *T {
	text, err := json.Marshal(from)
	must(err)
	to := new(T)
	must(json.Unmarshal(text, to))
	return to
}

// must ends the program if an operation fails that cannot fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
