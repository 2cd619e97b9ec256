package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
)

// invoke runs the program with a kubeconfig for the server, as "kubectl backoff ARGS".
func invoke(t testing.TB, server string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return invokeWith(t, "", server, args...)
}

// invokeWith is invoke with a standard input.
func invokeWith(t testing.TB, stdin, server string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errs}
	if server != "" {
		args = append(args, "--kubeconfig", kubeconfig(t, server))
		if !slices.Contains(args, "--request-timeout") {
			args = append(args, "--request-timeout", "10m") // the machine may be busy
		}
	}
	code = run(t.Context(), streams, func() time.Time { return noon }, args)
	return code, out.String(), errs.String()
}

var noon = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

func kubeconfig(t testing.TB, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"test","contexts":[{"name":"test","context":{"cluster":"c","user":"u","namespace":"shop"}}],"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u"}]}`, server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fake is an API server that pages lists and forbids some resources.
type fake struct {
	mu        sync.Mutex
	objects   map[string][]map[string]any // by resource
	forbidden map[string]bool
	expire    bool // the second page expires, once
	requests  []string
}

// newFake returns a server with the objects of the situations of package explain.
func newFake(t testing.TB) (*fake, string) {
	t.Helper()
	f := &fake{objects: make(map[string][]map[string]any), forbidden: make(map[string]bool)}
	files, err := filepath.Glob("internal/explain/testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			f.add(object)
		}
	}
	for _, text := range []string{
		`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop"}}`,
		`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"shop","uid":"d1"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app","image":"i"}]}}}}`,
		`{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"never","namespace":"mistakes","uid":"m1"},"spec":{"backoffLimit":-1,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`,
	} {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		f.add(object)
	}
	for _, pod := range f.objects["pods"] {
		meta := pod["metadata"].(map[string]any)
		if owners, owned := meta["ownerReferences"].([]any); owned { // as the Job controller labels pods
			meta["labels"] = map[string]any{batchv1.ControllerUidLabel: owners[0].(map[string]any)["uid"]}
		}
		if strings.HasPrefix(meta["name"].(string), "web-") {
			meta["labels"] = map[string]any{"app": "web"}
		}
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server.URL
}

