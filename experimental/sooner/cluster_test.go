package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/restartkit/restart/experimental/sooner/internal/decide"
)

// fakeServer answers requests to an API server without a connection.
type fakeServer struct {
	mu       sync.Mutex
	requests []string          // such as "PATCH /api/v1/namespaces/ns/pods/p/status BODY"
	code     int               // of all other answers; 0 for none at all
	answers  map[string]answer // by path
}

type answer struct {
	code int
	body string
}

func (s *fakeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body))
	a, ok := s.answers[r.URL.Path]
	if !ok {
		a = answer{s.code, `{"kind": "Status", "apiVersion": "v1"}`}
	}
	if a.code == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(a.body)),
	}, nil
}

// set sets the answer of a path from now on.
func (s *fakeServer) set(path string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = a
}

// answer makes all answers have a code from now on.
func (s *fakeServer) answer(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code = code
}

// of returns the requests that begin with a prefix.
func (s *fakeServer) of(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r string) bool { return !strings.HasPrefix(r, prefix) })
}

// connect gives the agent an API server.
func (h *host) connect() *fakeServer {
	h.t.Helper()
	s := &fakeServer{code: http.StatusCreated, answers: make(map[string]answer)}
	c, err := newCluster(&rest.Config{Host: "http://server", Transport: s}, &options{node: "node1"}, h.wake)
	if err != nil {
		h.t.Fatal(err)
	}
	h.cluster = c
	return s
}

// crash adds a pod whose container has exited, and the kubelet has told the API server.
func (h *host) crash(name, id string, code int32, change func(p *corev1.Pod)) *corev1.Pod {
	h.t.Helper()
	p := crashed(name, id, code, time.Now())
	if change != nil {
		change(p)
	}
	h.runtime.box("ns", name, "uid-"+name)
	h.runtime.record("uid-"+name, exitedStatus(id, code, 0, h.logIn("ns_"+name+"_uid-"+name, "0.log")))
	h.cluster.set(p)
	return p
}

// A pod of the API server restarts as soon as that shows the exit. Patches of an
// annotation, which name the UID, make the kubelet look.
func TestPodOfAPIServerRestarts(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		s := h.connect()
		h.start()
		rules := func(p *corev1.Pod) { p.Annotations[annotationRules] = secondAfter42 }
		shown := h.crash("p", "p0", 42, rules)
		p := shown.DeepCopy()
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		h.cluster.set(p)
		h.after(time.Minute)
		h.want() // the exit is not shown
		h.cluster.set(shown)
		h.after(0)
		h.want("RemoveContainer p0")
		patches := s.of("PATCH")
		if len(patches) != 1 || !strings.HasPrefix(patches[0], "PATCH /api/v1/namespaces/ns/pods/p/status {") || !strings.Contains(patches[0], `"uid":"uid-p"`) || !strings.Contains(patches[0], `"restartkit.dev/poked":"20`) {
			t.Errorf("%q", patches)
		}
		h.after(decide.PokeEvery)
		if n := len(s.of("PATCH")); n != 2 {
			t.Errorf("%d patches a second later", n)
		}
		h.runtime.record("uid-p", runningStatus("p1", 1, h.logIn("ns_p_uid-p", "1.log")))
		h.after(10 * time.Minute)
		if n := len(s.of("")); n > 3 {
			t.Errorf("requests: %q", s.of(""))
		}
		h.want("RemoveContainer p0")
	})
}

// If the kubelet does nothing after patches, every other poke is a record.
func TestPokesByRecord(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		s := h.connect()
		h.start()
		h.crash("p", "p0", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = secondAfter42 })
		h.after(time.Second + 3*decide.PokeEvery - time.Millisecond)
		h.want("RemoveContainer p0")
		if n := len(s.of("PATCH")); n != 3 {
			t.Errorf("%d patches before the first record", n)
		}
		h.after(2 * decide.PokeEvery)
		h.want("RemoveContainer p0", "CreateContainer box-uid-p")
		if n := len(s.of("PATCH")); n != 4 {
			t.Errorf("%d patches after the first record", n)
		}
		h.runtime.with(func() {
			if image := h.runtime.created[0].Config.Image.Image; image != "image-of-uid-p" {
				t.Errorf("the record is of image %s", image)
			}
		})
		h.after(decide.PokeEvery)
		h.want("RemoveContainer p0", "RemoveContainer created-0", "CreateContainer box-uid-p", "CreateContainer box-uid-p")
	})
}

