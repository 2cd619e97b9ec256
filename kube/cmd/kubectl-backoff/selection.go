package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
)

// selection holds the objects to explain, and the facts beside them.
type selection struct {
	targets []metav1.Object // pods, Jobs and workloads, in the order in which to print them
	named   bool            // the user has named them
	missing []error         // about named objects that do not exist
	objects explain.Objects
}

// next returns what waits among the targets.
func (s *selection) next(o explain.Options) []explain.Waiting {
	var pods []*corev1.Pod
	var jobs []*batchv1.Job
	for _, t := range s.targets {
		switch t := t.(type) {
		case *corev1.Pod:
			pods = append(pods, t)
		case *batchv1.Job:
			jobs = append(jobs, t)
		}
	}
	return explain.New(s.objects, o).NextOf(pods, jobs)
}

// fromCluster reads the objects that the arguments name, and those that explain them.
func (p *program) fromCluster(ctx context.Context, c *cluster, args []string) (*selection, error) {
	if len(args) == 0 && p.fieldSelector != "" {
		args = []string{"pods"} // Jobs do not have the fields of pods
	}
	arguments, named, err := canonical(args)
	switch {
	case err != nil:
		return nil, err
	case named && (p.selector != "" || p.fieldSelector != ""):
		return nil, usagef("names and selectors exclude each other")
	case named && p.allNamespaces:
		return nil, usagef("names and -A exclude each other")
	}
	s := &selection{named: named}
	err = p.builder(c, arguments, named).Do().Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		if object, ok := info.Object.(metav1.Object); ok {
			s.targets = append(s.targets, object)
		}
		return nil
	})
	if err := p.sortErrors(c, s, err); err != nil {
		return nil, err
	}
	return s, p.addRelated(ctx, c, s)
}

// sortErrors keeps the errors about missing objects and warns of missing rights, as long
// as something is left. It returns any other error.
func (p *program) sortErrors(c *cluster, s *selection, err error) error {
	if err == nil {
		return nil
	}
	all := []error{err}
	if aggregate, ok := err.(interface{ Errors() []error }); ok {
		all = aggregate.Errors()
	}
	var forbidden error
	for _, one := range all {
		if apierrors.IsNotFound(one) {
			s.missing = append(s.missing, fmt.Errorf("%s%s", oneLine(one), in(c.namespace)))
			continue
		}
		one = c.explainError("the objects", one)
		if !isForbidden(one) {
			return one
		}
		if forbidden != nil {
			p.warn("%v", forbidden)
		}
		forbidden = one
	}
	if forbidden != nil && len(s.targets) == 0 && len(s.missing) == 0 {
		return forbidden
	}
	if forbidden != nil {
		p.warn("%v", forbidden)
	}
	return nil
}

// addRelated reads the pods of Jobs and workloads, the Jobs of pods, the Events, and the nodes
// that do not report.
func (p *program) addRelated(ctx context.Context, c *cluster, s *selection) error {
	byNamespace := make(map[string][]metav1.Object)
	for _, t := range s.targets {
		byNamespace[t.GetNamespace()] = append(byNamespace[t.GetNamespace()], t)
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		if p.allNamespaces {
			namespace = metav1.NamespaceAll
		}
		if err := p.addPods(ctx, c, s, namespace); err != nil {
			return err
		}
		if err := p.addJobs(ctx, c, s, namespace); err != nil {
			return err
		}
		if err := p.addEvents(ctx, c, s, namespace); err != nil {
			return err
		}
		if p.allNamespaces {
			break
		}
	}
	return p.addNodes(ctx, c, &s.objects)
}

