package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// EnvVar is the environment variable that makes ForTest and StartForTest run
// something: they skip unless it is 1.
const EnvVar = "RESTART_TESTENV"

// shared is the Environment of all tests of this process. Nobody stops it: the
// guard does when the process ends.
var shared = sync.OnceValues(func() (*Environment, error) {
	return Start(context.Background(), Options{Log: os.Stderr})
})

// ForTest returns the Environment that all tests of this process share, and starts
// it at the first call. It skips the test where there is none, see EnvVar. It is
// not for tests that restart etcd. Tests that run in parallel keep apart by a
// namespace each.
func ForTest(t testing.TB) *Environment {
	t.Helper()
	skipUnlessWanted(t)
	env, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// StartForTest starts an Environment for this test alone, which ends with it. It
// skips the test where there is none, see EnvVar.
func StartForTest(t testing.TB, o Options) *Environment {
	t.Helper()
	skipUnlessWanted(t)
	env, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	return env
}

func skipUnlessWanted(t testing.TB) {
	t.Helper()
	if os.Getenv(EnvVar) != "1" {
		t.Skipf("needs an API server: %s=1 builds and starts one", EnvVar)
	}
}

// Namespace makes a namespace whose name begins with the test's, and returns its
// name. It stays until the Environment ends.
func (e *Environment) Namespace(t testing.TB) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(e.Config())
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: namespacePrefix(t.Name())},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(errors.Join(fmt.Errorf("testenv: Namespace of %s", t.Name()), err))
	}
	return namespace.Name
}

// namespacePrefix makes what a namespace's name may begin with of a test's name.
func namespacePrefix(test string) string {
	letters := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, test)
	return strings.Trim(letters[:min(len(letters), 50)], "-") + "-"
}
