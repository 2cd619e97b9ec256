package page

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const address = "127.0.0.1:8017"

// ask sends a request as the page does, with the changes of a test.
func ask(t *testing.T, method, path, body string, change func(*http.Request)) (status int, answer string) {
	t.Helper()
	r := httptest.NewRequest(method, "http://"+address+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	Handler(address).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Only the page itself is answered, and only what it asks.
func TestForeignRequestsAreRefused(t *testing.T) {
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, test := range map[string]struct {
		method, path, body string
		change             func(*http.Request)
		want               int
	}{
		"the page":                  {"GET", "/", "", nil, 200},
		"its head":                  {"HEAD", "/style.css", "", nil, 200},
		"by the name localhost":     {"GET", "/", "", host("localhost:8017"), 200},
		"by the other loopback":     {"GET", "/", "", host("[::1]:8017"), 200},
		"another file":              {"GET", "/page.go", "", nil, 404},
		"a path upwards":            {"GET", "/../page.go", "", nil, 307},
		"the examples":              {"GET", "/api/examples", "", nil, 200},
		"a question":                {"POST", "/api/check", "{}", nil, 200},
		"its own origin":            {"POST", "/api/check", "{}", header("Origin", "http://127.0.0.1:8017"), 200},
		"an older browser":          {"POST", "/api/check", "{}", func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }, 200},
		"a rebound name":            {"GET", "/", "", host("evil.example:8017"), 421},
		"a rebound name asks":       {"POST", "/api/check", "{}", host("evil.example:8017"), 421},
		"without a port":            {"GET", "/", "", host("127.0.0.1"), 421},
		"another port":              {"GET", "/", "", host("127.0.0.1:80"), 421},
		"another origin":            {"POST", "/api/check", "{}", header("Origin", "http://evil.example"), 403},
		"another port's origin":     {"POST", "/api/check", "{}", header("Origin", "http://127.0.0.1:80"), 403},
		"an origin by TLS":          {"POST", "/api/check", "{}", header("Origin", "https://127.0.0.1:8017"), 403},
		"no origin":                 {"POST", "/api/check", "{}", header("Origin", "null"), 403},
		"another site":              {"POST", "/api/check", "{}", header("Sec-Fetch-Site", "cross-site"), 403},
		"another port of this host": {"GET", "/api/examples", "", header("Sec-Fetch-Site", "same-site"), 403},
		"a form":                    {"POST", "/api/check", "{}", header("Content-Type", "text/plain"), 415},
		"a GET that asks":           {"GET", "/api/check", "", nil, 405},
		"a POST of a file":          {"POST", "/", "", nil, 405},
		"a DELETE":                  {"DELETE", "/api/examples", "", nil, 405},
		"no JSON":                   {"POST", "/api/run", "{", nil, 400},
		"an unknown field":          {"POST", "/api/run", `{"manifst": ""}`, nil, 400},
		"another type":              {"POST", "/api/curve", `{"pods": "many"}`, nil, 400},
		"too much":                  {"POST", "/api/check", `{"manifest": "` + strings.Repeat("x", largestRequest) + `"}`, nil, 413},
	} {
		status, answer := ask(t, test.method, test.path, test.body, test.change)
		if status != test.want {
			t.Errorf("%s: status %d, want %d: %.200s", name, status, test.want, answer)
		}
		if status >= 400 && strings.Contains(answer, "summary") {
			t.Errorf("%s: is answered: %.200s", name, answer)
		}
	}
}

// A policy forbids the page to load from, or send to, anybody else.
func TestPageHasAPolicy(t *testing.T) {
	w := httptest.NewRecorder()
	Handler(address).ServeHTTP(w, httptest.NewRequest("GET", "http://"+address+"/page.js", nil))
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %q", policy)
	}
	if kind := w.Header().Get("Content-Type"); kind != "text/javascript; charset=utf-8" {
		t.Errorf("type %q", kind)
	}
}