// addPods adds the pods among the targets in a namespace, and those of other targets.
func (p *program) addPods(ctx context.Context, c *cluster, s *selection, namespace string) error {
	there := make(map[types.UID]bool)
	var owners []metav1.Object
	for _, t := range s.targets {
		if namespace != metav1.NamespaceAll && t.GetNamespace() != namespace {
			continue
		}
		switch t := t.(type) {
		case *corev1.Pod:
			s.objects.Pods = append(s.objects.Pods, t)
			there[t.UID] = true
			continue
		case *batchv1.Job:
			s.objects.Jobs = append(s.objects.Jobs, t)
		}
		owners = append(owners, t)
	}
	if len(owners) == 0 {
		return nil
	}
	options := metav1.ListOptions{}
	if len(owners) == 1 {
		if selector := podSelector(owners[0]); selector != nil {
			options.LabelSelector = selector.String()
		}
	}
	pods, err := c.pods(ctx, namespace, options)
	if isForbidden(err) {
		p.warn("%v; explained without their pods", err)
		s.objects.Partial = "not readable"
		return nil
	}
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if !there[pod.UID] {
			s.objects.Pods = append(s.objects.Pods, pod)
		}
	}
	return nil
}

// addJobs adds the Jobs of the CronJobs among the targets in a namespace, and those of the
// pods, whose deadlines end these too. Without
// the right to list Jobs, their deadlines are left out without a warning.
func (p *program) addJobs(ctx context.Context, c *cluster, s *selection, namespace string) error {
	known := make(map[types.UID]bool)
	for _, job := range s.objects.Jobs {
		known[job.UID] = true
	}
	wanted := make(map[string]bool) // FieldSelectors
	for _, t := range s.targets {
		if namespace != metav1.NamespaceAll && t.GetNamespace() != namespace {
			continue
		}
		owner := metav1.GetControllerOf(t)
		switch t.(type) {
		case *batchv1.CronJob:
			wanted[""] = true
		case *corev1.Pod:
			if owner != nil && owner.Kind == "Job" && !known[owner.UID] {
				wanted["metadata.name="+owner.Name] = true
			}
		}
	}
	options := metav1.ListOptions{} // all Jobs, unless one is enough
	switch len(wanted) {
	case 0:
		return nil
	case 1:
		options.FieldSelector = slices.Collect(maps.Keys(wanted))[0]
	}
	jobs, err := c.jobs(ctx, namespace, options)
	if err != nil && !isForbidden(err) {
		return err
	}
	for _, job := range jobs {
		if !known[job.UID] {
			s.objects.Jobs = append(s.objects.Jobs, job)
		}
	}
	return nil
}

// addEvents adds the Events of a namespace that may explain something. A list of all
// would be long, and most of them are Normal.
func (p *program) addEvents(ctx context.Context, c *cluster, s *selection, namespace string) error {
	selectors := warningEvents
	if len(s.targets) == 1 {
		if pod, ok := s.targets[0].(*corev1.Pod); ok {
			selectors = []string{"involvedObject.kind=Pod,involvedObject.name=" + pod.Name}
		}
	}
	events, err := c.selectedEvents(ctx, namespace, selectors)
	if isForbidden(err) {
		p.warn("%v; explained without them", err)
		s.objects.EventsHidden, err = true, nil
	}
	s.objects.Events = append(s.objects.Events, events...)
	return err
}

// warningEvents select the Events of a namespace that may explain something.
var warningEvents = []string{"type=" + corev1.EventTypeWarning, "reason=Killing"}

// selectedEvents reads the Events that any of the selectors selects, up to an error.
func (c *cluster) selectedEvents(ctx context.Context, namespace string, selectors []string) (all []*corev1.Event, err error) {
	for _, selector := range selectors {
		events, err := c.events(ctx, namespace, selector)
		if err != nil {
			return all, err
		}
		all = append(all, events...)
	}
	return all, nil
}

// mostNodes is the number of nodes read for the pods that do not explain
// themselves.
const mostNodes = 20

