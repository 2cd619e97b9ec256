package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// kustomization is a file of kustomize.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`

	Resources []string `json:"resources"`
}

// serviceMonitor and prometheusRule are the required parts of the Prometheus operator's
// types, which the API server of the tests lacks.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port            string          `json:"port"`
			Scheme          string          `json:"scheme"`
			BearerTokenFile string          `json:"bearerTokenFile"`
			TLSConfig       map[string]bool `json:"tlsConfig"`
		} `json:"endpoints"`
	} `json:"spec"`
}

type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []alert `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func readYAML[T any](t testing.TB, file string) (object T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &object); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return object
}

// The Kustomizations name every manifest of their folders.
func TestKustomizationsNameEveryManifest(t *testing.T) {
	for folder, more := range map[string][]string{"manifests": nil, "monitoring": {"../manifests"}} {
		files, err := filepath.Glob(folder + "/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		want := more
		for _, file := range files {
			want = append(want, filepath.Base(file))
		}
		if k := readYAML[kustomization](t, folder+"/Kustomization"); k.Kind != "Kustomization" || !slices.Equal(k.Resources, want) {
			t.Errorf("%s has %v, want %v", folder, k.Resources, want)
		}
	}
}

// Prometheus finds the Service of the manifests, and its port.
func TestServiceMonitorSelectsTheService(t *testing.T) {
	service := only[*corev1.Service](t, manifests(t, "manifests/*.yaml"))
	m := readYAML[serviceMonitor](t, "monitoring/servicemonitor.yaml")
	selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil || !selector.Matches(labels.Set(service.Labels)) || m.Namespace != service.Namespace {
		t.Errorf("%v in %s does not select %v in %s: %v", selector, m.Namespace, service.Labels, service.Namespace, err)
	}
	if e := m.Spec.Endpoints[0]; len(m.Spec.Endpoints) != 1 || e.Port != service.Spec.Ports[0].Name || e.Scheme != "https" || e.BearerTokenFile == "" {
		t.Errorf("%+v, the Service has %+v", m.Spec.Endpoints, service.Spec.Ports)
	}
}

// alerts returns the alerts of the manifest.
func alerts(t testing.TB) []alert {
	t.Helper()
	groups := readYAML[prometheusRule](t, "monitoring/prometheusrule.yaml").Spec.Groups
	if len(groups) != 1 || len(groups[0].Rules) == 0 {
		t.Fatalf("%+v", groups)
	}
	return groups[0].Rules
}

var metricInRule = regexp.MustCompile(`([a-z_]+)\{`)

// Alerts have a meaning and a first step, and select only this controller, because
// others have metrics of the same names.
func TestAlertsAreComplete(t *testing.T) {
	service := only[*corev1.Service](t, manifests(t, "manifests/*.yaml"))
	for _, a := range alerts(t) {
		metrics := metricInRule.FindAllStringSubmatch(a.Expr, -1)
		if len(metrics) == 0 || strings.Count(a.Expr, `{job="`+service.Name+`"`) != len(metrics) {
			t.Errorf("%s looks at others, too: %s", a.Alert, a.Expr)
		}
		if a.For == "" || a.Labels["severity"] == "" || a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%+v", a)
		}
	}
}
