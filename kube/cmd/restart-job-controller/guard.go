package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// guard asks the API server who makes a request (TokenReview) and whether they may make
// it (SubjectAccessReview on the path). It caches answers by token and path.
type guard struct {
	client kubernetes.Interface
	known  *cache.LRUExpireCache // verdicts by question
}

// Limits of the cache. A revoked permission holds for up to keepYes, and a new one
// takes effect within keepNo.
const (
	keepYes  = time.Minute
	keepNo   = 10 * time.Second
	keepMost = 1024
)

// askWithin limits the time for an answer, including the wait for the client's rate
// limit.
const askWithin = 10 * time.Second

// question is the key of a verdict. It holds only a hash of the token.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

// verdict is the status code and reason of a refusal, or http.StatusOK.
type verdict struct {
	code   int
	reason string
}

func newGuard(client kubernetes.Interface) *guard {
	return &guard{client: client, known: cache.NewLRUExpireCache(keepMost)}
}

// protect passes requests to handler if their bearer token is that of a user who may
// make them.
func (g *guard) protect(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := g.judge(r)
		switch {
		case err != nil:
			klog.FromContext(r.Context()).Error(err, "cannot check the permission for a request", "path", r.URL.Path, "from", r.RemoteAddr)
			http.Error(w, "cannot check your permission with the API server", http.StatusInternalServerError)
		case v.code == http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
			fallthrough
		case v.code != http.StatusOK:
			http.Error(w, v.reason, v.code)
		default:
			handler.ServeHTTP(w, r)
		}
	})
}

func (g *guard) judge(r *http.Request) (verdict, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") {
		return verdict{http.StatusUnauthorized, "missing bearer token: send the header Authorization: Bearer TOKEN"}, nil
	}
	q := question{sha256.Sum256([]byte(token)), strings.ToLower(r.Method), r.URL.Path}
	if v, known := g.known.Get(q); known {
		return v.(verdict), nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), askWithin)
	defer cancel()
	v, err := g.ask(ctx, token, q.verb, q.path)
	if err != nil {
		return verdict{}, err
	}
	keep := keepNo
	if v.code == http.StatusOK {
		keep = keepYes
	}
	g.known.Add(q, v, keep)
	return v, nil
}

// ask asks the API server.
func (g *guard) ask(ctx context.Context, token, verb, path string) (verdict, error) {
	who, err := g.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, fmt.Errorf("reviewing the token: %w", err)
	}
	if !who.Status.Authenticated {
		return verdict{http.StatusUnauthorized, "invalid bearer token"}, nil
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, fmt.Errorf("reviewing the permissions of %s: %w", user.Username, err)
	}
	if !may.Status.Allowed || may.Status.Denied {
		return verdict{http.StatusForbidden, fmt.Sprintf("%s may not %s %s", user.Username, verb, path)}, nil
	}
	return verdict{code: http.StatusOK}, nil
}