// addNodes adds the nodes of pods that look as if their node did not report. Who may not
// read nodes is told less.
func (p *program) addNodes(ctx context.Context, c *cluster, o *explain.Objects) error {
	asked := make(map[string]bool)
	for _, pod := range o.Pods {
		name := explain.NodeOf(pod, p.options().Now)
		if name == "" || asked[name] || len(asked) == mostNodes {
			continue
		}
		asked[name] = true
		node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		switch err := c.explainError("node "+name, err); {
		case err == nil:
			o.Nodes = append(o.Nodes, node)
		case isForbidden(err):
			return nil
		default:
			if exit, ok := err.(*exitError); !ok || exit.code != exitFailed {
				return err
			}
			o.GoneNodes = append(o.GoneNodes, name)
		}
	}
	return nil
}

// podSelector returns the selector of the pods of an object, or nil if it has none.
func podSelector(object metav1.Object) labels.Selector {
	var selector *metav1.LabelSelector
	switch o := object.(type) {
	case *batchv1.Job:
		selector = o.Spec.Selector
		if selector == nil {
			selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: string(o.UID)}}
		}
	case *appsv1.Deployment:
		selector = o.Spec.Selector
	case *appsv1.StatefulSet:
		selector = o.Spec.Selector
	case *appsv1.DaemonSet:
		selector = o.Spec.Selector
	case *appsv1.ReplicaSet:
		selector = o.Spec.Selector
	case *corev1.ReplicationController:
		selector = &metav1.LabelSelector{MatchLabels: o.Spec.Selector}
	}
	if selector == nil {
		return nil
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || s.Empty() {
		return nil
	}
	return s
}

// ownerOf returns a workload as package explain sees it, or false for a pod or Job.
func ownerOf(object metav1.Object) (explain.Owner, bool) {
	o := explain.Owner{Namespace: object.GetNamespace(), Name: object.GetName(), Wanted: -1}
	wanted := func(n *int32) int32 {
		if n == nil {
			return 1
		}
		return *n
	}
	switch x := object.(type) {
	case *appsv1.Deployment:
		o.Kind, o.Wanted = "Deployment", wanted(x.Spec.Replicas)
		for _, c := range x.Status.Conditions {
			o.AddCondition(explain.Condition{Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time})
		}
	case *appsv1.StatefulSet:
		o.Kind, o.Wanted = "StatefulSet", wanted(x.Spec.Replicas)
	case *appsv1.DaemonSet:
		o.Kind, o.Wanted = "DaemonSet", x.Status.DesiredNumberScheduled
	case *appsv1.ReplicaSet:
		o.Kind, o.Wanted = "ReplicaSet", wanted(x.Spec.Replicas)
		for _, c := range x.Status.Conditions {
			o.AddCondition(explain.Condition{Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time})
		}
	case *corev1.ReplicationController:
		o.Kind, o.Wanted = "ReplicationController", wanted(x.Spec.Replicas)
	case *batchv1.CronJob:
		o.Kind, o.Suspended = "CronJob", x.Spec.Suspend != nil && *x.Spec.Suspend
	default:
		return o, false
	}
	return o, true
}

// belongs reports whether a pod belongs to a workload.
func belongs(pod *corev1.Pod, object metav1.Object) bool {
	if pod.Namespace != object.GetNamespace() {
		return false
	}
	owner := metav1.GetControllerOf(pod)
	if owner != nil && owner.UID == object.GetUID() {
		return true
	}
	if _, isDeployment := object.(*appsv1.Deployment); !isDeployment && owner != nil {
		return false
	}
	// A ReplicaSet is between a Deployment and its pods.
	selector := podSelector(object)
	return selector != nil && selector.Matches(labels.Set(pod.Labels)) && (owner == nil || owner.Kind == "ReplicaSet")
}

// sortTargets puts the targets of a list in order.
func sortTargets(targets []metav1.Object) {
	rank := func(o metav1.Object) int {
		switch o.(type) {
		case *corev1.Pod:
			return 2
		case *batchv1.Job:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(targets, func(a, b metav1.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
}
