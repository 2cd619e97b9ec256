package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// invoke runs the program with a kubeconfig for the server, as "kubectl restart ARGS".
func invoke(t testing.TB, server string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	p := program{in: t.Context(), stdout: &out, stderr: &errs, now: func() time.Time { return noon }}
	if server != "" {
		args = append(args, "--kubeconfig", kubeconfig(t, server))
		if !slices.Contains(args, "--request-timeout") {
			args = append(args, "--request-timeout", "10m") // the machine may be busy
		}
	}
	code = p.run(args)
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
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server.URL
}

func (f *fake) add(object map[string]any) {
	resource := strings.ToLower(object["kind"].(string)) + "s"
	f.objects[resource] = append(f.objects[resource], object)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		all = append(all, x)
	}
	if len(rest) > 1 {
		refuse(404, metav1.StatusReasonNotFound, "not found")
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
	kind := map[string]string{"pods": "PodList", "jobs": "JobList", "cronjobs": "CronJobList", "deployments": "DeploymentList", "statefulsets": "StatefulSetList", "daemonsets": "DaemonSetList", "replicasets": "ReplicaSetList", "namespaces": "NamespaceList"}[resource]
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
		{"explain po web-7d9f web-ok", 0, "nothing is wrong", ""},
		{"explain pods", 0, "pod shop/report-x2k", ""},
		{"explain -A jobs", 0, "job ml/train", ""},
		{"explain job/import -n batch", 0, "3 failures counted, 1 more fails the Job", ""},
		{"explain jobs.batch/import -nbatch", 0, "3 failures counted", ""},
		{"explain pod/web-7d9f --sync-frequency 1s", 0, "between 12:01:40 and 12:01:42", ""},
		{"explain pod/gone", 1, "", `pod "gone" in namespace "shop" does not exist`},
		{"explain pod/gone pod/web-ok", 1, "pod shop/web-ok", "does not exist"},
		{"explain pod/web-7d9f -ojson", 0, `"from": "2026-11-01T12:01:40Z"`, ""},
		{"explain pod/web-7d9f -o yaml", 0, `2026-11-01T12:02:`, ""},
		{"next -A", 0, "pod/web-7d9f", ""},
		{"next", 0, "pod/report-x2k", ""},
		{"next -n empty", 0, "nothing waits", ""},
		{"next -n empty -o json", 0, `"items": []`, ""},
		{"compare web-7d9f", 0, "Docker", ""},
		{"compare pod/web-7d9f -o json", 0, `"name": "systemd"`, ""},
		{"compare job/x", 2, "", "only pods"},
		{"lint", 0, "nothing found", ""},
		{"lint -A", 1, "spec.podFailurePolicy.rules[1]: {", ""},
		{"lint -n batch -o json", 1, `"kind": "unreachable"`, ""},
		{"lint -A --for 1.25", 1, "spec.podFailurePolicy", ""},
		{"lint --for 2.0", 2, "", "1.25 to 1.38"},
		{"version", 0, "kubectl-restart", ""},
		{"explain", 2, "", "explain what?"},
		{"explain node/x", 2, "", "pod/NAME or job/NAME"},
		{"explain service x", 2, "", "not a type"},
		{"explain pod/x -A", 2, "", "exclude each other"},
		{"explain pod/x -l a=b", 2, "", "exclude each other"},
		{"next extra", 2, "", "takes no names"},
		{"next -o wide", 2, "", "must be json or yaml"},
		{"next -w -o yaml", 2, "", "not yaml"},
		{"lint -w", 2, "", "does not take --watch"},
		{"restart pod/x", 2, "", "unknown verb"},
		{"--nonsense", 2, "", "unknown flag"},
		{"explain pod/web-ok --context other", 3, "", `context "other" does not exist`},
		{"", 0, "Exit codes:", ""},
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

// A missing right is one line, and the rest goes on.
func TestMissingRights(t *testing.T) {
	for _, tt := range []struct {
		args, forbidden string
		code            int
		stdout, stderr  string
		lines           int // of stderr
	}{
		{"next -A", "jobs", 0, "pod/web-7d9f", "you may not read jobs in all namespaces", 1},
		{"next -A", "pods", 0, "nothing waits", "you may not read pods", 2},
		{"next -A", "pods jobs", 3, "", "you may not read jobs", 2},
		{"explain job/import -n batch", "pods", 0, "3 failures counted", "explained without its pods", 1},
		{"explain jobs -A", "pods", 0, "job ml/train", "explained without their pods", 1},
		{"explain job/import -n batch", "jobs", 3, "", "you may not read job", 1},
		{"lint -A --for 1.25", "cronjobs deployments", 1, "spec.podFailurePolicy", "you may not read cronjobs", 2},
		{"lint -A", "cronjobs deployments jobs pods statefulsets daemonsets replicasets", 3, "", "you may not read pods", 7},
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
	if defaultTimeout >= 10*time.Second {
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
		for _, args := range []string{"next", "explain pod/x", "explain job/x", "compare x", "lint -A"} {
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
	config := kubeconfig(t, server)
	for _, tt := range []struct {
		words []string // the last is completed
		want  string
	}{
		{[]string{"ex"}, "explain :4"},
		{[]string{""}, "explain next compare lint version :4"},
		{[]string{"explain", ""}, "pod/ job/ :6"},
		{[]string{"explain", "j"}, "job/ :6"},
		{[]string{"compare", ""}, "pod/ :6"},
		{[]string{"explain", "pod/web"}, "pod/web-7d9f pod/web-ok :4"},
		{[]string{"explain", "pod", "rep"}, "report-x2k :4"},
		{[]string{"explain", "-n", "batch", "job/"}, "job/shards job/import job/nightly job/hourly :4"},
		{[]string{"next", "-o", ""}, "json yaml :4"},
		{[]string{"next", "--wa"}, "--watch :4"},
		{[]string{"next", "--context", ""}, "test :4"},
		{[]string{"next", "-A", ""}, ":4"},
		{[]string{"explain", "service", ""}, "pod/ job/ :6"},
		{[]string{"nothing", ""}, ":4"},
	} {
		var out, errs bytes.Buffer
		p := program{in: t.Context(), stdout: &out, stderr: &errs, now: time.Now, completeTimeout: 10 * time.Minute}
		words := append([]string{completeVerb, "--kubeconfig", config}, tt.words...)
		code := p.run(words)
		got, want := strings.Fields(out.String()), strings.Fields(tt.want)
		if code != 0 || errs.Len() > 0 || !sameWords(got, want) {
			t.Errorf("%q: %q, want %q %s", tt.words, got, want, errs.String())
		}
	}
}

// sameWords reports whether both have the same words in any order, with the same last.
func sameWords(a, b []string) bool {
	count := make(map[string]int)
	for _, w := range a {
		count[w]++
	}
	for _, w := range b {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return len(a) > 0 && a[len(a)-1] == b[len(b)-1]
}
