package differences

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/kube/check"
)

// TestManifestsDifferential changes manifests at random, and compares what package check says
// about them with what the API server does with them: strict decoding, defaults and validation
// on create. Package check must refuse nothing that the API server accepts, and call nothing
// fine whose mistake is in a part that it judges.
func TestManifestsDifferential(t *testing.T) {
	manifests := manifestsOf(t, "../../cmd/testdata")
	var seen struct{ accepted, refused, elsewhere int }
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			manifest := clone(rapid.SampledFrom(manifests).Draw(t, "manifest"))
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				changeManifest(t, manifest)
			}
			text, err := json.Marshal(manifest)
			if err != nil {
				t.Fatal(err)
			}
			ours, judged := ourErrors(text)
			theirs := theirErrors(text)
			switch {
			case !judged && len(ours) == 0: // check counts it among the objects of other kinds
				seen.elsewhere++
			case len(theirs) == 0 && len(ours) > 0:
				t.Fatalf("only check refuses it: %q\n%s", ours, text)
			case len(theirs) == 0:
				seen.accepted++
			case len(ours) > 0:
				seen.refused++
			case slices.ContainsFunc(theirs, isJudged):
				t.Fatalf("check calls it fine; the API server: %q\n%s", theirs, text)
			default:
				seen.elsewhere++
			}
		}
	})
	t.Logf("%+v", seen)
	if all := seen.accepted + seen.refused + seen.elsewhere; seen.accepted < all/20 || seen.refused < all/4 {
		t.Errorf("the manifests are too much alike: %+v", seen)
	}
}

// notJudged matches the API server's mistakes in parts that check.NotJudged names, or that are
// about a running cluster. Everything else is judged.
var notJudged = regexp.MustCompile(`\.(command|args|env|envFrom|ports|volumeMounts|volumeDevices|volumes|resources|resizePolicy|securityContext|workingDir|` +
	`lifecycle|httpGet|tcpSocket|grpc|exec|affinity|tolerations|nodeSelector|nodeName|hostNetwork|hostAliases|hostname|subdomain|dnsPolicy|dnsConfig|schedulerName|` +
	`priority|priorityClassName|runtimeClassName|overhead|topologySpreadConstraints|schedulingGates|imagePullSecrets|preemptionPolicy|` +
	`strategy|updateStrategy|podManagementPolicy|volumeClaimTemplates|terminationMessagePolicy|terminationMessagePath)\b`)

func isJudged(mistake string) bool { return !notJudged.MatchString(mistake) }

// ourErrors returns what package check refuses in the text of one object, and whether it
// judges such an object.
func ourErrors(text []byte) (all []string, judged bool) {
	file := check.Parse("manifest.json", text)
	findings := slices.Clone(file.Findings)
	for _, object := range file.Objects {
		findings = append(findings, object.Judge(check.Options{}).Findings...)
	}
	for _, finding := range findings {
		if finding.Severity == check.Error {
			all = append(all, finding.String())
		}
	}
	return all, slices.ContainsFunc(file.Objects, (*check.Object).IsJudged)
}

// strict decodes as the API server does for kubectl.
var strict = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

var strategies = map[schema.GroupKind]rest.RESTCreateStrategy{
	{Group: "batch", Kind: "Job"}:        job.Strategy,
	{Group: "batch", Kind: "CronJob"}:    cronjob.Strategy,
	{Kind: "Pod"}:                        pod.Strategy,
	{Group: "apps", Kind: "ReplicaSet"}:  replicaset.Strategy,
	{Group: "apps", Kind: "Deployment"}:  deployment.Strategy,
	{Group: "apps", Kind: "StatefulSet"}: statefulset.Strategy,
	{Group: "apps", Kind: "DaemonSet"}:   daemonset.Strategy,
}

// theirErrors returns why the API server refuses to create the object. A panic, which a
// server recovers from, refuses it, too.
func theirErrors(text []byte) (all []string) {
	defer func() {
		if r := recover(); r != nil {
			all = []string{fmt.Sprint("panic: ", r)}
		}
	}()
	object, kind, err := strict.Decode(text, nil, nil)
	if err != nil {
		return []string{"cannot decode: " + err.Error()}
	}
	strategy := strategies[kind.GroupKind()]
	if strategy == nil {
		return []string{"not a kind of these tests: " + kind.String()}
	}
	legacyscheme.Scheme.Default(object)
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(object, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return []string{"cannot convert: " + err.Error()}
	}
	m := internal.(metav1.Object)
	rest.FillObjectMetaSystemFields(m)
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(strategy.GenerateName(m.GetGenerateName()))
	}
	namespace := cmp.Or(m.GetNamespace(), "default")
	resource, _ := meta.UnsafeGuessKindToResource(*kind)
	ctx := request.WithRequestInfo(request.WithNamespace(context.Background(), namespace),
		&request.RequestInfo{IsResourceRequest: true, Verb: "create", APIGroup: kind.Group, APIVersion: kind.Version, Resource: resource.Resource, Namespace: namespace})
	if err = rest.BeforeCreate(strategy, ctx, internal); err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return []string{err.Error()}
	}
	for _, cause := range status.Status().Details.Causes {
		all = append(all, cause.Field+": "+cause.Message)
	}
	return all
}

