package main

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/restartkit/restart/internal/spelling"
)

// objectType is a type of objects that can be explained.
type objectType struct {
	kind  schema.GroupVersionKind
	names []string // as people type them; the first is the resource
}

// objectTypes are the types that can be explained.
var objectTypes = []objectType{
	{corev1.SchemeGroupVersion.WithKind("Pod"), []string{"pods", "pod", "po"}},
	{batchv1.SchemeGroupVersion.WithKind("Job"), []string{"jobs", "job"}},
	{batchv1.SchemeGroupVersion.WithKind("CronJob"), []string{"cronjobs", "cronjob", "cj"}},
	{appsv1.SchemeGroupVersion.WithKind("Deployment"), []string{"deployments", "deployment", "deploy"}},
	{appsv1.SchemeGroupVersion.WithKind("StatefulSet"), []string{"statefulsets", "statefulset", "sts"}},
	{appsv1.SchemeGroupVersion.WithKind("DaemonSet"), []string{"daemonsets", "daemonset", "ds"}},
	{appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), []string{"replicasets", "replicaset", "rs"}},
	{corev1.SchemeGroupVersion.WithKind("ReplicationController"), []string{"replicationcontrollers", "replicationcontroller", "rc"}},
}

// typeOf returns the type of a name such as po or deployments.apps, or nil.
func typeOf(name string) *objectType {
	name, group, _ := strings.Cut(strings.ToLower(name), ".")
	for i := range objectTypes {
		t := &objectTypes[i]
		if slices.Contains(t.names, name) && (group == "" || group == t.kind.Group || strings.HasSuffix(group, "."+t.kind.Group)) {
			return t
		}
	}
	return nil
}

// typesText lists the types for messages.
func typesText() string {
	var names []string
	for _, t := range objectTypes {
		names = append(names, t.names[1])
	}
	return strings.Join(names, ", ")
}

// wrongType returns an error for the name of a type that cannot be explained.
func wrongType(name string) error {
	var names []string
	for _, t := range objectTypes {
		names = append(names, t.names...)
	}
	if meant := spelling.Nearest(name, names); meant != "" {
		return usagef("%q is not a type that can be explained: did you mean %s?", name, meant)
	}
	return usagef("%q is not a type that can be explained; there are %s", name, typesText())
}

// canonical returns the types of the arguments or, if they name objects, TYPE/NAME for
// each, with types as the RESTMapper knows them. A name without a type is a pod's.
func canonical(args []string) (all []string, named bool, err error) {
	if len(args) == 0 {
		args = []string{"pods,jobs"}
	}
	if strings.Contains(args[0], "/") {
		for _, arg := range args {
			name, object, found := strings.Cut(arg, "/")
			t := typeOf(name)
			switch {
			case !found:
				return nil, false, usagef("%q has no type, as in pod/%s", arg, arg)
			case t == nil:
				return nil, false, wrongType(name)
			case object == "" || strings.Contains(object, "/"):
				return nil, false, usagef("%q: must be TYPE/NAME", arg)
			}
			all = append(all, t.resource()+"/"+object)
		}
		return all, true, nil
	}
	var resources []string
	names := args[1:]
	for name := range strings.SplitSeq(args[0], ",") {
		switch t := typeOf(name); {
		case t != nil:
			resources = append(resources, t.resource())
		case strings.Contains(args[0], ","):
			return nil, false, wrongType(name)
		default:
			resources, names = []string{"pods"}, args
		}
	}
	for _, name := range names {
		if name == "" || strings.Contains(name, "/") {
			return nil, false, usagef("%q: after a type, or a name without one, names have no type", name)
		}
		for _, r := range resources {
			all = append(all, r+"/"+name)
		}
	}
	if len(names) > 0 {
		return all, true, nil
	}
	return resources, false, nil
}

// resource returns the name of the resource, with its group.
func (t *objectType) resource() string {
	return strings.TrimSuffix(t.names[0]+"."+t.kind.Group, ".")
}

// clientGetter is ConfigFlags with a RESTMapper of objectTypes, which needs no discovery.
type clientGetter struct{ *genericclioptions.ConfigFlags }

// ToRESTMapper returns the mapper.
func (clientGetter) ToRESTMapper() (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, batchv1.SchemeGroupVersion, appsv1.SchemeGroupVersion})
	for _, t := range objectTypes {
		mapper.Add(t.kind, meta.RESTScopeNamespace)
	}
	return mapper, nil
}

// builder returns a reader of the arguments that canonical has returned.
func (p *program) builder(c *cluster, arguments []string, named bool) *resource.Builder {
	b := resource.NewBuilder(clientGetter{p.config}).
		WithScheme(scheme.Scheme, scheme.Scheme.PrioritizedVersionsAllGroups()...).
		NamespaceParam(c.namespace).DefaultNamespace().RequestChunksOf(pageSize).ContinueOnError().Flatten()
	if named {
		return b.ResourceTypeOrNameArgs(true, arguments...)
	}
	return b.AllNamespaces(p.allNamespaces).LabelSelectorParam(p.selector).FieldSelectorParam(p.fieldSelector).
		SelectAllParam(p.selector == "" && p.fieldSelector == "").ResourceTypes(arguments...)
}
