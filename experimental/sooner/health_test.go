package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/experimental/sooner/internal/decide"
)

// probe asks for a path and returns the answer.
func (h *health) probe(t *testing.T, path string) (code int, text string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.probes().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func (h *health) want(t *testing.T, path string, code int, text string) {
	t.Helper()
	if gotCode, got := h.probe(t, path); gotCode != code || !strings.Contains(got, text) {
		t.Errorf("%s: %d %q, want %d %q", path, gotCode, got, code, text)
	}
}

// An agent whose turn never ends is dead. One that misses something is alive, but not ready.
func TestProbes(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	h := newHealth(clock)
	h.want(t, "/healthz", http.StatusOK, "ok")
	h.want(t, "/readyz", http.StatusOK, "ok")
	h.want(t, "/other", http.StatusNotFound, "")
	h.set(partRuntime, status.Error(codes.Unavailable, "no socket"))
	h.set(partNode, errWrongNode)
	h.want(t, "/healthz", http.StatusOK, "ok")
	h.want(t, "/readyz", http.StatusServiceUnavailable, "container runtime: rpc error: code = Unavailable desc = no socket\nnode: --node-name is wrong")
	h.set(partRuntime, nil)
	h.want(t, "/readyz", http.StatusServiceUnavailable, "node: ")
	h.set(partNode, nil)
	h.want(t, "/readyz", http.StatusOK, "ok")
	clock.Step(longestPause)
	h.want(t, "/healthz", http.StatusOK, "ok")
	clock.Step(time.Second)
	h.want(t, "/healthz", http.StatusServiceUnavailable, "no progress for 5m1s")
	h.progress()
	h.want(t, "/healthz", http.StatusOK, "ok")
}

// The agent is ready once the runtime answers, the pods are listed and the node is verified.
func TestReadiness(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		var listed atomic.Bool
		h.synced = listed.Load
		h.runtime.setFault(func(context.Context, string, string) error { return status.Error(codes.Unavailable, "gone") })
		h.static("web", secondAfter42)
		h.start()
		h.after(time.Second)
		h.health.want(t, "/readyz", http.StatusServiceUnavailable, "container runtime: rpc error: code = Unavailable desc = gone\npods: the API server has not listed")
		h.runtime.setFault(nil)
		h.after(time.Minute)
		h.health.want(t, "/readyz", http.StatusServiceUnavailable, "pods: ")
		listed.Store(true)
		h.after(time.Minute)
		h.health.want(t, "/readyz", http.StatusOK, "ok")
		h.health.want(t, "/healthz", http.StatusOK, "ok")
	})
}

// A runtime that does not answer any more is noticed also while no pod has rules, or before the
// API server has listed the pods.
func TestRuntimeIsReachedWithoutRules(t *testing.T) {
	for _, listed := range []bool{true, false} {
		bubble(t, func(t *testing.T, h *host) {
			h.connect()
			h.manifests = nil
			h.synced = func() bool { return listed }
			h.start()
			h.after(time.Minute)
			if _, text := h.health.probe(t, "/readyz"); strings.Contains(text, partRuntime) {
				t.Errorf("/readyz: %q", text)
			}
			h.runtime.setFault(func(context.Context, string, string) error { return status.Error(codes.Unavailable, "gone") })
			h.after(reachEvery + decide.Poll)
			for range 60 {
				h.health.want(t, "/readyz", http.StatusServiceUnavailable, partRuntime)
				h.after(time.Second)
			}
			h.runtime.setFault(nil)
			h.after(time.Minute)
			if _, text := h.health.probe(t, "/readyz"); strings.Contains(text, partRuntime) {
				t.Errorf("/readyz: %q", text)
			}
			before := len(h.runtime.of(""))
			h.after(time.Hour)
			if n := len(h.runtime.of("")) - before; n > int(time.Hour/reachEvery) {
				t.Errorf("%d calls in an hour", n)
			}
		})
	}
}

// A turn with many changes may take long, if each lasts until its deadline. The agent is
// alive nevertheless.
func TestLongTurnIsAlive(t *testing.T) {
	bubble(t, func(t *testing.T, h *host) {
		const pods = int(2 * longestPause / changeTimeout)
		for i := range pods {
			name := fmt.Sprint("web", i)
			h.static(name, secondAfter42)
			h.exit(name, fmt.Sprint("run", i), 42, 0)
		}
		h.runtime.setFault(func(ctx context.Context, call, _ string) error {
			if call == "RemoveContainer" {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		h.start()
		h.after(decide.Settle)
		for range pods {
			h.after(changeTimeout)
			h.health.want(t, "/healthz", http.StatusOK, "ok")
		}
		if n := len(h.runtime.of("RemoveContainer")); n < pods {
			t.Errorf("%d removals in one turn, want %d", n, pods)
		}
	})
}

// The name of a node that does not exist, or of another node than the token's, is logged once and
// told by the readiness probe, until it is right.
func TestNodeIsVerified(t *testing.T) {
	const review, nodes = "/apis/authentication.k8s.io/v1/selfsubjectreviews", "/api/v1/nodes/node1"
	token := func(node string) answer {
		return answer{http.StatusCreated, `{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "status": {"userInfo": {"extra": {"` + tokenNode + `": ["` + node + `"]}}}}`}
	}
	anyUser := answer{http.StatusCreated, `{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}`}
	node := answer{http.StatusOK, `{"kind": "Node", "apiVersion": "v1", "status": {"nodeInfo": {"kubeletVersion": "v1.37.2"}}}`}
	failure := func(code int, reason string) answer {
		return answer{code, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "` + reason + `"}`}
	}
	missing, forbidden := failure(http.StatusNotFound, "NotFound"), failure(http.StatusForbidden, "Forbidden")
	for name, tt := range map[string]struct {
		review, node answer
		code         int
		text         string // of the readiness probe
		logged       string
	}{
		"right, of a user":                {anyUser, node, http.StatusOK, "", ""},
		"right, of a pod":                 {token("node1"), forbidden, http.StatusOK, "", ""},
		"no such node":                    {anyUser, missing, http.StatusServiceUnavailable, "node: --node-name is wrong: no node node1 exists", "restarts no pods"},
		"another node":                    {token("node2"), node, http.StatusServiceUnavailable, "the program's token is of a pod on the node node2", "restarts no pods"},
		"no way to know":                  {anyUser, forbidden, http.StatusOK, "", "not verified"},
		"no way to know the user, either": {forbidden, missing, http.StatusServiceUnavailable, "no node node1 exists", "restarts no pods"},
		"no server":                       {answer{}, answer{}, http.StatusServiceUnavailable, "connection refused", "verify node failed"},
	} {
		bubble(t, func(t *testing.T, h *host) {
			h.health.set(partPods, nil)
			s := h.connect()
			s.set(review, tt.review)
			s.set(nodes, tt.node)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.verifyNode(ctx)
			}()
			h.after(5 * time.Minute)
			h.health.want(t, "/readyz", tt.code, tt.text)
			if got := h.log.with("level="); tt.logged == "" && len(got) > 0 || tt.logged != "" && (len(got) != 1 || !strings.Contains(got[0], tt.logged)) {
				t.Errorf("%s: logged %q, want %q once", name, got, tt.logged)
			}
			s.set(review, token("node1"))
			s.set(nodes, node)
			h.after(time.Minute)
			h.health.want(t, "/readyz", http.StatusOK, "ok")
			stop()
			<-done
		})
	}
}