// manifestsOf returns the manifests of a folder that hold one object, and others made of their
// pods.
func manifestsOf(t *testing.T, folder string) (all []any) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests in %s: %v", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var manifest map[string]any
		if err := yaml.Unmarshal(text, &manifest); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, manifest)
		if manifest["kind"] != "Job" {
			continue
		}
		template := manifest["spec"].(map[string]any)["template"].(map[string]any)
		of := func(version, kind string, spec any) {
			all = append(all, clone(map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": "a"}, "spec": spec}))
		}
		of("v1", "Pod", template["spec"])
		of("batch/v1", "CronJob", map[string]any{"schedule": "0 3 * * *", "jobTemplate": map[string]any{"spec": manifest["spec"]}})
		kept := clone(template["spec"]).(map[string]any)
		delete(kept, "restartPolicy")
		labels := map[string]any{"app": "a"}
		keeper := map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": kept}}
		for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"} {
			of("apps/v1", kind, keeper)
		}
	}
	return all
}

// clone copies JSON.
func clone(value any) (copied any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &copied)
	}
	if err != nil {
		panic(err)
	}
	return copied
}

// additions are fields, by the field that holds them, with values that are right somewhere.
var additions = map[string]map[string][]any{
	"metadata": {"name": {"a", "a.b", "A", strings.Repeat("a", 64)}, "generateName": {"a-", "a."}, "namespace": {"b", "b.c"}, "labels": {map[string]any{"a/b": "c"}, map[string]any{"-": "-"}}, "annotations": {map[string]any{"a b": "c"}}},
	"spec": {
		"completions": {3, 0}, "parallelism": {2, 100_001}, "completionMode": {"Indexed", "NonIndexed"}, "backoffLimit": {0, 5}, "backoffLimitPerIndex": {1}, "maxFailedIndexes": {1},
		"activeDeadlineSeconds": {1, 1 << 31}, "ttlSecondsAfterFinished": {5}, "suspend": {true}, "podReplacementPolicy": {"Failed", "TerminatingOrFailed"}, "managedBy": {"example.com/x", "x"}, "manualSelector": {true},
		"selector":      {map[string]any{"matchLabels": map[string]any{"app": "a"}}, map[string]any{}},
		"successPolicy": {map[string]any{"rules": []any{map[string]any{"succeededCount": 1}}}}, "podFailurePolicy": {map[string]any{"rules": []any{map[string]any{"action": "FailJob", "onExitCodes": map[string]any{"operator": "In", "values": []any{1}}}}}},
		"schedule": {"@daily", "61 * * * *", "TZ=UTC * * * * *"}, "timeZone": {"Europe/Berlin", "Local", "x"}, "concurrencyPolicy": {"Forbid", "Never"}, "startingDeadlineSeconds": {5, -1}, "successfulJobsHistoryLimit": {1, -1},
		"replicas": {1, -1}, "minReadySeconds": {5, 700}, "progressDeadlineSeconds": {5}, "revisionHistoryLimit": {-1}, "restartPolicy": {"Never", "OnFailure", "Always"}, "terminationGracePeriodSeconds": {5, -1},
		"serviceAccountName": {"a", "A"}, "initContainers": {[]any{map[string]any{"name": "i", "image": "x"}}, []any{map[string]any{"name": "i", "image": "x", "restartPolicy": "Always"}}},
	},
	"containers": containerFields, "initContainers": containerFields,
}

var containerFields = map[string][]any{
	"name": {"main", "A"}, "image": {"x", " x"}, "imagePullPolicy": {"Never", "Sometimes"}, "restartPolicy": {"Never", "OnFailure", "Always"},
	"restartPolicyRules": {[]any{map[string]any{"action": "Restart", "exitCodes": map[string]any{"operator": "In", "values": []any{42}}}}, []any{map[string]any{"action": "Stop"}}},
	"livenessProbe":      {map[string]any{"exec": map[string]any{"command": []any{"x"}}, "periodSeconds": 5}, map[string]any{"successThreshold": 2}},
	"readinessProbe":     {map[string]any{"tcpSocket": map[string]any{"port": 80}, "terminationGracePeriodSeconds": 1}},
}

// others are values of all types, right or wrong for a field.
var others = []any{nil, true, -1, 0, 1, 2, 1.5, 1 << 31, "", "x", "1", "X y", []any{}, []any{"x"}, map[string]any{}, "Never", "Always", "Indexed"}

// changeManifest removes, adds, renames or replaces a field somewhere.
func changeManifest(t *rapid.T, manifest any) {
	type place struct {
		name   string // of the field that holds the object
		object map[string]any
	}
	var places []place
	var walk func(name string, value any)
	walk = func(name string, value any) {
		switch v := value.(type) {
		case map[string]any:
			places = append(places, place{name, v})
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(name, v[name])
			}
		case []any:
			for _, item := range v {
				walk(name, item)
			}
		}
	}
	walk("", manifest)
	p := rapid.SampledFrom(places).Draw(t, "place")
	if more := additions[p.name]; more != nil && rapid.Bool().Draw(t, "add") {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(more))).Draw(t, "name")
		p.object[name] = clone(rapid.SampledFrom(more[name]).Draw(t, "value"))
		return
	}
	if len(p.object) == 0 {
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(p.object))).Draw(t, "name")
	switch rapid.SampledFrom([]string{"remove", "rename", "replace", "repeat"}).Draw(t, "change") {
	case "remove":
		delete(p.object, name)
	case "rename":
		p.object[fmt.Sprint(name, "s")] = p.object[name]
		delete(p.object, name)
	case "replace":
		p.object[name] = clone(rapid.SampledFrom(others).Draw(t, "value"))
	case "repeat":
		list, _ := p.object[name].([]any)
		p.object[name] = append(list, list...)
	}
}
