package jobcontroller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// faults configure the faults of a client. Only dead may be set after its first
// request.
type faults struct {
	mu       sync.Mutex
	random   *rand.Rand // nil: no fault
	refused  int        // percent of requests that are not carried out
	lost     int        // percent of requests that are carried out and whose answers are lost
	late     int        // percent of creations of pods that are carried out up to 30s after their answers are lost
	lag      map[string]time.Duration
	dead     bool                                                             // nothing gets through any more: the client's process was killed
	hook     func(ctx context.Context, call string) (refuse error, lose bool) // of a request as serve counts it; nil: none
	counts   map[string]int
	outage   time.Time // until when creations of pods are refused
	failed   time.Time // when a creation of a pod failed last
	failedOf string    // the Job that it was for
}

// roll decides whether the next request is refused, and whether its answer is lost.
func (f *faults) roll(watch bool) (dead, refused, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead || f.random == nil || watch {
		return f.dead, false, false
	}
	n := f.random.IntN(100)
	refused, lost = n < f.refused, n >= f.refused && n < f.refused+f.lost
	if f.counts != nil {
		if refused {
			f.counts["refused"]++
		}
		if lost {
			f.counts["answer lost"]++
		}
	}
	return false, refused, lost
}

// out reports whether a request creates a pod while creations fail.
func (f *faults) out(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return callOf(r) == "POST pods" && time.Now().Before(f.outage)
}

// creationFails records the failure of a request that creates a pod.
func (f *faults) creationFails(r *http.Request) {
	if callOf(r) != "POST pods" {
		return
	}
	body, err := r.GetBody()
	if err != nil {
		return
	}
	text, _ := io.ReadAll(body)
	var pod corev1.Pod
	if json.Unmarshal(text, &pod) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed, f.failedOf = time.Now(), metav1.GetControllerOf(&pod).Name
}

// creationFailed returns the Job with a failed creation within the last seconds, or "".
func (f *faults) creationFailed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.failed) < 2*time.Second {
		return f.failedOf
	}
	return ""
}

// lateness returns the delay of a request.
func (f *faults) lateness(call string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if call != "POST pods" || f.random == nil || f.random.IntN(100) >= f.late {
		return 0
	}
	if f.counts != nil {
		f.counts["creation carried out late"]++
	}
	return 1 + time.Duration(f.random.Int64N(int64(30*time.Second)))
}

// serveLate creates the pod of a request later, unless its client is killed. The
// request is lost if a pod of that name has come and gone meanwhile. It might create
// another one, which no controller could detect.
func (s *apiServer) serveLate(r *http.Request, f *faults, wait time.Duration) {
	body, _ := io.ReadAll(r.Body)
	name := fieldsOf(json.RawMessage(body))["metadata"].(map[string]any)["name"]
	late := r.Clone(context.WithValue(context.Background(), sentKey{}, time.Now()))
	late.Body = io.NopCloser(bytes.NewReader(body))
	time.AfterFunc(wait, func() {
		s.mu.Lock()
		used := slices.ContainsFunc(s.history, func(c change) bool { return c.object.GetName() == name })
		s.mu.Unlock()
		if dead, _, _ := f.roll(true); !dead && !used {
			_, _ = s.serve(late)
		}
	})
}

// sentKey is the context key of the time at which a request was sent, if not now.
type sentKey struct{}

func (f *faults) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

func (f *faults) delay(resource string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.lag[resource]
	if d > 0 && f.random != nil {
		d = time.Duration(f.random.Int64N(int64(d)))
	}
	return d
}

var errReset = errors.New("connection reset by peer")

// client returns a client with the faults.
func (s *apiServer) client(t testing.TB, f *faults) kubernetes.Interface {
	t.Helper()
	return newClient(t, func(r *http.Request) (*http.Response, error) {
		watch := r.URL.Query().Get("watch") == "true"
		dead, refused, lost := f.roll(watch)
		switch {
		case dead:
			return nil, errReset
		case refused, f.out(r):
			f.creationFails(r)
			return answer(nil, apierrors.NewServiceUnavailable("try later")), nil
		case watch:
			return s.watch(r, f), nil
		}
		if f.hook != nil {
			refuse, lose := f.hook(r.Context(), callOf(r))
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			if refuse != nil {
				return answer(nil, refuse), nil
			}
			lost = lost || lose
		}
		if wait := f.lateness(callOf(r)); wait > 0 {
			f.creationFails(r)
			s.serveLate(r, f, wait)
			return nil, errReset
		}
		body, err := s.serve(r)
		if lost {
			f.creationFails(r)
			return nil, errReset
		}
		return answer(body, err), nil
	})
}

