package testenv

import (
	"strings"
	"testing"
)

func TestNamespacePrefixIsValid(t *testing.T) {
	for test, want := range map[string]string{
		"TestX/a_b":              "testx-a-b-",
		"Test/ümlaut":            "test--mlaut-",
		strings.Repeat("x", 200): strings.Repeat("x", 50) + "-",
	} {
		if got := namespacePrefix(test); got != want {
			t.Errorf("namespacePrefix(%q) = %q, want %q", test, got, want)
		}
	}
}
