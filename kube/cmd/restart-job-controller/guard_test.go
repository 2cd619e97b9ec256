package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// judges simulates an API server with two tokens, reader's with permission to get
// /metrics and nobody's without permissions.
type judges struct {
	*fake.Clientset
	revoked, broken bool
	asked           int
}

func newJudges() *judges {
	j := &judges{Clientset: fake.NewClientset()}
	j.PrependReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		j.asked++
		if j.broken {
			return true, nil, errors.New("no answer")
		}
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		if review.Spec.Token == "reader" || review.Spec.Token == "nobody" {
			review.Status.Authenticated = true
			review.Status.User = authenticationv1.UserInfo{
				Username: review.Spec.Token, UID: "1", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"e": {"v"}},
			}
		}
		return true, review, nil
	})
	j.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		s := review.Spec
		review.Status.Allowed = !j.revoked && s.User == "reader" && s.UID == "1" && len(s.Groups) == 1 && len(s.Extra["e"]) == 1 &&
			*s.NonResourceAttributes == authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
		return true, review, nil
	})
	return j
}

func TestGuardLetsThoseThroughWhoMay(t *testing.T) {
	judges := newJudges()
	g := newGuard(judges).protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secret") }))
	ask := func(method, path, authorization string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	for _, test := range []struct {
		method, path, authorization string
		want                        int
	}{
		{"GET", "/metrics", "", 401},
		{"GET", "/metrics", "Bearer ", 401},
		{"GET", "/metrics", "Bearer", 401},
		{"GET", "/metrics", "Basic reader", 401},
		{"GET", "/metrics", "Bearer other", 401},
		{"GET", "/metrics", "Bearer nobody", 403},
		{"GET", "/metrics", "Bearer reader", 200},
		{"GET", "/metrics", "bearer  reader", 200},
		{"GET", "/debug/pprof/", "Bearer reader", 403},
		{"POST", "/metrics", "Bearer reader", 403},
	} {
		w := ask(test.method, test.path, test.authorization)
		if w.Code != test.want || strings.Contains(w.Body.String(), "secret") != (w.Code == 200) || (w.Header().Get("WWW-Authenticate") == "Bearer") != (w.Code == 401) {
			t.Errorf("%s %s of %q: %d, want %d; %v %s", test.method, test.path, test.authorization, w.Code, test.want, w.Header(), w.Body)
		}
	}
	judges.broken = true
	if w := ask("GET", "/metrics", "Bearer new"); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("without an API server: %d %s", w.Code, w.Body)
	}
}

// The guard asks the API server once a minute about a permitted token and about every
// ten seconds about a refused one. It does not cache errors.
func TestGuardKeepsAnswersForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		judges := newJudges()
		g := newGuard(judges)
		ask := func(token string) int {
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			v, err := g.judge(r)
			if err != nil {
				return 500
			}
			return v.code
		}
		for _, step := range []struct {
			after       time.Duration
			revoked     bool
			token       string
			code, asked int
		}{
			{0, false, "reader", 200, 1},
			{keepYes - time.Second, true, "reader", 200, 1},
			{2 * time.Second, true, "reader", 403, 2},
			{keepNo - time.Second, false, "reader", 403, 2},
			{2 * time.Second, false, "reader", 200, 3},
			{0, false, "other", 401, 4},
			{0, false, "other", 401, 4},
		} {
			time.Sleep(step.after)
			judges.revoked = step.revoked
			if code := ask(step.token); code != step.code || judges.asked != step.asked {
				t.Errorf("%+v: %d, asked %d times", step, code, judges.asked)
			}
		}
		judges.broken = true
		if code := ask("new"); code != 500 {
			t.Errorf("without an API server: %d", code)
		}
		judges.broken = false
		if code := ask("new"); code != 401 {
			t.Errorf("with it again: %d", code)
		}
	})
}

// A renewed certificate takes effect without a restart. An unreadable one is an error
// at the start.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	now := time.Now()
	if _, err := tlsConfig(certFile, keyFile, now); err == nil || !strings.Contains(err.Error(), "-tls-cert-file") {
		t.Errorf("without files: %v", err)
	}
	renew := func() []byte {
		c, err := selfSigned(now)
		if err != nil {
			t.Fatal(err)
		}
		writePair(t, c, certFile, keyFile)
		return c.Certificate[0]
	}
	renew()
	config, err := tlsConfig(certFile, keyFile, now)
	if err != nil {
		t.Fatal(err)
	}
	listener, address := listen(t)
	s := servers{ctx: context.Background()}
	s.serveOn(listener, http.NotFoundHandler(), config)
	defer s.stop(time.Minute)
	for range 2 {
		want := renew()
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ConnectionState().PeerCertificates[0]; string(got.Raw) != string(want) {
			t.Error("it has shown an older certificate")
		}
		c.Close()
	}
	if r, err := http.Get("http://" + address); err == nil && r.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %v", r.Status)
	}
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	if c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}); err == nil {
		c.Close()
		t.Error("a handshake without a key")
	}
}

func writePair(t *testing.T, c tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