func (f *fake) add(object map[string]any) {
	resource := strings.ToLower(object["kind"].(string)) + "s"
	f.objects[resource] = append(f.objects[resource], object)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.URL.RequestURI())
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "version" {
		fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`)
		return
	}
	namespace, version, rest := "", parts[1], parts[2:]
	if parts[0] == "apis" {
		version, rest = parts[1]+"/"+parts[2], parts[3:]
	}
	if rest[0] == "namespaces" && len(rest) > 2 {
		namespace, rest = rest[1], rest[2:]
	}
	resource := rest[0]
	refuse := func(code int, reason metav1.StatusReason, message string) {
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: reason, Code: int32(code), Message: message})
	}
	if f.forbidden[resource] {
		refuse(403, metav1.StatusReasonForbidden, resource+" is forbidden: User \"u\" cannot list resource")
		return
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		refuse(400, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	fieldsOf, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		refuse(400, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	var all []map[string]any
	for _, x := range f.objects[resource] {
		meta := x["metadata"].(map[string]any)
		if namespace != "" && meta["namespace"] != namespace {
			continue
		}
		if len(rest) > 1 && meta["name"] == rest[1] {
			json.NewEncoder(w).Encode(x)
			return
		}
		has := labels.Set{}
		own, _ := meta["labels"].(map[string]any)
		for key, value := range own {
			has[key] = value.(string)
		}
		spec, _ := x["spec"].(map[string]any)
		node, _ := spec["nodeName"].(string)
		if !selector.Matches(has) || resource == "pods" && !fieldsOf.Matches(fields.Set{"spec.nodeName": node}) {
			continue
		}
		all = append(all, x)
	}
	if len(rest) > 1 {
		refuse(404, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", resource, rest[1]))
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	if from > 0 && f.expire {
		f.expire = false
		refuse(410, metav1.StatusReasonExpired, "the continue token is too old")
		return
	}
	to, next := len(all), ""
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 && from+limit < to {
		to = from + limit
		next = strconv.Itoa(to)
	}
	kind := map[string]string{"pods": "PodList", "jobs": "JobList", "cronjobs": "CronJobList", "deployments": "DeploymentList", "statefulsets": "StatefulSetList", "daemonsets": "DaemonSetList", "replicasets": "ReplicaSetList", "namespaces": "NamespaceList", "events": "EventList", "replicationcontrollers": "ReplicationControllerList"}[resource]
	json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"continue": next}, "items": append([]map[string]any{}, all[from:to]...)})
}

// A table of calls: what each prints, and where.
func TestCalls(t *testing.T) {
	for _, tt := range []struct {
		args   string
		code   int
		stdout string // in the output; "" means no output
		stderr string
	}{
		{"explain pod/web-7d9f", 0, "between 12:01:40 and 12:02:12 (in 1m40s to 2m12s)", ""},
		{"pod/web-7d9f", 0, "between 12:01:40 and 12:02:12 (in 1m40s to 2m12s)", ""},
		{"web-7d9f", 0, "was OOM-killed", ""},
		{"explain po web-7d9f web-ok", 0, "nothing is wrong", ""},
		{"explain pods", 0, "pod shop/report-x2k", ""},
		{"", 0, "pod shop/report-x2k", ""},
		{"-A", 0, "job ml/train", ""},
		{"explain -A jobs", 0, "job ml/train", ""},
		{"explain job/import -n batch", 0, "3 failures counted, 1 more fails the Job", ""},
		{"explain jobs.batch/import -nbatch", 0, "3 failures counted", ""},
		{"explain pod/web-7d9f --sync-frequency 1s", 0, "between 12:01:40 and 12:01:42", ""},
		{"explain pod/gone", 1, "", `pods "gone" not found in namespace "shop"`},
		{"explain pod/gone pod/web-ok", 1, "pod shop/web-ok", "not found"},
		{"explain pod/web-7d9f -ojson", 0, `"from": "2026-11-01T12:01:40Z"`, ""},
		{"explain pod/web-7d9f -o yaml", 0, `2026-11-01T12:02:`, ""},
		{"explain pod/web-7d9f job/daily -o name", 0, "pod/web-7d9f\njob.batch/daily\n", ""},
		{"-n empty", 0, `no pods and no Jobs in namespace "empty"`, ""},
		{"deploy/web", 0, "deployment shop/web: 1 of 2 pods run without trouble\n\npod shop/web-7d9f: container app (5 restarts) was OOM-killed", ""},
		{"next -A", 0, "pod/web-7d9f", ""},
		{"next", 0, "pod/report-x2k", ""},
		{"next -n empty", 0, "nothing waits", ""},
		{"next -n empty -o json", 0, `"items": []`, ""},
		{"next -n batch -o name", 0, "job.batch/import", ""},
		{"check", 0, "nothing found", ""},
		{"check -n mistakes", 1, "error: spec.backoffLimit", ""},
		{"check job/never -n mistakes -o json", 1, `"severity": "error"`, ""},
		{"check -n batch --kubernetes 1.25", 0, "spec.podFailurePolicy", ""},
		{"check -n batch --kubernetes 1.25 --strict", 1, "7 warnings", ""},
		{"check --kubernetes 2.0", 2, "", "1.25 to 1.38"},
		{"check -w", 2, "", "unknown shorthand flag"},
		{"--version", 0, "kubectl-backoff", ""},
		{"explain node/x", 2, "", "is not a type that can be explained"},
		{"explain deplyoment/x", 2, "", "did you mean deployment?"},
		{"explain pod/x -A", 2, "", "exclude each other"},
		{"--filename=", 2, "", "the name of a file is empty"},
		{"next --filename=", 2, "", "the name of a file is empty"},
		{"explain pod/x -l a=b", 2, "", "exclude each other"},
		{"explain pod/x y", 2, "", "has no type, as in pod/y"},
		{"next extra", 2, "", "takes no names"},
		{"next -o wide", 2, "", "must be json, yaml or name"},
		{"next -w -o yaml", 2, "", "-w prints text or -o json"},
		{"nxt", 2, "", "did you mean next?"},
		{"exlain pod/x", 2, "", "did you mean explain?"},
		{"next --all-namespces", 2, "", "did you mean --all-namespaces?"},
		{"--at 2026-11-01T12:00:00Z", 2, "", "files of -f"},
		{"explain pod/web-ok --context other", 3, "", `context "other" does not exist`},
		{"-h", 0, "Exit codes:", ""},
		{"explain -h", 0, "--sync-frequency", ""},
		{"help next", 0, "--watch", ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			_, server := newFake(t)
			code, stdout, stderr := invoke(t, server, strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || (tt.stdout == "") != (stdout == "") ||
				!strings.Contains(stderr, tt.stderr) || (tt.stderr == "") != (stderr == "") {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, tt.code, stdout, stderr)
			}
		})
	}
}

// jobsAndPods are two Jobs with a pod each. Only the Job has a label app, or only the pod.
const jobsAndPods = `kind: Job
apiVersion: batch/v1
metadata: {name: one, namespace: shop, uid: u1, labels: {app: one}, creationTimestamp: "2026-11-01T11:50:00Z"}
spec: {completions: 1, parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
status: {startTime: "2026-11-01T11:50:00Z", failed: 1}
---
kind: Pod
apiVersion: v1
metadata:
  {name: one-bcdfg, namespace: shop, uid: p1, labels: {batch.kubernetes.io/controller-uid: u1}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: one, uid: u1, controller: true}]}
