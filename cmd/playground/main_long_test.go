//go:build long

package main

import (
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// files are what the page is made of.
var files = []string{"examples.json", "index.html", "playground.bin", "playground.js", "style.css", "wasm_exec.js", "worker.js"}

// The program serves the page on this machine until it is interrupted, then it ends at
// once.
func TestPageIsServedUntilInterrupted(t *testing.T) {
	p := programtest.New(t, "-addr", "127.0.0.1:0")
	p.Start()
	p.Out.Says("http://127.0.0.1:", 1)
	address, _, _ := strings.Cut(p.Out.String(), "\n")
	for _, name := range append(files, "") {
		answer, err := http.Get(address + name)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || len(content) < 1000 {
			t.Errorf("%q: %v %s, %d bytes", name, err, answer.Status, len(content))
		}
		if answer.Header.Get("X-Content-Type-Options") != "nosniff" || answer.Header.Get("Content-Type") == "" {
			t.Errorf("%q: %v", name, answer.Header)
		}
	}
	for name, want := range map[string]int{"other": 404, "static/index.html": 404, "..%2fmain.go": 404, "../main.go": 404} {
		answer, err := http.Get(address + name)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	answer, err := http.Post(address, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", answer.Status)
	}
	p.Signal(syscall.SIGINT)
	p.Done(exitOK)
}

func TestFilesAreWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "public")
	p := programtest.New(t, "-o", folder)
	p.Start()
	p.Done(exitOK)
	written, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range written {
		names = append(names, f.Name())
	}
	if diff := cmp.Diff(files, names); diff != "" {
		t.Error(diff)
	}
	if out := p.Out.String(); strings.Count(out, "\n") != len(files)+1 || !strings.Contains(out, "compressed, in "+folder) {
		t.Error(out)
	}
}

// The page is small enough to be loaded over a slow line: 1.6 MB, compressed.
func TestPageIsSmall(t *testing.T) {
	begun := time.Now()
	s, err := build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(s)) {
		total += compressed(s[name])
	}
	t.Logf("%d bytes, compressed; built in %v", total, time.Since(begun).Round(time.Millisecond))
	if total > 1_600_000 {
		t.Errorf("%d bytes", total)
	}
}
