package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
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
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/restartkit/restart/kube/convert"
	"github.com/restartkit/restart/kube/jobcontroller"
)

// document is one object of a manifest.
type document struct {
	file   string
	text   []byte
	object runtime.Object
}

// manifests returns the objects of the base, in the order of its kustomization.yaml.
func manifests(t testing.TB) (all []document) {
	t.Helper()
	text, err := os.ReadFile("config/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var base struct {
		Resources []string `json:"resources"`
	}
	if err := sigsyaml.Unmarshal(text, &base); err != nil {
		t.Fatal(err)
	}
	for _, file := range base.Resources {
		all = append(all, objectsOf(t, filepath.Join("config", file))...)
	}
	return all
}

// objectsOf returns the objects of a file. An unknown field is an error.
func objectsOf(t testing.TB, file string) []document {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []document
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all
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

// only returns the single object of this type.
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

// named returns the object of this type with the name.
func named[T interface {
	runtime.Object
	metav1.Object
}](t testing.TB, all []document, name string) T {
	t.Helper()
	var of []document
	for _, d := range all {
		if o, ok := d.object.(T); ok && o.GetName() == name {
			of = append(of, d)
		}
	}
	return only[T](t, of)
}

// References between the manifests are valid.
func TestManifestsFitTogether(t *testing.T) {
	all := manifests(t)
	namespace := only[*corev1.Namespace](t, all).Name
	account := only[*corev1.ServiceAccount](t, all)
	deployment := only[*appsv1.Deployment](t, all)
	budget := only[*policyv1.PodDisruptionBudget](t, all)
	service := only[*corev1.Service](t, all)
	role, clusterRole := only[*rbacv1.Role](t, all), named[*rbacv1.ClusterRole](t, all, "restart-job-controller")
	binding, clusterBinding := only[*rbacv1.RoleBinding](t, all), named[*rbacv1.ClusterRoleBinding](t, all, "restart-job-controller")
	delegator := named[*rbacv1.ClusterRoleBinding](t, all, "restart-job-controller-auth-delegator")

	if all[0].object != runtime.Object(only[*corev1.Namespace](t, all)) {
		t.Errorf("%s comes before the namespace", all[0].file)
	}
	for _, o := range []metav1.Object{account, deployment, budget, service, role, binding} {
		if o.GetNamespace() != namespace {
			t.Errorf("%T is in namespace %q, want %q", o, o.GetNamespace(), namespace)
		}
	}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: namespace}}
	if !reflect.DeepEqual(binding.Subjects, subjects) || !reflect.DeepEqual(clusterBinding.Subjects, subjects) || !reflect.DeepEqual(delegator.Subjects, subjects) {
		t.Errorf("bound to %v, %v and %v, want %v", binding.Subjects, clusterBinding.Subjects, delegator.Subjects, subjects)
	}
	if binding.RoleRef.Name != role.Name || binding.RoleRef.Kind != "Role" || clusterBinding.RoleRef.Name != clusterRole.Name || clusterBinding.RoleRef.Kind != "ClusterRole" {
		t.Errorf("the bindings are of %v and %v", binding.RoleRef, clusterBinding.RoleRef)
	}
	// The ClusterRole may be bound in another namespace only, and the election's Events are here.
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "events") }) {
		t.Error("the Role does not allow the Events of the election")
	}

	pod := deployment.Spec.Template
	if pod.Spec.ServiceAccountName != account.Name {
		t.Errorf("the pods' account is %q, want %q", pod.Spec.ServiceAccountName, account.Name)
	}
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace == nil || *grace <= 25 {
		t.Error("the pods have no time to finish their requests")
	}
	if *deployment.Spec.Replicas != 2 {
		t.Errorf("%d replicas, want 2", *deployment.Spec.Replicas)
	}
	for what, selector := range map[string]*metav1.LabelSelector{
		"Deployment": deployment.Spec.Selector, "PodDisruptionBudget": budget.Spec.Selector, "spread": pod.Spec.TopologySpreadConstraints[0].LabelSelector,
		"Service": {MatchLabels: service.Spec.Selector},
	} {
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || !s.Matches(labels.Set(pod.Labels)) {
			t.Errorf("the selector of the %s does not match the pods: %v", what, err)
		}
	}

	// The program accepts its arguments, and answers the probes at their addresses.
	container := pod.Spec.Containers[0]
	o, err := parseOptions(container.Args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if port := container.Ports[0]; o.probeAddress != ":8081" || port.ContainerPort != 8081 || container.LivenessProbe.HTTPGet.Port.StrVal != port.Name || container.ReadinessProbe.HTTPGet.Port.StrVal != port.Name {
		t.Errorf("it listens at %s, the port is %v", o.probeAddress, port)
	}
	if port := container.Ports[1]; o.metricsAddress != ":8443" || !o.metricsSecure || port.ContainerPort != 8443 || service.Spec.Ports[0].TargetPort.StrVal != port.Name {
		t.Errorf("it listens at %s for Prometheus, the port is %v", o.metricsAddress, port)
	}
	if !o.elect {
		t.Error("two replicas run without a Lease")
	}
	policy, policyBinding := only[*admissionregistrationv1.ValidatingAdmissionPolicy](t, all), only[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, all)
	if policyBinding.Spec.PolicyName != policy.Name {
		t.Errorf("the binding is of policy %s", policyBinding.Spec.PolicyName)
	}
	if names := role.Rules[1].ResourceNames; len(names) != 1 || names[0] != o.leaseName {
		t.Errorf("it may use the Leases %v, and uses %s", names, o.leaseName)
	}
}

// This controller runs the example Job, with valid settings, and Kubernetes' own does
// not.
func TestExampleJobIsOurs(t *testing.T) {
	job := only[*batchv1.Job](t, objectsOf(t, "example-job.yaml"))
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

// .dockerignore includes all files that the programs with an image are built from.
func TestProgramsAreBuiltFromWhatDockerSees(t *testing.T) {
	const root = "../../.."
	text, err := os.ReadFile(root + "/.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	var in, out []string
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "" || line == "*" || line[0] == '#':
		case line[0] == '!':
			in = append(in, line[1:])
		default:
			out = append(out, strings.TrimPrefix(line, "**/"))
		}
	}
	seen := t.TempDir()
	for _, top := range in {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			for _, pattern := range out {
				if ok, err := filepath.Match(pattern, entry.Name()); ok || err != nil || pattern == name {
					if entry.IsDir() {
						return fs.SkipDir
					}
					return err
				}
			}
			if entry.IsDir() {
				return os.MkdirAll(filepath.Join(seen, name), 0o700)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(seen, name), content, 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for module, folder := range map[string]string{"kube": "cmd/restart-job-controller", "experimental": "sooner"} {
		list := exec.Command("go", "list", "-deps", "./"+folder)
		list.Dir = filepath.Join(seen, module)
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
		if text, err := list.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, text)
		}
		if _, err := os.Stat(filepath.Join(seen, module, folder, "options_test.go")); err == nil {
			t.Error("Docker sees the tests")
		}
	}
}
