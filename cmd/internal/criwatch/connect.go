package criwatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/cmd/internal/human"
)

// largestMessage is the kubelet's limit. The list of a full node exceeds the 4 MiB of
// grpc.
const largestMessage = 16 << 20

// dial returns a connection that reconnects when the runtime restarts. It makes no
// call.
func dial(endpoint string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(endpoint, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: 250 * time.Millisecond},
			MinConnectTimeout: 5 * time.Second,
		}),
	}, more...)...)
}

// knownSockets are the default sockets of CRI-O, cri-dockerd, k3s, k0s, MicroK8s and
// containerd. containerd's is the last because Docker installs a containerd without
// CRI.
var knownSockets = []string{
	"/run/crio/crio.sock", "/run/cri-dockerd.sock", "/run/k3s/containerd/containerd.sock",
	"/run/k0s/containerd.sock", "/var/snap/microk8s/common/run/containerd.sock", "/run/containerd/containerd.sock",
}

// FindEndpoint returns the endpoint of a runtime on this machine, by the sockets that
// exist, or containerd's if none does.
func FindEndpoint() string {
	return findEndpoint(func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// findEndpoint returns the first known socket that exists, or containerd's.
func findEndpoint(exists func(path string) bool) string {
	i := slices.IndexFunc(knownSockets, exists)
	if i < 0 {
		i = len(knownSockets) - 1
	}
	return "unix://" + knownSockets[i]
}

// ParseEndpoint returns the address to dial for unix://PATH or PATH.
func ParseEndpoint(s string) (string, error) {
	path, ok := strings.CutPrefix(s, "unix://")
	if !ok && strings.Contains(s, "://") {
		return "", fmt.Errorf("endpoint %q: only unix sockets are supported: unix:///run/containerd/containerd.sock", s)
	}
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("endpoint %q: must be unix:// and an absolute path", s)
	}
	return "unix://" + path, nil
}

// errNotAnswering is wrapped by the errors of greet.
var errNotAnswering = errors.New("no CRI runtime answers")

// greet asks the runtime for its name and version. It opens the socket itself first,
// because the system's error is shorter than grpc's.
func (n *node) greet(ctx context.Context, endpoint string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	socket, err := new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(endpoint, "unix://"))
	if failed := (*net.OpError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return "", fmt.Errorf("%w at %s: %w%s", errNotAnswering, endpoint, err, adviceOf(err, endpoint))
	}
	socket.Close()
	v, err := n.client.Version(ctx, &cri.VersionRequest{})
	if err != nil {
		return "", fmt.Errorf("%w at %s: %s%s", errNotAnswering, endpoint, human.Escape(grpcstatus.Convert(err).Message()), adviceOf(err, endpoint))
	}
	return v.RuntimeName + " " + v.RuntimeVersion, nil
}

// adviceOf suggests a remedy for an error of greet, or returns "".
func adviceOf(err error, endpoint string) string {
	file, _ := os.Stat(strings.TrimPrefix(endpoint, "unix://"))
	switch {
	case file != nil && file.Mode().Type() != fs.ModeSocket:
		return "; this is not a socket; --endpoint names the runtime's"
	case errors.Is(err, fs.ErrNotExist):
		return "; is a runtime running? --endpoint names its socket"
	case errors.Is(err, fs.ErrPermission):
		return "; opening it takes root, so try sudo"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "; is the runtime running? --endpoint names its socket"
	case grpcstatus.Code(err) == codes.Unimplemented:
		return "; the CRI plugin of containerd may be off; look for disabled_plugins in /etc/containerd/config.toml"
	case grpcstatus.Code(err) == codes.Unavailable, grpcstatus.Code(err) == codes.DeadlineExceeded:
		return "; is it the socket of a CRI runtime? --endpoint names another"
	}
	return ""
}
