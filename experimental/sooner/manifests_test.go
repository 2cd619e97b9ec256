package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// document is one object of a manifest.
type document struct {
	file   string
	text   []byte
	object runtime.Object
}

// documents returns the objects of manifests/, in the order in which kubectl applies
// them. An unknown field is an error.
func documents(t testing.TB) []document {
	t.Helper()
	files, err := filepath.Glob("manifests/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []document
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
		for {
			text, err := reader.Read()
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

// References between the manifests are valid.
func TestManifestsFitTogether(t *testing.T) {
	all := documents(t)
	namespace := only[*corev1.Namespace](t, all)
	account := only[*corev1.ServiceAccount](t, all)
	daemons := only[*appsv1.DaemonSet](t, all)
	role := only[*rbacv1.ClusterRole](t, all)
	binding := only[*rbacv1.ClusterRoleBinding](t, all)
	policy := only[*admissionregistrationv1.ValidatingAdmissionPolicy](t, all)
	if name := only[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, all).Spec.PolicyName; name != policy.Name {
		t.Errorf("the policy %s is bound, want %s", name, policy.Name)
	}
	if match := policy.Spec.MatchConditions[0].Expression; !strings.Contains(match, "'system:serviceaccount:"+account.Namespace+":"+account.Name+"'") {
		t.Errorf("the policy matches %s", match)
	}
	if len(all) != 7 {
		t.Errorf("%d objects, want 7", len(all))
	}
	if all[0].object != runtime.Object(namespace) {
		t.Errorf("%s comes before the namespace", all[0].file)
	}
	for _, o := range []metav1.Object{account, daemons} {
		if o.GetNamespace() != namespace.Name {
			t.Errorf("%T is in namespace %q, want %q", o, o.GetNamespace(), namespace.Name)
		}
	}
	if want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: namespace.Name}}; !reflect.DeepEqual(binding.Subjects, want) {
		t.Errorf("bound to %v, want %v", binding.Subjects, want)
	}
	if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}); binding.RoleRef != want {
		t.Errorf("the binding is of %v, want %v", binding.RoleRef, want)
	}
	pod := daemons.Spec.Template
	if pod.Spec.ServiceAccountName != account.Name {
		t.Errorf("the pods' account is %q, want %q", pod.Spec.ServiceAccountName, account.Name)
	}
	selector, err := metav1.LabelSelectorAsSelector(daemons.Spec.Selector)
	if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the selector does not match the pods: %v", err)
	}
	// Volumes of the node need this level.
	if level := namespace.Labels["pod-security.kubernetes.io/enforce"]; level != "privileged" {
		t.Errorf("pods of the level %q are let in", level)
	}
}

// The service account has the rights that the program needs, and that --check asks for,
// and no others.
func TestRightsAreThoseOfTheManifests(t *testing.T) {
	var granted, needed []string
	for _, rule := range only[*rbacv1.ClusterRole](t, documents(t)).Rules {
		if !slices.Equal(rule.APIGroups, []string{""}) || len(rule.ResourceNames) > 0 || len(rule.NonResourceURLs) > 0 {
			t.Errorf("rule %v", rule)
		}
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				granted = append(granted, verb+" "+resource)
			}
		}
	}
	for _, r := range rights {
		needed = append(needed, r.String())
	}
	slices.Sort(granted)
	slices.Sort(needed)
	if !slices.Equal(granted, needed) {
		t.Errorf("granted are %q, needed %q", granted, needed)
	}
}

// The program accepts its arguments, and finds the socket and the logs in its volumes.
func TestDaemonSetRunsTheProgram(t *testing.T) {
	pod := only[*appsv1.DaemonSet](t, documents(t)).Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) > 0 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	c := pod.Containers[0]
	if len(c.Command) > 0 {
		t.Errorf("command %q, which the image has", c.Command)
	}
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"} // of any pod
	for _, e := range c.Env {
		if e.ValueFrom == nil || e.ValueFrom.FieldRef == nil || e.ValueFrom.FieldRef.FieldPath != "spec.nodeName" {
			t.Errorf("environment %v", e)
		}
		env[e.Name] = "its node"
	}
	o, err := parseOptions(c.Args, io.Discard, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if o.node != "its node" || o.dryRun || o.check || o.rules != nil {
		t.Errorf("options %+v", o)
	}
	if host, _, err := net.SplitHostPort(o.metricsAddress); err != nil || host != "127.0.0.1" {
		t.Errorf("metrics without a password at %s", o.metricsAddress)
	}
	if len(c.Ports) != 1 || o.probeAddress != ":8081" || c.Ports[0].ContainerPort != 8081 {
		t.Errorf("probes at %s, port %v", o.probeAddress, c.Ports)
	}
	for path, probe := range map[string]*corev1.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != c.Ports[0].Name {
			t.Errorf("probe %v, want one of %s", probe, path)
		}
	}

	mounts := make(map[string]string) // folders of the node, by that of the container
	for _, m := range c.VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i < 0 || pod.Volumes[i].HostPath == nil || *pod.Volumes[i].HostPath.Type != corev1.HostPathDirectory || m.SubPath != "" {
			t.Errorf("mount %v", m)
			continue
		}
		if m.ReadOnly && m.Name == "logs" {
			t.Error("logs cannot be removed")
		}
		mounts[m.MountPath] = pod.Volumes[i].HostPath.Path
	}
	path, err := socket(o.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	// The runtime tells the paths of logs on the node. A new socket is in the same folder.
	want := map[string]string{filepath.Dir(path): filepath.Dir(path), "/var/log/pods": "/var/log/pods"}
	if !reflect.DeepEqual(mounts, want) || len(pod.Volumes) != len(want) {
		t.Errorf("mounts %v of %d volumes, want %v", mounts, len(pod.Volumes), want)
	}
	if !slices.Contains(endpoints, path) {
		t.Errorf("%s is not a usual socket", path)
	}

	s := c.SecurityContext
	if s == nil || *s.RunAsUser != 0 || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || len(s.Capabilities.Add) > 0 || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || s.Privileged != nil {
		t.Errorf("security context %v", s)
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Error("it shares a namespace of the node")
	}
	// It runs on each node, and the kubelet evicts it last.
	if len(pod.Tolerations) != 1 || pod.Tolerations[0] != (corev1.Toleration{Operator: corev1.TolerationOpExists}) || pod.PriorityClassName != "system-node-critical" {
		t.Errorf("tolerations %v, priority class %s", pod.Tolerations, pod.PriorityClassName)
	}
	if limit := c.Resources.Limits; limit.Memory().IsZero() || !limit.Cpu().IsZero() {
		t.Errorf("limits %v", limit)
	}
}

// kubectl apply -k applies each file once, in order.
func TestKustomizationNamesEveryFile(t *testing.T) {
	text, err := os.ReadFile("manifests/Kustomization")
	if err != nil {
		t.Fatal(err)
	}
	var k struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Resources  []string `json:"resources"`
	}
	if err := yaml.UnmarshalStrict(text, &k); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("manifests")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		if e.Name() != "Kustomization" {
			files = append(files, e.Name())
		}
	}
	if k.APIVersion != "kustomize.config.k8s.io/v1beta1" || k.Kind != "Kustomization" || !slices.Equal(k.Resources, files) {
		t.Errorf("%+v, files %q", k, files)
	}
}
