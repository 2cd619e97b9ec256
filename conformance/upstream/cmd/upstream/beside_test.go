package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command beside the specs runs again and again, with the kubeconfig, until it is
// stopped. A failure fails the suite.
func TestBesideRepeatsACommand(t *testing.T) {
	for _, tt := range []struct{ command, fails string }{
		{`echo $KUBECONFIG >>"$FILE"`, ""},
		{`echo $KUBECONFIG >>"$FILE"; echo broken >&2; exit 3`, "broken"},
		{"", ""},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "runs")
		t.Setenv("FILE", file)
		b, err := startCommand(t.Context(), options{beside: tt.command, stderr: io.Discard}, filepath.Join(dir, "e2e-beside.log"), "the-config")
		if err != nil {
			t.Fatal(err)
		}
		for tt.command != "" {
			text, _ := os.ReadFile(file)
			if strings.Count(string(text), "the-config\n") >= 3 {
				break
			}
		}
		err = b.stop()
		if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%q: %v", tt.command, err)
		}
	}
}