// Serve serves until its context ends.
func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, listener) }()
	answer, err := http.Get("http://" + listener.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || !bytes.Contains(text, []byte("restart playground")) {
		t.Errorf("%v: %s", err, text)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// view returns the answer to a question.
func view[A any](t *testing.T, path string, question any) (a A) {
	t.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := ask(t, "POST", path, string(body), nil)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, answer)
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// plain is a Job with further fields of its specification.
func plain(more string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: plain}\nspec:\n" + more +
		"  template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}\n"
}

// Every example can be tried and run, but the one with mistakes.
func TestExamplesCanBeRun(t *testing.T) {
	for _, e := range allExamples() {
		a := view[checkAnswer](t, "/api/check", checkQuestion{Manifest: e.Text})
		r := view[runAnswer](t, "/api/run", runQuestion{Manifest: e.Text})
		if e.Name == "mistakes" {
			if a.Summary != "2 objects judged: 4 errors." || a.NoJob == "" || r.NoJob != a.NoJob || r.Steps > 0 {
				t.Errorf("%s: %q, %q, %q", e.Name, a.Summary, a.NoJob, r.Summary)
			}
			continue
		}
		if a.NoJob != "" || len(a.Trials) < 2 || len(a.Objects) != 1 || a.Objects[0].Worst == "" || r.Steps < 3 || r.Picture == nil || strings.Contains(a.Summary, "error") {
			t.Errorf("%s: %q, %q, %d trials, %q", e.Name, a.Summary, a.NoJob, len(a.Trials), r.Summary)
		}
	}
}

// The page says of manifests what restart check says, with the lines.
func TestCheckSaysWhatIsWrong(t *testing.T) {
	a := view[checkAnswer](t, "/api/check", checkQuestion{Manifest: plain("  completionz: 3\n")})
	want := Remark{5, "error", "spec.completionz: unknown field: did you mean completions?"}
	if a.Summary != "1 object judged: 1 error." || len(a.Objects) != 1 || a.Objects[0].Title != "Job plain" || a.Objects[0].Remarks[0] != want {
		t.Errorf("%+v", a)
	}
	for _, test := range []struct{ manifest, summary, noJob string }{
		{"", "0 objects judged: nothing found.", "This needs a Job or a CronJob"},
		{"kind: [", "0 objects judged: 1 error.", "This needs a Job"},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "0 objects judged: nothing found. Passed over: 1 other document.", "This needs a Job"},
		{"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: x}]}\n", "1 object judged: nothing found.", "This needs a Job"},
		{strings.Repeat("#", largestManifest+1), "Not judged.", ""},
		{strings.Repeat("[", 5000), "0 objects judged: 1 error.", "This needs a Job"},
	} {
		a := view[checkAnswer](t, "/api/check", checkQuestion{Manifest: test.manifest})
		if a.Summary != test.summary || !strings.HasPrefix(a.NoJob, test.noJob) || len(a.Trials) > 0 {
			t.Errorf("%.60q: %q, %q", test.manifest, a.Summary, a.NoJob)
		}
	}
}

// One of several Jobs is chosen by its name.
func TestJobIsChosenByItsName(t *testing.T) {
	two := plain("") + "---\n" + strings.Replace(plain("  backoffLimit: 2\n"), "plain", "other", 1)
	for name, want := range map[string]string{"": "plain", "other": "other"} {
		a := view[checkAnswer](t, "/api/check", checkQuestion{Manifest: two, Job: name})
		if a.Job != want || len(a.Jobs) != 2 {
			t.Errorf("%q: %q of %q", name, a.Job, a.Jobs)
		}
		if r := view[runAnswer](t, "/api/run", runQuestion{Manifest: two, Job: name}); !strings.Contains(r.Summary, "Job "+want) {
			t.Errorf("%q: %s", name, r.Summary)
		}
	}
}