// Failed answers are counted and logged, and pokes go on. A pod gone by then, or with a
// new UID, is no mistake.
func TestPokeFails(t *testing.T) {
	for code, failures := range map[int]bool{0: true, http.StatusForbidden: true, http.StatusInternalServerError: true, http.StatusNotFound: false, http.StatusConflict: false} {
		bubble(t, func(t *testing.T, h *host) {
			s := h.connect()
			s.answer(code)
			h.crash("p", "p0", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = secondAfter42 })
			h.start()
			h.after(10 * time.Second)
			counts, logged := h.counted("errors", "poke"), len(h.log.with("poke failed"))
			if failed := counts > 0 && logged > 0; failed != failures || len(s.of("PATCH")) < 2 {
				t.Errorf("answer %d: %v failures counted, %d logged, %d tries", code, counts, logged, len(s.of("PATCH")))
			}
		})
	}
}

// Each mistake in an annotation has one Event, also if the server was away, and if many
// pods have the same mistake.
func TestOneEventPerMistake(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		s := h.connect()
		const pods = 50 // more than the requests at a time
		bad := func(text string) func(p *corev1.Pod) {
			return func(p *corev1.Pod) { p.Annotations[annotationRules] = text }
		}
		s.answer(0)
		h.start()
		for i := range pods {
			h.crash(fmt.Sprint("p", i), fmt.Sprint("p", i), 42, bad("{"))
		}
		h.after(10 * time.Minute)
		if counts := h.counted("errors", "event"); counts < pods || counts > 20*pods {
			t.Errorf("%v failures counted in 10 minutes", counts)
		}
		s.answer(http.StatusCreated)
		before := len(s.of("POST"))
		h.after(10 * time.Minute)
		events := s.of("POST")[before:]
		if len(events) != pods {
			t.Fatalf("%d Events, want %d", len(events), pods)
		}
		for _, e := range events {
			if !strings.HasPrefix(e, "POST /api/v1/namespaces/ns/events ") || !strings.Contains(e, "annotation "+annotationRules+": ") {
				t.Fatalf("Event %s", e)
			}
		}
		// Another change of a pod is none of the mistake. Another mistake is.
		p := crashed("p0", "p0", 42, time.Now())
		bad("{")(p)
		p.Status.Phase = corev1.PodPending
		h.cluster.set(p)
		h.after(10 * time.Minute)
		if n := len(s.of("POST")) - before; n != pods {
			t.Errorf("%d Events, want %d", n, pods)
		}
		p = p.DeepCopy()
		bad(`{"nope": 1}`)(p)
		h.cluster.set(p)
		h.after(10 * time.Minute)
		if n := len(s.of("POST")) - before; n != pods+1 {
			t.Errorf("%d Events, want %d", n, pods+1)
		}
		h.want()
	})
}

// A rule that decides on no exit has an Event, too, and the other rules hold.
func TestContradictionHasAnEvent(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		s := h.connect()
		h.start()
		h.crash("p", "p0", 42, func(p *corev1.Pod) {
			p.Annotations[annotationRules] = `{"restartPolicyRules": [
				{"action": "GiveUp", "exitCodes": {"operator": "In", "values": [1]}},
				{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}, "delay": {"initial": "1s", "max": "1s"}}],
				"curve": {"initial": "1s", "max": "1s"}}`
		})
		h.after(time.Minute)
		if got := s.of("POST"); len(got) != 1 || !strings.Contains(got[0], reasonUnreachable) || !strings.Contains(got[0], "restartPolicyRules[1]: ") {
			t.Errorf("Events %q", got)
		}
		if got := h.runtime.of("RemoveContainer"); len(got) == 0 || got[0] != "RemoveContainer p0" {
			t.Errorf("removals %q", got)
		}
	})
}

// A finished pod's annotation is not read, so nothing is said about it.
func TestFinishedPodHasNoEvent(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		s := h.connect()
		h.start()
		h.crash("p", "p0", 0, func(p *corev1.Pod) {
			p.Annotations[annotationRules], p.Status.Phase = "{", corev1.PodSucceeded
		})
		h.after(time.Minute)
		h.want()
		if got := s.of(""); len(got) > 0 {
			t.Errorf("requests %q", got)
		}
	})
}

