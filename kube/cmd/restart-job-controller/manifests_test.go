package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/restartkit/restart/kube/convert"
	"github.com/restartkit/restart/kube/jobcontroller"
)

// document is one object of a manifest.
type document struct {
	file   string
	text   []byte
	object runtime.Object
}

// manifests returns the objects of the files, in the order in which kubectl applies
// them. A field that the API does not have is an error.
func manifests(t testing.TB, pattern string) []document {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files: %v", pattern, err)
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []document
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
		for {
			text, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			object, _, err := decoder.Decode(text, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, document{file, text, object})
		}
	}
	return all
}

// only returns the one object of this type.
func only[T runtime.Object](t testing.TB, all []document) T {
	t.Helper()
	var found []T
	for _, d := range all {
		if object, ok := d.object.(T); ok {
			found = append(found, object)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T, want 1", len(found), *new(T))
	}
	return found[0]
}

// What the manifests say of one another holds.
func TestManifestsFitTogether(t *testing.T) {
	all := manifests(t, "manifests/*.yaml")
	namespace := only[*corev1.Namespace](t, all).Name
	account := only[*corev1.ServiceAccount](t, all)
	deployment := only[*appsv1.Deployment](t, all)
	budget := only[*policyv1.PodDisruptionBudget](t, all)
	role, clusterRole := only[*rbacv1.Role](t, all), only[*rbacv1.ClusterRole](t, all)
	binding, clusterBinding := only[*rbacv1.RoleBinding](t, all), only[*rbacv1.ClusterRoleBinding](t, all)

	if all[0].object != runtime.Object(only[*corev1.Namespace](t, all)) {
		t.Errorf("%s comes before the namespace", all[0].file)
	}
	for _, o := range []metav1.Object{account, deployment, budget, role, binding} {
		if o.GetNamespace() != namespace {
			t.Errorf("%T is in namespace %q, want %q", o, o.GetNamespace(), namespace)
		}
	}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: namespace}}
	if !reflect.DeepEqual(binding.Subjects, subjects) || !reflect.DeepEqual(clusterBinding.Subjects, subjects) {
		t.Errorf("bound to %v and %v, want %v", binding.Subjects, clusterBinding.Subjects, subjects)
	}
	if binding.RoleRef.Name != role.Name || binding.RoleRef.Kind != "Role" || clusterBinding.RoleRef.Name != clusterRole.Name || clusterBinding.RoleRef.Kind != "ClusterRole" {
		t.Errorf("the bindings are of %v and %v", binding.RoleRef, clusterBinding.RoleRef)
	}

	pod := deployment.Spec.Template
	if pod.Spec.ServiceAccountName != account.Name {
		t.Errorf("the pods' account is %q, want %q", pod.Spec.ServiceAccountName, account.Name)
	}
	if *deployment.Spec.Replicas != 2 {
		t.Errorf("%d replicas, want 2", *deployment.Spec.Replicas)
	}
	for what, selector := range map[string]*metav1.LabelSelector{
		"Deployment": deployment.Spec.Selector, "PodDisruptionBudget": budget.Spec.Selector, "spread": pod.Spec.TopologySpreadConstraints[0].LabelSelector,
	} {
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || !s.Matches(labels.Set(pod.Labels)) {
			t.Errorf("the selector of the %s does not match the pods: %v", what, err)
		}
	}

	// The program takes its arguments, and answers the probes where they ask.
	container := pod.Spec.Containers[0]
	o, err := parseOptions(container.Args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if port := container.Ports[0]; o.listen != ":8080" || port.ContainerPort != 8080 || container.LivenessProbe.HTTPGet.Port.StrVal != port.Name || container.ReadinessProbe.HTTPGet.Port.StrVal != port.Name {
		t.Errorf("it listens at %s, the port is %v", o.listen, port)
	}
	if names := role.Rules[1].ResourceNames; len(names) != 1 || names[0] != o.leaseName {
		t.Errorf("it may use the Leases %v, and uses %s", names, o.leaseName)
	}
}

// The example is a Job that this controller runs, and Kubernetes' own does not, with
// settings that the controller takes.
func TestExampleJobIsOurs(t *testing.T) {
	job := only[*batchv1.Job](t, manifests(t, "example-job.yaml"))
	if *job.Spec.ManagedBy != jobcontroller.DefaultManagedBy {
		t.Errorf("managed by %s", *job.Spec.ManagedBy)
	}
	if err := convert.JobSpec(&job.Spec).Validate(); err != nil {
		t.Error(err)
	}
	for name := range job.Annotations {
		if name != jobcontroller.AnnotationBaseDelay && name != jobcontroller.AnnotationSkipWaiting {
			t.Errorf("annotation %s", name)
		}
	}
}

// The image is made from this folder, by the Go version that the module wants, without
// a C library.
func TestDockerfileBuildsThisProgram(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(module), "\ngo ")
	version, _, _ = strings.Cut(version, "\n")
	for _, want := range []string{
		"FROM golang:" + strings.TrimSuffix(version, ".0") + " ",
		"CGO_ENABLED=0 go build -C kube ",
		"./cmd/restart-job-controller\n",
		"\nFROM scratch\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in the Dockerfile", want)
		}
	}
}
