package retry

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/restartkit/restart/conformance/peers/owntests"
)

const backoffPackage = "github.com/restartkit/restart/backoff"

// The example of cenkalti/backoff asks a server on the Internet, for which a proxy answers
// here.
func TestCenkaltisOwnTests(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer proxy.Close()
	ownTests(t, owntests.Suite{
		Module:   "github.com/cenkalti/backoff/v5",
		Adapter:  "cenkalti",
		Expected: "cenkalti/expected.txt",
		Covers:   backoffPackage,
		Env:      []string{"HTTP_PROXY=" + proxy.URL},
	}, 10, 8)
}

func TestAvastsOwnTests(t *testing.T) {
	t.Parallel()
	ownTests(t, owntests.Suite{
		Module:   "github.com/avast/retry-go/v4",
		Adapter:  "avast",
		Expected: "avast/expected.txt",
		Covers:   backoffPackage,
	}, 30, 20)
}

func ownTests(t *testing.T, s owntests.Suite, passed, reached int) {
	if p, r := s.Run(t); p < passed || r < reached {
		t.Errorf("only %d pass and %d reach Retry; want at least %d and %d", p, r, passed, reached)
	}
}