// The owner's limits hold against what pods ask for: a delay of nothing waits for --min-delay,
// and pods that want more restarts than the namespace may have take turns. A pod of another
// namespace does not notice.
func TestLimits(t *testing.T) {
	const atOnce = `{"curve": {"initial": "1ns", "max": "1ns"}}`
	bubble(t, func(t *testing.T, h *host) {
		h.connect()
		h.state = decide.NewState(decide.Limits{MinDelay: 3 * time.Second, NodePerMinute: 60, NamespacePerMinute: 6})
		h.start()
		h.after(time.Minute)
		for i := range 3 {
			h.crash(fmt.Sprint("greedy", i), fmt.Sprint("g", i), 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = atOnce })
		}
		h.after(2 * time.Second)
		h.want()
		h.after(time.Second)
		if n := len(h.runtime.of("RemoveContainer g")); n != 1 {
			t.Errorf("%d restarts when the least delay is over, want 1", n)
		}
		if n := h.counted("refused", string(decide.ReasonBudget)); n != 2 {
			t.Errorf("%v restarts are held, want 2", n)
		}
		h.static("web", atOnce) // in the namespace default
		h.exit("web", "web0", 42, 0)
		h.after(3*time.Second + decide.Poll)
		if n := len(h.runtime.of("RemoveContainer web0")); n != 1 {
			t.Errorf("%d restarts of the neighbour", n)
		}
		h.after(20 * time.Second)
		if n := len(h.runtime.of("RemoveContainer g")); n != 3 {
			t.Errorf("%d restarts in 26 s, want 3", n)
		}
	})
}

// A dry run sends nothing to the API server.
func TestDryRunSendsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.dryRun = true
		s := h.connect()
		h.start()
		h.crash("p", "p0", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = secondAfter42 })
		h.crash("q", "q0", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = "{" })
		h.after(time.Minute)
		if got := s.of(""); len(got) > 0 {
			t.Errorf("requests: %q", got)
		}
		if got := h.said.with("ns/p c: "); len(got) == 0 || got[len(got)-1] != "ns/p c: exit code 42, restart 1: would start it now" {
			t.Errorf("prints %q", got)
		}
		h.want()
	})
}

// Rules that change in a dry run are tried, too.
func TestDryRunWithChangedRules(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.dryRun = true
		h.connect()
		h.start()
		p := h.crash("p", "p0", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = secondAfter42 })
		h.after(time.Minute)
		changed := p.DeepCopy()
		changed.Annotations[annotationRules] = strings.ReplaceAll(secondAfter42, `"1s"`, `"2m"`)
		h.cluster.set(changed)
		h.after(5 * time.Minute)
		const line = "ns/p c: exit code 42, restart 1: would start it "
		if got := h.said.with("ns/p "); len(got) != 4 || got[1] != line+"now" || got[3] != line+"now" {
			t.Errorf("%q", got)
		}
	})
}

// In a dry run no record goes, but each exit takes its share of the restarts per minute only
// once. So another pod's turn comes when it would, and no line is printed again.
func TestDryRunSharesTheLimits(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.dryRun = true
		h.connect()
		h.state = decide.NewState(decide.Limits{NamespacePerMinute: 6})
		h.start()
		for _, name := range []string{"p", "q", "r"} {
			h.crash(name, name+"0", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = secondAfter42 })
		}
		h.after(5 * time.Minute)
		const line = " c: exit code 42, restart 1: would "
		for _, pod := range []string{"p", "q", "r"} {
			want := []string{"ns/" + pod + line + "start it in 1s"}
			if pod != "p" {
				want = append(want, "ns/"+pod+line+"wait 10s, because the restarts per minute are used up")
			}
			want = append(want, "ns/"+pod+line+"start it now")
			if got := h.said.with("ns/" + pod + " "); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		if n := h.counted("refused", string(decide.ReasonBudget)); n != 2 {
			t.Errorf("%v exits are held, want 2", n)
		}

		// The next exit is another one. The old record goes before the new pod wakes the agent.
		h.runtime.with(func() { delete(h.runtime.records, "p0") })
		h.crash("p", "p1", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = secondAfter42 })
		h.after(time.Minute)
		want := []string{"ns/p" + line + "start it in 1s", "ns/p" + line + "start it now"}
		if got := h.said.with("ns/p "); len(got) != 4 || !slices.Equal(got[2:], want) {
			t.Errorf("after the next exit: %q, want %q at the end", got, want)
		}
		h.want()
	})
}

