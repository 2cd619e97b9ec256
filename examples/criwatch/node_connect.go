package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// largestMessage is the kubelet's limit: a list of a full node exceeds the 4 MiB of
// grpc.
const largestMessage = 16 << 20

// dial returns a connection that reconnects when the runtime restarts. It makes no
// call.
func dial(endpoint string) (*grpc.ClientConn, error) {
	return grpc.NewClient(endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}))
}

// parseEndpoint returns what to dial: unix://PATH, or PATH alone.
func parseEndpoint(s string) (string, error) {
	path, ok := strings.CutPrefix(s, "unix://")
	if !ok && strings.Contains(s, "://") {
		return "", fmt.Errorf("endpoint %q: only unix sockets are supported: unix:///run/containerd/containerd.sock", s)
	}
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("endpoint %q: must be unix:// and an absolute path", s)
	}
	return "unix://" + path, nil
}

// errNotAnswering is part of the error if no runtime answers.
var errNotAnswering = errors.New("no CRI runtime answers")

// greet asks the runtime for its name and version. It opens the socket itself first,
// since the system's error is shorter than grpc's.
func (n *node) greet(ctx context.Context, endpoint string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	socket, err := new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(endpoint, "unix://"))
	if failed := (*net.OpError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return "", fmt.Errorf("%w at %s: %w", errNotAnswering, endpoint, err)
	}
	socket.Close()
	v, err := n.client.Version(ctx, &cri.VersionRequest{})
	if err != nil {
		return "", fmt.Errorf("%w at %s: %s", errNotAnswering, endpoint, grpcstatus.Convert(err).Message())
	}
	n.runtime = v.RuntimeName
	return v.RuntimeName + " " + v.RuntimeVersion, nil
}
