package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// A missing permission fails both probes until it is granted. An unreachable API server
// does not end the program.
func TestProbesFailWithoutARight(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil // they wait for the real clock
	defer func() { utilruntime.ErrorHandlers = handlers }()
	for _, test := range []struct {
		name    string
		err     error
		healthy bool
	}{
		{"forbidden", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no such right")), false},
		{"unknown", apierrors.NewUnauthorized("who are you"), false},
		{"away", errors.New("connection refused"), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, err := parseOptions([]string{"-leader-elect=false"}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			client := fake.NewClientset()
			var given atomic.Bool
			client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return !given.Load(), nil, test.err })
			r := newReplica(&cluster{jobs: client, lease: client, namespace: "ns"}, o)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.run(ctx) }()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			healthy, ready := r.healthy(), r.ready()
			if (healthy == nil) != test.healthy || ready == nil || !strings.Contains(ready.Error(), test.err.Error()) || healthy != nil && healthy.Error() != ready.Error() {
				t.Errorf("%s: healthy: %v; ready: %v", test.name, healthy, ready)
			}
			given.Store(true)
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if healthy, ready := r.healthy(), r.ready(); healthy != nil || ready != nil {
				t.Errorf("%s, and not any more: healthy: %v; ready: %v", test.name, healthy, ready)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