// SIGUSR1 ends the waits of pods with rules, and an annotation that of its own pod.
func TestRestartNow(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.connect()
		h.start()
		hour := strings.ReplaceAll(secondAfter42, `"1s"`, `"1h"`)
		h.crash("rules", "rules", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = hour })
		now := h.crash("now", "now", 42, func(p *corev1.Pod) { p.Annotations[annotationNow] = "1" })
		plain := h.crash("plain", "plain", 42, nil)
		h.after(time.Minute)
		h.want()
		h.now <- syscall.SIGUSR1
		h.after(0)
		h.want("RemoveContainer rules")
		h.after(time.Second)
		now = now.DeepCopy()
		now.Annotations[annotationNow] = "2"
		h.cluster.set(now)
		h.after(0)
		h.want("RemoveContainer rules", "RemoveContainer now")
		plain = plain.DeepCopy()
		plain.Annotations = map[string]string{annotationNow: "1"}
		h.cluster.set(plain)
		h.after(0)
		h.want("RemoveContainer rules", "RemoveContainer now", "RemoveContainer plain")
	})
}

// Changed rules decide anew on an exit that waits, with a delay of theirs or none.
func TestRulesChangeWhileAnExitWaits(t *testing.T) {
	const (
		unmatched = `{"action": "Restart", "exitCodes": {"operator": "In", "values": [7]}, "delay": {"initial": "1s", "max": "1s"}}, `
		on42      = `{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}, "delay": {"initial": "%s", "max": "%s"}}`
		head      = `{"restartPolicyRules": [`
	)
	delay := func(before, d string) string { return head + before + strings.ReplaceAll(on42, "%s", d) + "]}" }
	for name, tt := range map[string]struct {
		rules   string
		removed time.Duration // since the exit; 0 for never
	}{
		"the same":            {delay(unmatched, "5m"), 5 * time.Minute},
		"shorter":             {delay("", "2m"), 2 * time.Minute},
		"longer":              {delay(unmatched, "10m"), 10 * time.Minute},
		"another rule's":      {delay(unmatched+unmatched, "5m"), 5 * time.Minute},
		"left to the kubelet": {head + unmatched + on42[:strings.Index(on42, `, "delay"`)] + "}]}", 0},
		"no rule matches":     {head + unmatched[:len(unmatched)-2] + "]}", 0},
		"a curve":             {`{"curve": {"initial": "3m", "max": "3m"}}`, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *host) {
				h.connect()
				h.start()
				p := h.crash("p", "p0", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = delay(unmatched, "5m") })
				h.after(time.Minute)
				p = p.DeepCopy()
				p.Annotations[annotationRules] = tt.rules
				h.cluster.set(p)
				if tt.removed == 0 {
					h.after(time.Hour)
					h.want()
					return
				}
				h.after(tt.removed - time.Minute - time.Millisecond)
				h.want()
				h.after(decide.Poll)
				h.want("RemoveContainer p0")
			})
		})
	}
}

// A value that an annotation has had for long ends no wait once wrong rules are mended, also if
// the agent started meanwhile.
func TestOldRestartNowEndsNoWait(t *testing.T) {
	hour := strings.ReplaceAll(secondAfter42, `"1s"`, `"1h"`)
	for _, first := range []string{hour, "{"} {
		bubble(t, func(t *testing.T, h *host) {
			h.connect()
			p := h.crash("p", "p0", 42, func(p *corev1.Pod) {
				p.Annotations[annotationRules], p.Annotations[annotationNow] = first, "1"
			})
			h.start()
			h.after(time.Minute)
			for _, rules := range []string{"{", hour} {
				p = p.DeepCopy()
				p.Annotations[annotationRules] = rules
				h.cluster.set(p)
				h.after(time.Minute)
				h.want()
			}
			p = p.DeepCopy()
			p.Annotations[annotationNow] = "2"
			h.cluster.set(p)
			h.after(0)
			h.want("RemoveContainer p0")
		})
	}
}

// The annotation ends the wait of a pod without rules, too.
func TestRestartNowOfTheOnlyPod(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.connect()
		h.start()
		h.after(time.Minute)
		p := h.crash("p", "p0", 42, nil)
		h.after(time.Minute)
		p = p.DeepCopy()
		p.Annotations = map[string]string{annotationNow: "1"}
		h.cluster.set(p)
		h.after(0)
		h.want("RemoveContainer p0")
	})
}