spec: {nodeName: node-a, restartPolicy: Never, containers: [{name: main, image: x}]}
status:
  phase: Failed
  startTime: "2026-11-01T11:59:50Z"
  containerStatuses:
  - {name: main, restartCount: 0, state: {terminated: {exitCode: 1, reason: Error, startedAt: "2026-11-01T11:59:52Z", finishedAt: "2026-11-01T11:59:57Z"}}}
---
kind: Job
apiVersion: batch/v1
metadata: {name: two, namespace: shop, uid: u2, creationTimestamp: "2026-11-01T11:50:00Z"}
spec: {completions: 1, parallelism: 1, activeDeadlineSeconds: 605, template: {spec: {restartPolicy: OnFailure, containers: [{name: main, image: x}]}}}
status: {startTime: "2026-11-01T11:50:00Z", active: 1}
---
kind: Pod
apiVersion: v1
metadata:
  {name: two-bcdfg, namespace: shop, uid: p2, labels: {app: two, batch.kubernetes.io/controller-uid: u2}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: two, uid: u2, controller: true}]}
spec: {nodeName: node-a, restartPolicy: OnFailure, containers: [{name: main, image: x}]}
status:
  phase: Running
  startTime: "2026-11-01T11:50:00Z"
  containerStatuses:
  - name: main
    restartCount: 3
    state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s restarting failed container=main pod=two-bcdfg_shop(p2)}}
    lastState: {terminated: {exitCode: 1, reason: Error, startedAt: "2026-11-01T11:59:45Z", finishedAt: "2026-11-01T11:59:50Z"}}
`

// serve returns a server that has the objects of a YAML text.
func serve(t testing.TB, objects string) *httptest.Server {
	t.Helper()
	f := &fake{objects: make(map[string][]map[string]any), forbidden: make(map[string]bool)}
	for document := range strings.SplitSeq(objects, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		f.add(object)
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server
}

// A selector says what is printed, and not what explains it: the pods of a selected Job and
// the Job of a selected pod count, whatever their labels. Files and a cluster agree.
func TestNextSelects(t *testing.T) {
	server := serve(t, jobsAndPods)
	const one, two = "Job/one Delay, ", "Pod/two-bcdfg CrashLoopBackOff never, "
	for selector, want := range map[string]string{"app=one": one, "app=two": two, "app": one + two, "app=three": "", "": one + two} {
		_, cluster, stderr := invoke(t, server.URL, "next", "-l", selector, "-o", "json")
		var list struct{ Items []explain.Waiting }
		if err := json.Unmarshal([]byte(cluster), &list); err != nil {
			t.Fatal(err, stderr)
		}
		var got strings.Builder
		for _, w := range list.Items {
			got.WriteString(w.Kind + "/" + w.Name + " " + w.Reason + map[bool]string{true: " never"}[w.Never] + ", ")
		}
		if got.String() != want {
			t.Errorf("-l %q: %q, want %q", selector, got.String(), want)
		}
		if _, files, stderr := invokeWith(t, jobsAndPods, "", "next", "-f", "-", "-l", selector, "-o", "json", "--at", "2026-11-01T12:00:00Z"); files != cluster {
			t.Errorf("-l %q: the cluster gives\n%s and the files\n%s%s", selector, cluster, files, stderr)
		}
	}
	// Fields that only pods have do not hide the pods of Jobs either.
	if _, stdout, stderr := invoke(t, server.URL, "next", "--field-selector", "spec.nodeName=node-b"); !strings.Contains(stdout, " Delay ") || strings.Contains(stdout, "two-bcdfg") {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// The deadline of a pod's Job counts although only the pod is named or selected.
func TestJobOfAPodIsRead(t *testing.T) {
	server := serve(t, jobsAndPods)
	for _, args := range [][]string{{"pod/two-bcdfg"}, {"pods", "-l", "app=two"}, {"pods"}} {
		if _, stdout, stderr := invoke(t, server.URL, args...); !strings.Contains(stdout, "its Job fails before, at its deadline") {
			t.Errorf("%v: %s%s", args, stdout, stderr)
		}
	}
}

// An Event about an earlier object of the same name says nothing about this one.
func TestEventOfAnEarlierWorkload(t *testing.T) {
	const set = `kind: StatefulSet
