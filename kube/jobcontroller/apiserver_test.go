package jobcontroller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// apiServer simulates an API server with Jobs, pods and Events, including resource
// versions, conflicts, preconditions and watches. It can refuse a client's requests,
// lose answers and delay watches. It is safe for concurrent use.
type apiServer struct {
	mu      sync.Mutex
	version int
	objects map[string]map[string]object // by resource, by namespace/name
	history []change
	changed *sync.Cond // the history has grown, or a watch is to end
	events  []corev1.Event
	calls   map[string]int
	unknown map[string]map[string]any // what Jobs have that client-go does not know, by namespace/name
	bodies  map[string]map[string]any // pods as they were sent, by name
	sent    time.Time                 // when the request that is being carried out was sent
	minor   string                    // of its version; "" if it does not tell

	allow     func(pod *corev1.Pod) error              // refuses creations; nil: none
	onJob     func(job *batchv1.Job)                   // a Job is created
	onStatus  func(old, job *batchv1.Job)              // a status is written
	onUntrack func(old *corev1.Pod)                    // a pod loses the tracking finalizer
	onCreate  func(pod *corev1.Pod, all []*corev1.Pod) // a pod is created beside the others
	onDelete  func(pod *corev1.Pod)                    // a client deletes a pod
}

type object interface {
	runtime.Object
	metav1.Object
}

// change is an event of a watch.
type change struct {
	resource, kind string
	version        int
	at             time.Time
	object         object
}

func newAPIServer() *apiServer {
	s := &apiServer{version: 100, objects: map[string]map[string]object{"jobs": {}, "pods": {}}, calls: map[string]int{}, unknown: map[string]map[string]any{}, bodies: map[string]map[string]any{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *apiServer) serve(r *http.Request) (any, error) {
	q := parse(r.URL.Path)
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[callOf(r)]++
	s.sent = time.Now()
	if at, late := r.Context().Value(sentKey{}).(time.Time); late {
		s.sent = at
	}
	key := keyOf(q.namespace, q.name)
	there := s.objects[q.resource][key]
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: q.resource}, q.name)
	switch {
	case q.resource == "events":
		var e corev1.Event
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		s.events = append(s.events, e)
		return &e, nil
	case r.URL.Path == "/version" && s.minor != "":
		return map[string]string{"major": "1", "minor": s.minor}, nil
	case r.Method == http.MethodGet && q.name == "":
		return s.list(q), nil
	case r.Method == http.MethodPost && q.resource == "pods":
		return s.createPod(q.namespace, body)
	case there == nil:
		return nil, notFound
	case r.Method == http.MethodGet:
		return s.stored(there), nil
	case r.Method == http.MethodPatch && q.resource == "jobs" && q.subresource == "status":
		return s.patchStatus(there.(*batchv1.Job), body)
	case r.Method == http.MethodPatch && q.resource == "pods":
		return s.patchPod(there.(*corev1.Pod), body)
	case r.Method == http.MethodDelete && q.resource == "pods":
		return s.deletePod(there.(*corev1.Pod), body)
	}
	return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: q.resource}, r.Method)
}

func (s *apiServer) list(q request) any {
	kind, version := "PodList", "v1"
	if q.resource == "jobs" {
		kind, version = "JobList", "batch/v1"
	}
	list := map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}}
	items := []any{}
	for _, key := range slices.Sorted(maps.Keys(s.objects[q.resource])) {
		if o := s.objects[q.resource][key]; q.namespace == "" || o.GetNamespace() == q.namespace {
			items = append(items, s.stored(o))
		}
	}
	list["items"] = items
	return list
}

// put stores a new version of an object, or removes it if removed is set.
func (s *apiServer) put(resource, kind string, o object) {
	if errs := validation.ValidateAnnotations(o.GetAnnotations(), field.NewPath("metadata", "annotations")); len(errs) > 0 {
		panic(errs.ToAggregate()) // what a client sends is checked before
	}
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	key := keyOf(o.GetNamespace(), o.GetName())
	if kind == "DELETED" {
		delete(s.objects[resource], key)
	} else {
		s.objects[resource][key] = o
	}
	s.history = append(s.history, change{resource, kind, s.version, time.Now(), o})
	s.changed.Broadcast()
}

func (s *apiServer) createPod(namespace string, body []byte) (any, error) {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(body, pod); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	pod.Namespace = namespace
	s.bodies[pod.Name] = fieldsOf(json.RawMessage(body))
	if s.allow != nil { // as admission, before the name is looked at
		if err := s.allow(pod); err != nil {
			return nil, err
		}
	}
	if s.objects["pods"][keyOf(namespace, pod.Name)] != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, pod.Name)
	}
	if s.onCreate != nil {
		s.onCreate(pod, s.podsLocked())
	}
	pod.UID = types.UID(fmt.Sprintf("pod-%06d", s.version))
	pod.CreationTimestamp = metav1.Now()
	pod.Status.Phase = corev1.PodPending
	s.put("pods", "ADDED", pod)
	return pod, nil
}

func (s *apiServer) podsLocked() (pods []*corev1.Pod) {
	for _, key := range slices.Sorted(maps.Keys(s.objects["pods"])) {
		pods = append(pods, s.objects["pods"][key].(*corev1.Pod))
	}
	return pods
}