// A look lists the pods that matter, unless there are many.
func TestLooksListOnlyPodsThatMatter(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		h.connect()
		rules := func(p *corev1.Pod) { p.Annotations[annotationRules] = secondAfter42 }
		h.crash("other", "other0", 1, rules)
		h.start()
		h.after(10 * time.Second)
		before := len(h.runtime.of("ListPodSandbox"))
		h.crash("p", "p0", 42, rules)
		h.after(3 * time.Second)
		h.want("RemoveContainer p0")
		looks := h.runtime.of("ListPodSandbox")[before:]
		if len(looks) < 3 || slices.ContainsFunc(looks, func(call string) bool { return call != "ListPodSandbox uid-p" }) {
			t.Errorf("looks %q", looks)
		}
		before = len(h.runtime.of("ListPodSandbox"))
		for i := range mostListed + 1 {
			h.crash(fmt.Sprint("q", i), fmt.Sprint("q", i), 42, rules)
		}
		h.after(5 * time.Second)
		if n := len(h.runtime.of("RemoveContainer q")); n != mostListed+1 {
			t.Errorf("%d removals", n)
		}
		if looks := h.runtime.of("ListPodSandbox")[before:]; !slices.Contains(looks, "ListPodSandbox") {
			t.Errorf("looks %q", looks)
		}
	})
}

// Without the API server, or before it has listed the pods, static pods restart.
func TestStaticPodWithoutServer(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		s := h.connect()
		s.answer(0)
		h.static("web", secondAfter42)
		h.exit("web", "web0", 42, 0)
		h.crash("p", "p0", 42, func(p *corev1.Pod) { p.Annotations[annotationRules] = secondAfter42 })
		h.start()
		h.after(decide.Settle)
		h.want("RemoveContainer p0", "RemoveContainer web0", "CreateContainer box-uid-web")
	})
}

// Neither mirror pods, pods of other namespaces than --namespaces has, nor deleted pods are
// followed.
func TestClusterPods(t *testing.T) {
	wake := make(chan struct{}, 1)
	c, err := newCluster(&rest.Config{Host: "http://server"}, &options{node: "node1", namespaces: []string{"ns"}}, wake)
	if err != nil {
		t.Fatal(err)
	}
	woken := func() bool {
		select {
		case <-wake:
			return true
		default:
			return false
		}
	}
	p := crashed("p", "x", 42, time.Now())
	c.set(p)
	if all := c.list(); len(all) != 1 || woken() {
		t.Errorf("a pod without annotations: %v", all)
	}
	p = p.DeepCopy()
	p.Annotations[annotationRules] = secondAfter42
	c.set(p)
	if all := c.list(); len(all) != 1 || !woken() {
		t.Errorf("with rules: %v", all)
	}
	mirror := crashed("mirror", "y", 42, time.Now())
	mirror.Annotations[annotationMirror], mirror.Annotations[annotationRules] = "", secondAfter42
	c.set(mirror)
	if all := c.list(); len(all) != 1 || woken() {
		t.Errorf("a mirror pod: %v", all)
	}
	other := crashed("other", "z", 42, time.Now())
	other.Namespace, other.Annotations[annotationRules] = "other", secondAfter42
	c.set(other)
	if all := c.list(); len(all) != 1 || woken() {
		t.Errorf("a pod of another namespace: %v", all)
	}
	c.replace(string(p.UID), nil)
	if all := c.list(); len(all) != 0 || !woken() {
		t.Errorf("a deleted pod: %v", all)
	}
}

// A kubelet's account may list and watch the pods of its own node alone, so --check asks
// about them with the field selector of the program's requests.
func TestRightsAreOfTheOwnNode(t *testing.T) {
	const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	s := &fakeServer{answers: map[string]answer{
		reviews: {http.StatusCreated, `{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {"allowed": true}}`},
	}}
	c, err := newCluster(&rest.Config{Host: "http://server", Transport: s}, &options{node: "node1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rights {
		if err := c.may(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, request := range s.of("POST " + reviews) {
		_, body, _ := strings.Cut(request, reviews+" ")
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(body), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := object.(*authorizationv1.SelfSubjectAccessReview).Spec.ResourceAttributes
		text := right{a.Verb, a.Resource, a.Subresource}.String()
		if a.FieldSelector != nil {
			for _, f := range a.FieldSelector.Requirements {
				text += fmt.Sprintf(" %s %s %s", f.Key, f.Operator, f.Values)
			}
		}
		got = append(got, text)
	}
	want := []string{"list pods spec.nodeName In [node1]", "watch pods spec.nodeName In [node1]", "patch pods/status", "create events"}
	if !slices.Equal(got, want) {
		t.Errorf("reviews of %q, want %q", got, want)
	}
}