apiVersion: apps/v1
metadata: {name: web, namespace: shop, uid: u2}
spec: {replicas: 1, selector: {matchLabels: {app: web}}}
---
kind: Event
apiVersion: v1
metadata: {name: e, namespace: shop}
type: Warning
reason: FailedCreate
message: exceeded quota
lastTimestamp: "2026-11-01T11:59:50Z"
involvedObject: {kind: StatefulSet, namespace: shop, name: web, uid: UID}
`
	for uid, want := range map[string]bool{"u1": false, "u2": true} {
		_, stdout, stderr := invoke(t, serve(t, strings.Replace(set, "UID", uid, 1)).URL, "sts/web")
		if strings.Contains(stdout, "exceeded quota") != want {
			t.Errorf("%s: %s%s", uid, stdout, stderr)
		}
	}
}

// The live table selects as the other does, although it watches all pods.
func TestLiveTableSelects(t *testing.T) {
	server := serve(t, jobsAndPods)
	for selector, want := range map[string]string{"app=one": "shop/job/one Delay, ", "app=two": "shop/pod/two-bcdfg/main CrashLoopBackOff, starts never"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out := &firstWrite{then: cancel}
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: io.Discard}
		run(ctx, streams, func() time.Time { return noon }, []string{"next", "-w", "-l", selector, "--kubeconfig", kubeconfig(t, server.URL)})
		if !strings.Contains(out.text, want) {
			t.Errorf("-l %s: want %q in %q", selector, want, out.text)
		}
	}
}

// firstWrite keeps what is written first, and then calls a function.
type firstWrite struct {
	text string
	then func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.text == "" {
		w.text = string(p)
		w.then()
	}
	return len(p), nil
}

// A missing right is one line, and the rest goes on.
func TestMissingRights(t *testing.T) {
	for _, tt := range []struct {
		args, forbidden string
		code            int
		stdout, stderr  string
		lines           int // of stderr
	}{
		{"next -A", "jobs", 0, "pod/web-7d9f", "you may not read jobs in all namespaces", 1},
		{"next -A", "pods", 3, "", "you may not read pods", 1},
		{"next -A", "pods jobs", 3, "", "you may not read pods", 1},
		{"next -A", "events nodes", 0, "pod/web-7d9f", "you may not read events", 1},
		{"explain job/import -n batch", "pods", 0, "3 failures counted", "explained without their pods", 1},
		{"explain jobs -A", "pods", 0, "job ml/train", "explained without their pods", 1},
		{"explain job/import -n batch", "jobs", 3, "", "you may not read", 1},
		{"check -A", "cronjobs deployments", 1, "spec.backoffLimit", "you may not read", 2},
		{"check -A", "cronjobs deployments jobs pods statefulsets daemonsets replicasets", 3, "", "you may not read", 7},
	} {
		t.Run(tt.args+" without "+tt.forbidden, func(t *testing.T) {
			f, server := newFake(t)
			for resource := range strings.FieldsSeq(tt.forbidden) {
				f.forbidden[resource] = true
			}
			code, stdout, stderr := invoke(t, server, strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) || strings.Count(stderr, "\n") != tt.lines {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, tt.code, stdout, stderr)
			}
		})
	}
}

// A cluster that accepts connections but does not answer is one line, after the timeout.
// The default timeout is within ten seconds.
func TestDeadClusterIsOneLine(t *testing.T) {
	if d, err := time.ParseDuration(defaultTimeout); err != nil || d >= 10*time.Second {
		t.Errorf("the default timeout is %v", defaultTimeout)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, tt := range []struct {
		server, timeout, says string
	}{
		{silent.Addr().String(), "50ms", "no answer within 50ms"},
		{"127.0.0.1:1", "10m", "connection refused"}, // nothing listens on this port
	} {
		for _, args := range []string{"next", "explain pod/x", "explain job/x", "x", "check -A"} {
			words := append(strings.Fields(args), "--request-timeout", tt.timeout)
			code, stdout, stderr := invoke(t, "http://"+tt.server, words...)
			if code != exitCluster || stdout != "" || strings.Count(stderr, "\n") != 1 ||
				!strings.Contains(stderr, tt.says) || !strings.Contains(stderr, `context "test"`) {
				t.Errorf("%s: exit code %d\n%s%s", args, code, stdout, stderr)
			}
		}
	}
}

// Lists are read page by page. If the pages expire, everything is read once more.
func TestLongListsArePaged(t *testing.T) {
	for _, tt := range []struct {
		expire      bool
		pods, pages int
	}{
		{false, 2600, 6},
		{true, 1234, 3},
	} {
		f, server := newFake(t)
		f.expire = tt.expire
		for i := range tt.pods {
			f.add(crashing(t, i))
		}
		code, stdout, stderr := invoke(t, server, "next", "-n", "many", "-o", "json")
		var list struct{ Items []struct{ Name string } }
		if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 {
			t.Fatal(code, err, stderr)
		}
		if len(list.Items) != tt.pods {
			t.Errorf("%d pods wait, want %d", len(list.Items), tt.pods)
		}
		pages := 0
		for _, r := range f.requests {
			if strings.Contains(r, "/pods") {
				pages++
			}
		}
		if pages != tt.pages {
			t.Errorf("%d requests for pods, want %d: %v", pages, tt.pages, f.requests)
		}
	}
}

// crashing returns a pod in a crash loop, as JSON.
func crashing(t testing.TB, i int) map[string]any {
	t.Helper()
	finished := metav1.NewTime(noon.Add(-time.Duration(i%300) * time.Second))
	pod := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("crash-%d", i), Namespace: "many", UID: "x"},
		Spec:       corev1.PodSpec{NodeName: "n", RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c", RestartCount: 7,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container=c pod=p"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: finished, FinishedAt: finished}},
		}}},
	}
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// kubectl asks for completions and reads one in a line, and then what the shell does.
func TestCompletion(t *testing.T) {
	_, server := newFake(t)
	for _, tt := range []struct {
		words []string // the last is completed
		want  string   // one of the lines; the last line is about the shell
	}{
		{[]string{"ex"}, "explain"},
		{[]string{"explain", ""}, "pod/"},
		{[]string{"explain", "j"}, "job/"},
		{[]string{"pod/web"}, "pod/web-7d9f"},
		{[]string{"explain", "pod/web"}, "pod/web-ok"},
		{[]string{"explain", "pod", "rep"}, "report-x2k"},
		{[]string{"explain", "-n", "batch", "job/"}, "job/shards"},
		{[]string{"next", "-o", ""}, "yaml"},
		{[]string{"next", "--wa"}, "--watch"},
		{[]string{"next", "--context", ""}, "test"},
		{[]string{"next", "-A", ""}, ":4"},
		{[]string{"explain", "service", ""}, ":4"},
	} {
		words := append([]string{"__complete", "--kubeconfig", kubeconfig(t, server)}, tt.words...)
		code, stdout, _ := invoke(t, "", words...)
		found := false
		for line := range strings.Lines(stdout) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			found = found || word == tt.want
		}
		if code != 0 || !found {
			t.Errorf("%q: no line %q in\n%s", tt.words, tt.want, stdout)
		}
	}
}

// Files take the place of a cluster. All of them explain each other.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	recorded := func(name string) []string {
		text, err := os.ReadFile("internal/explain/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(text), "\n---\n")
	}
	secret := recorded("missing-secret.yaml")
	write("bundle/pods.yaml", secret[0])
	write("bundle/deep/events.yaml", secret[1])
	write("bundle/notes.json", `{"some": "json"}`)
	write("bundle/readme.txt", "no manifest")
	const twoJobs = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: one, uid: u1, labels: {app: one}}\n" +
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}\nstatus: {startTime: '2026-11-01T11:59:50Z'}\n---\n" +
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: two, namespace: shop, uid: u2, labels: {app: two}}\n" +
		"spec: {backofLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}\nstatus: {startTime: '2026-11-01T11:59:50Z'}\n"
	const mistaken = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {backofLimit: 1}\n"
	write("blank/a.yaml", " \n")
	write("two.yaml", twoJobs)
	write("checked/a.yaml", mistaken)
	write("checked/deep/b.yaml", mistaken)
	var crash map[string]any
	if err := yaml.Unmarshal([]byte(recorded("crash-loop.yaml")[0]), &crash); err != nil {
		t.Fatal(err)
	}
	delete(crash, "kind") // as in the list of an API server
	list, err := json.Marshal(map[string]any{"kind": "PodList", "apiVersion": "v1", "items": []any{crash}})
	if err != nil {
		t.Fatal(err)
	}
	write("list.json", string(list))
	delete(crash, "apiVersion")
	bare, err := json.Marshal(crash)
	if err != nil {
		t.Fatal(err)
	}
	write("bare.json", string(bare)) // as in an archive of OpenShift Insights
	write("array.json", `[{"kind":"Pod","metadata":{"name":"a"}},{"kind":"Pod","metadata":{"name":"b"}}]`)
	write("broken.yaml", "kind: Pod\nmetadata: [\n---\nkind: Pod\nmetadata: {name: after}\n")
	write("said.yaml", "# now: 2026-11-01T12:03:00Z\n"+recorded("crash-loop.yaml")[0])
	write("late.yaml", strings.ReplaceAll(recorded("crash-loop.yaml")[0], "T11:5", "T11:3"))
	write("old.yaml", strings.ReplaceAll(recorded("crash-loop.yaml")[0], "2026-11-01", "2025-03-01"))
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: x}]}}}\n"
	const ofCluster = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, uid: u}\nspec:\n  selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}}\n" +
		"  template: {metadata: {labels: {batch.kubernetes.io/controller-uid: u}}, spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}\nstatus: {active: 1}\n"
	endless := strings.Replace(ofCluster, "  template", "  podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [1]}}]}\n  template", 1)
	for _, tt := range []struct {
		args, stdin    string
		code           int
		stdout, stderr string
	}{
		{"-f bundle/pods.yaml", "", 0, "pod shop/mail: it is starting", "as of now (12:00:00); the latest time in the files is 2m earlier; --at sets another\n"},
		{"-f bundle/pods.yaml -o name", "", 0, "pod/mail", ""},
		{"-f late.yaml", "", 0, "next start    by 11:42:12 (17m48s ago), perhaps after the files were taken", "as of now"},
		{"next -f late.yaml", "", 0, "\n17m48s ago ", "as of now"},
		{"-f late.yaml --at 2026-11-01T12:00:00Z", "", 0, "overdue since 11:42:12 (17m48s); its node or controller is busy or gone", ""},
		{"-f bundle -R", "", 0, "create the Secret smtp-keys in namespace shop", ""},
		{"-f bundle/pods.yaml -f bundle/deep/events.yaml pod/mail", "", 0, "create the Secret smtp-keys", ""},
		{"-f bundle/pods.yaml,bundle/deep/events.yaml mail", "", 0, "create the Secret smtp-keys", ""},
		{"-f list.json", "", 0, "pod shop/web-7d9f: container app (5 restarts) was OOM-killed", ""},
		{"-f bare.json", "", 0, "pod shop/web-7d9f: container app (5 restarts) was OOM-killed", ""},
		{"-f array.json", "", 0, "pod default/b", ""},
		{"-f broken.yaml", "", 0, "pod default/after", "broken.yaml, document 1"},
		{"-f said.yaml", "", 0, "overdue since 12:02:12", ""},
		{"-f said.yaml --at 2026-11-01T12:00:00Z", "", 0, "in 1m40s to 2m12s", ""},
		{"-f old.yaml", "", 0, "in 2m40s to 3m12s", "as of 2025-03-01T11:59:00Z"},
		{"-f -", recorded("flapping.yaml")[0], 0, "230 restarts so far", ""},
		{"next -f -", recorded("lost-node.yaml")[0] + "\n---\n" + recorded("lost-node.yaml")[1], 0, "its end was due at 10:30:30", "as of now"},
		{"-f -", recorded("place-held.yaml")[0] + "\n---\n" + strings.ReplaceAll(recorded("place-held.yaml")[1], "T11:59", "T11:49"), 0, "job shop/imp: 3 pods could start by now, unless that has happened since", "as of now"},
		{"-f list.json pod/web-7d9f job/gone", "", 1, "web-7d9f", `the files have no job "gone"`},
		{"-f list.json -n other", "", 0, "no pods and no Jobs", ""},
		{"-f list.json -o name", "", 0, "pod/web-7d9f", ""},
		{"check -f -", mistaken, 1, "line 4: spec.backofLimit: unknown field: did you mean backoffLimit?", ""},
		{"-f -", deployment, 0, "deployment default/web: its pods are not in the files\n  to do         kubectl backoff check -f judges manifests", ""},
		{"deploy/web -f -", deployment + "---\n" + strings.Replace(recorded("crash-loop.yaml")[0], "namespace: shop", "namespace: default, labels: {app: web}", 1), 0,
			"deployment default/web: 0 of 3 pods run without trouble; 2 pods not in the files\n", ""},
		{"-f -", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {suspend: true}\n", 0, "its Jobs are not in the files; it is suspended", ""},
		{"-f -", ofCluster, 0, "its pods are not in the files", ""},
		{"-f -", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", 0, "it has no status, as in a manifest", ""},
		{"-f -", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {restartPolicy: Never}}}\n", 0, "job default/a: it has no status, as in a manifest", ""},
		{"check -f checked", "", 1, "1 object in checked: 3 errors.", ""},
		{"check -f checked -R", "", 1, "2 objects in checked: 6 errors.", ""},
		{"check -f -", ofCluster, 0, "nothing found", ""},
		{"check -f - ", endless, 0, "1 warning", ""},
		{"check -f - --strict", endless, 1, "1 warning", ""},
		{"next -f list.json", "", 0, "pod/web-7d9f", ""},
		{"next -f list.json -n other", "", 0, "nothing waits", ""},
		{"next -f list.json -n other -o name", "", 0, "", ""},
		{"next -f list.json -l app=other", "", 0, "nothing waits", ""},
		{"next -f list.json -n shop", "", 0, "pod/web-7d9f", ""},
		{"next -f two.yaml -l app=one -o name", "", 0, "job.batch/one\n", ""},
		{"next -f two.yaml -n other -o name", "", 0, "job.batch/one\n", ""},
		{"-f two.yaml -n other -o name", "", 0, "job.batch/one\n", ""},
		{"check -f two.yaml", "", 1, "2 objects in two.yaml: 1 error", ""},
		{"check -f two.yaml -n shop", "", 1, "2 objects in two.yaml: 1 error", ""},
		{"check -f two.yaml -n other", "", 0, "1 object in two.yaml: nothing found", ""},
		{"check -f -", "", 2, "", "no Kubernetes objects in standard input: whatever should have written them may have failed"},
		{"check -f -", "\n  \n# a comment\n---\n", 2, "", "no Kubernetes objects in standard input"},
		{"check -f blank/a.yaml", "", 2, "", "no Kubernetes objects in blank/a.yaml"},
		{"check -f blank,checked", "", 1, "1 object in blank, checked: 3 errors.", ""},
		{"check -f list.json -l a=b", "", 0, "0 objects in list.json: nothing found", ""},
		{"check -f -", "just: values\n", 0, "0 objects in standard input: nothing found", ""},
		{"-f missing.yaml", "", 2, "", "no such file"},
		{"-f -", "kind: [", 2, "", "nothing to explain could be read"},
		{"-f -", "", 2, "", "no Kubernetes objects in standard input; they are in the output of kubectl get with -o yaml or json"},
		{"-f -", "NAME    READY   STATUS             RESTARTS   AGE\nweb-0   0/1     CrashLoopBackOff   7          15m\n", 2, "", "no Kubernetes objects in standard input"},
		{"next -f -", "", 2, "", "no Kubernetes objects in standard input"},
		{"-f -", "apiVersion: v1\nkind: List\nitems: []\n", 0, "no pods and no Jobs in standard input", ""},
		{"-f -", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", 0, "no pods and no Jobs in standard input", ""},
		{"-f list.json --at noon", "", 2, "", "must be a time"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Chdir(folder)
			code, stdout, stderr := invokeWith(t, tt.stdin, "", strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || (tt.stdout == "") != (stdout == "") ||
				!strings.Contains(stderr, tt.stderr) || (tt.stderr == "") != (stderr == "") {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, tt.code, stdout, stderr)
			}
		})
	}
}

// The live table knows the Events and nodes that have come since its start, and keeps
// those that it knows if it may not read them any more.
func TestWatchReadsEventsAndNodesAgain(t *testing.T) {
	f, url := newFake(t)
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	p := &program{IOStreams: streams, now: func() time.Time { return noon }, config: newConfigFlags(), allNamespaces: true}
	path := kubeconfig(t, url)
	p.config.KubeConfig = &path
	c, err := p.connect()
	if err != nil {
		t.Fatal(err)
	}
	pods, err := c.pods(t.Context(), "", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	objects := explain.Objects{Pods: pods}
	says := func() (texts string) {
		for _, w := range explain.New(objects, p.options()).Next() {
			texts += w.Reason + ": " + w.Why + "\n"
		}
		return texts
	}
	const mount, node = `FailedMount: MountVolume.SetUp failed for volume "keys"`, "node node-b has not reported for more than 1h35m, since before 10:25:00"
	if text := says(); strings.Contains(text, mount) || strings.Contains(text, node) {
		t.Fatalf("known without Events and nodes:\n%s", text)
	}
	for _, forbidden := range []bool{false, true} {
		f.forbidden["events"], f.forbidden["nodes"] = forbidden, false
		if err := p.rereadRelated(t.Context(), c, &objects); err != nil {
			t.Fatal(err)
		}
		if text := says(); !strings.Contains(text, mount) || !strings.Contains(text, node) {
			t.Errorf("forbidden %v:\n%s", forbidden, text)
		}
	}
}

// A Job whose pods are due while one of its indexes waits is two items, each printed once
// until it changes.
func TestLinesTellDueAndWaitingIndexesApart(t *testing.T) {
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	l := &lines{p: &program{IOStreams: streams, now: func() time.Time { return noon }}, shown: make(map[itemKey]explain.Waiting)}
	due := explain.Waiting{Kind: "Job", Namespace: "shop", Name: "imp", Reason: "PodsDue", From: noon, To: noon}
	index := due
	index.Reason, index.From, index.To = explain.IndexDelay, noon.Add(time.Minute), noon.Add(time.Minute)
	for _, all := range [][]explain.Waiting{{due, index}, {due, index}, {index}} {
		if err := l.show(all, ""); err != nil {
			t.Fatal(err)
		}
	}
	var reasons []string
	for line := range strings.Lines(out.String()) {
		reasons = append(reasons, strings.Fields(line)[2])
	}
	if got := strings.Join(reasons, " "); got != "PodsDue, IndexDelay, waits" {
		t.Errorf("%s:\n%s", got, out)
	}
}

// The live table fills a screen of its own, line by line, and no line is longer than the
// screen is wide.
func TestPageFitsTheScreen(t *testing.T) {
	p := &program{now: func() time.Time { return noon }}
	var all []explain.Waiting
	for i := range 50 {
		all = append(all, explain.Waiting{Kind: "Pod", Namespace: "shop", Name: fmt.Sprint("p", i), Reason: "CrashLoopBackOff", Why: strings.Repeat("long ", 50)})
	}
	page := (&screen{p: p}).page(all, 60, 10)
	rows := strings.Split(page, "\r\n")
	if len(rows) != 10 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		row = strings.NewReplacer("\x1b[H", "", "\x1b[2K", "", "\x1b[J", "").Replace(row)
		if len([]rune(row)) > 60 || strings.Contains(row, "\x1b") {
			t.Errorf("%q", row)
		}
	}
	if !strings.Contains(rows[0], "50 waiting, 8 shown") || !strings.Contains(rows[1], "STARTS") || !strings.HasSuffix(rows[2], "…") {
		t.Errorf("%q", rows[0])
	}
}
