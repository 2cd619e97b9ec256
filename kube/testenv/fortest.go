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

// EnvVar must be 1 in the environment, or ForTest and StartForTest skip the test.
const EnvVar = "RESTART_TESTENV"

// shared is the Environment of all tests of this process. The guard stops it when the
// process ends.
var shared = sync.OnceValues(func() (*Environment, error) {
	return Start(context.Background(), Options{Log: os.Stderr})
})

// ForTest returns the Environment shared by all tests of this process, or skips the
// test unless EnvVar is set. Tests should use a namespace each, and StartForTest to
// restart etcd.
func ForTest(t testing.TB) *Environment {
	t.Helper()
	skipUnlessWanted(t)
	env, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// StartForTest starts an Environment and stops it after the test, or skips the test
// unless EnvVar is set and this machine can run a node, if o wants one.
func StartForTest(t testing.TB, o Options) *Environment {
	t.Helper()
	skipUnlessWanted(t)
	if o.Node {
		skipWithoutNode(t)
	}
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

// StartNodeForTest starts a Node and stops it after the test, or skips the test unless
// EnvVar is set and this machine can run a node.
func StartNodeForTest(t testing.TB, o Options) *Node {
	t.Helper()
	skipWithoutNode(t)
	node, err := StartNode(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	})
	return node
}

// StartContainerdForTest starts a Containerd and stops it after the test, or skips the test
// unless EnvVar is set and this machine can run a node.
func StartContainerdForTest(t testing.TB, o Options) *Containerd {
	t.Helper()
	skipWithoutNode(t)
	c, err := StartContainerd(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func skipWithoutNode(t testing.TB) {
	t.Helper()
	skipUnlessWanted(t)
	if err := CheckNode(); err != nil {
		t.Skip(err)
	}
}

func skipUnlessWanted(t testing.TB) {
	t.Helper()
	if os.Getenv(EnvVar) != "1" {
		t.Skipf("needs an API server; set %s=1 to build and start one", EnvVar)
	}
}

// Namespace creates a namespace named after the test and returns its name.
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

// namespacePrefix turns a test's name into a prefix valid for namespaces.
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