// newClient returns a client whose requests serve answers.
func newClient(t testing.TB, serve roundTripper) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://server", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, Transport: serve})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(body any, err error) *http.Response {
	code, retryAfter := http.StatusOK, ""
	if err != nil {
		status := err.(apierrors.APIStatus).Status()
		status.Kind, status.APIVersion = "Status", "v1"
		body, code = &status, int(status.Code)
		if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
			retryAfter = strconv.Itoa(int(d.RetryAfterSeconds))
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	r := respond(code, io.NopCloser(bytes.NewReader(text)))
	if retryAfter != "" {
		r.Header.Set("Retry-After", retryAfter)
	}
	return r
}

func respond(code int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ProtoMajor: 1, ProtoMinor: 1}
}

// request is a parsed request path.
type request struct {
	resource, namespace, name, subresource string
}

func parse(path string) (r request) {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/api/v1/"), "/apis/batch/v1/")
	parts := strings.Split(path, "/")
	if parts[0] == "namespaces" && len(parts) > 2 {
		r.namespace, parts = parts[1], parts[2:]
	}
	for i, to := range []*string{&r.resource, &r.name, &r.subresource} {
		if i < len(parts) {
			*to = parts[i]
		}
	}
	return r
}

// callOf names a request, such as LIST pods, GET jobs or PATCH jobs/status. A GET that
// accepts a cached answer is GET cached jobs.
func callOf(r *http.Request) string {
	q := parse(r.URL.Path)
	method := r.Method
	if method == http.MethodGet && q.name == "" {
		method = "LIST"
	} else if method == http.MethodGet && r.URL.Query().Get("resourceVersion") != "" {
		method = "GET cached"
	}
	return strings.TrimSuffix(method+" "+q.resource+"/"+q.subresource, "/")
}

// watch streams changes, delayed by the client's lag.
func (s *apiServer) watch(r *http.Request, f *faults) *http.Response {
	q := parse(r.URL.Path)
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	initial := r.URL.Query().Get("sendInitialEvents") == "true"
	reader, writer := io.Pipe()
	ctx := r.Context()
	stop := context.AfterFunc(ctx, func() {
		_ = writer.CloseWithError(ctx.Err())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	go func() {
		defer stop()
		defer writer.Close()
		if initial {
			s.mu.Lock()
			list := s.list(q)
			from = s.version
			s.mu.Unlock()
			time.Sleep(f.delay(q.resource))
			for _, o := range list.(map[string]any)["items"].([]any) {
				if send(writer, "ADDED", q.resource, o) != nil {
					return
				}
			}
			end := metav1.ObjectMeta{ResourceVersion: strconv.Itoa(from), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}
			if send(writer, "BOOKMARK", q.resource, bookmark(q.resource, end)) != nil {
				return
			}
		}
		s.mu.Lock()
		next := len(s.history)
		for next > 0 && s.history[next-1].version > from {
			next--
		}
		s.mu.Unlock()
		for {
			s.mu.Lock()
			for next == len(s.history) && ctx.Err() == nil {
				s.changed.Wait()
			}
			if ctx.Err() != nil {
				s.mu.Unlock()
				return
			}
			c := s.history[next]
			next++
			o := s.stored(c.object)
			s.mu.Unlock()
			if c.resource != q.resource || q.namespace != "" && c.object.GetNamespace() != q.namespace {
				continue
			}
			if wait := time.Until(c.at.Add(f.delay(q.resource))); wait > 0 {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
			}
			if send(writer, c.kind, q.resource, o) != nil {
				return
			}
		}
	}()
	return respond(http.StatusOK, reader)
}

func bookmark(resource string, meta metav1.ObjectMeta) object {
	if resource == "jobs" {
		return &batchv1.Job{ObjectMeta: meta}
	}
	return &corev1.Pod{ObjectMeta: meta}
}

func send(w io.Writer, kind, resource string, o any) error {
	fields := fieldsOf(o)
	fields["kind"], fields["apiVersion"] = jobKind.Kind, jobKind.GroupVersion().String()
	if resource != "jobs" {
		fields["kind"], fields["apiVersion"] = "Pod", corev1.SchemeGroupVersion.String()
	}
	text, err := json.Marshal(map[string]any{"type": kind, "object": fields})
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// refusing refuses the calls of a kind while refuse is set.
type refusing struct {
	call   string
	refuse bool
}

func (r *refusing) faults() *faults {
	return &faults{hook: func(_ context.Context, call string) (error, bool) {
		if r.refuse && call == r.call {
			return forbidden("no right to"), false
		}
		return nil, false
	}}
}