func (s *apiServer) patchStatus(old *batchv1.Job, body []byte) (any, error) {
	before, _ := json.Marshal(s.stored(old))
	after, err := strategicpatch.StrategicMergePatch(before, body, batchv1.Job{})
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	job := &batchv1.Job{}
	if err := json.Unmarshal(after, job); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if job.UID != old.UID || job.ResourceVersion != old.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "jobs"}, job.Name, errors.New("it was changed"))
	}
	if errs := validation.ValidateAnnotations(job.Annotations, field.NewPath("metadata", "annotations")); len(errs) > 0 {
		return nil, apierrors.NewInvalid(jobKind.GroupKind(), job.Name, errs)
	}
	job.Spec, job.Generation, job.DeletionTimestamp = old.Spec, old.Generation, old.DeletionTimestamp
	if s.onStatus != nil {
		s.onStatus(old, job)
	}
	s.unknown[keyOf(job.Namespace, job.Name)] = without(fieldsOf(json.RawMessage(after)), fieldsOf(job))
	s.put("jobs", "MODIFIED", job)
	return s.stored(job), nil
}

func (s *apiServer) patchPod(old *corev1.Pod, body []byte) (any, error) {
	before, _ := json.Marshal(old)
	after, err := strategicpatch.StrategicMergePatch(before, body, corev1.Pod{})
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(after, pod); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if pod.UID != old.UID {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, pod.Name, nil)
	}
	if s.onUntrack != nil && tracked(old) && !tracked(pod) {
		s.onUntrack(old)
	}
	s.update(pod)
	return pod, nil
}

// removable marks a pod released by its kubelet, which disappears without finalizers.
const removable = "removable"

// update stores a pod, or removes it once nothing holds it.
func (s *apiServer) update(pod *corev1.Pod) {
	if pod.Annotations[removable] != "" && len(pod.Finalizers) == 0 {
		s.put("pods", "DELETED", pod)
		return
	}
	s.put("pods", "MODIFIED", pod)
}

func (s *apiServer) deletePod(old *corev1.Pod, body []byte) (any, error) {
	var options metav1.DeleteOptions
	if len(body) > 0 {
		if err := json.Unmarshal(body, &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != old.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, old.Name, errors.New("it has another UID"))
	}
	if s.onDelete != nil {
		s.onDelete(old)
	}
	if old.DeletionTimestamp != nil {
		return old, nil
	}
	pod := old.DeepCopy()
	now, grace := metav1.Now(), int64(30)
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &grace
	s.update(pod)
	return pod, nil
}

// createJob stores a Job and returns it.
func (s *apiServer) createJob(job *batchv1.Job) *batchv1.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	job = job.DeepCopy()
	if job.Namespace == "" {
		job.Namespace = "ns"
	}
	job.UID = types.UID(fmt.Sprintf("job-%06d", s.version))
	job.CreationTimestamp = metav1.Now()
	job.Generation = 1
	if job.Spec.Selector == nil {
		labels := map[string]string{batchv1.ControllerUidLabel: string(job.UID), batchv1.JobNameLabel: job.Name}
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: string(job.UID)}}
		job.Spec.Template.Labels = labels
	}
	if job.Spec.ManagedBy == nil {
		by := DefaultManagedBy
		job.Spec.ManagedBy = &by
	}
	if s.onJob != nil {
		s.onJob(job)
	}
	s.put("jobs", "ADDED", job)
	return job
}

// changeJob changes a Job like a user.
func (s *apiServer) changeJob(name string, f func(*batchv1.Job)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.objects["jobs"][keyOf("ns", name)].(*batchv1.Job).DeepCopy()
	spec, _ := json.Marshal(job.Spec)
	f(job)
	if now, _ := json.Marshal(job.Spec); !bytes.Equal(spec, now) {
		job.Generation++
	}
	s.put("jobs", "MODIFIED", job)
}

// removeJob removes a Job without its pods, like the garbage collector.
func (s *apiServer) removeJob(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put("jobs", "DELETED", s.objects["jobs"][keyOf("ns", name)].(*batchv1.Job).DeepCopy())
}

func (s *apiServer) job(name string) *batchv1.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	job, _ := s.objects["jobs"][keyOf("ns", name)].(*batchv1.Job)
	return job
}

func (s *apiServer) pods() []*corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.podsLocked()
}

// addPod stores a pod like another client.
func (s *apiServer) addPod(pod *corev1.Pod) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	pod = pod.DeepCopy()
	pod.Namespace = "ns"
	pod.UID = types.UID(fmt.Sprintf("pod-%06d", s.version))
	pod.CreationTimestamp = metav1.Now()
	if pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
	s.put("pods", "ADDED", pod)
	return pod
}

// changePod changes a pod like a kubelet, if the pod exists.
func (s *apiServer) changePod(name string, f func(*corev1.Pod)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, _ := s.objects["pods"][keyOf("ns", name)].(*corev1.Pod)
	if old == nil {
		return
	}
	pod := old.DeepCopy()
	f(pod)
	s.update(pod)
}

// end ends a pod with an exit code.
func (s *apiServer) end(name string, code int32) {
	s.changePod(name, func(pod *corev1.Pod) { endPod(pod, code) })
}

func endPod(pod *corev1.Pod, code int32) {
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Now()},
	}}}
}

// called returns the number of calls with this name.
func (s *apiServer) called(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

// eventReasons returns the number of written Events by reason.
func (s *apiServer) eventReasons() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, e := range s.events {
		n[e.Reason]++
	}
	return n
}
