package main

import (
	"context"
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

func TestMain(m *testing.M) { programtest.Main(m, main) }

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

// Another page's file is not replaced, those of an earlier call are.
func TestForeignFilesAreNotOverwritten(t *testing.T) {
	folder := t.TempDir()
	index := filepath.Join(folder, "index.html")
	if err := os.WriteFile(index, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	page := site{"index.html": []byte("page"), programFile: []byte("program")}
	if err := page.write(folder, io.Discard); err == nil || !strings.Contains(err.Error(), index+" exists") {
		t.Errorf("error %v", err)
	}
	if text, err := os.ReadFile(index); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(folder, programFile)); err == nil {
		t.Error("a part of the page was written")
	}
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := page.write(folder, io.Discard); err != nil {
			t.Error(err)
		}
	}
}

// An interrupted -o is an error, so its files do not pass for complete.
func TestInterruptedFilesAreAnError(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var stderr strings.Builder
	if code := playground(ctx, []string{"-o", t.TempDir()}, io.Discard, &stderr); code != exitUnwritten || !strings.Contains(stderr.String(), "interrupted; ") {
		t.Errorf("exits with %d: %s", code, &stderr)
	}
	if code := playground(ctx, []string{"-addr", "127.0.0.1:0"}, io.Discard, io.Discard); code != exitOK {
		t.Errorf("serving ends with %d", code)
	}
}

// TestWrongFlagsAreRefused before the page is built, which takes a while.
func TestWrongFlagsAreRefused(t *testing.T) {
	foreign := t.TempDir()
	programtest.WriteFile(t, foreign, "index.html", "mine", 0o600)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-h"}, 0, "-addr host:port"},
		{[]string{"x"}, 2, "no arguments are needed"},
		{[]string{"-o", ""}, 2, "-o: the folder has no name"},
		{[]string{"-o", "x", "-addr", "y:1"}, 2, "choose one"},
		{[]string{"-addr", "127.0.0.1:x"}, exitFailed, "-addr: "},
		{[]string{"-o", "/dev/null/x"}, exitUnwritten, "not a directory"},
		{[]string{"-o", foreign}, exitUnwritten, "choose another folder"},
	} {
		p := programtest.New(t, tt.args...)
		p.Start()
		p.Done(tt.code)
		if said := p.Out.String() + p.Err.String(); !strings.Contains(said, tt.want) {
			t.Errorf("%q: want %q:\n%s", tt.args, tt.want, said)
		} else if strings.Contains(said, "building") {
			t.Errorf("%q: builds the page first:\n%s", tt.args, said)
		}
	}
}

// A program without its source says what is missing.
func TestBuildNeedsTheSource(t *testing.T) {
	if _, err := goCommand(t.Context(), t.TempDir(), nil, "list", thisPackage); err == nil {
		t.Error("found without its source")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := build(ended); err == nil {
		t.Error("built after an interruption")
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

// The version of Kubernetes in the page is the one that the list of differences refers to,
// and the page says from which commit it is built, if that can be known.
func TestPageNamesItsKubernetesAndCommit(t *testing.T) {
	text, err := os.ReadFile("../../DEVIATIONS.md")
	if err != nil || !strings.Contains(string(text), "Reference: Kubernetes "+kubernetes+".") {
		t.Errorf("DEVIATIONS.md does not refer to Kubernetes %s: %v", kubernetes, err)
	}
	page := func(folder string) string {
		s := make(site)
		if err := s.addStatic(); err != nil {
			t.Fatal(err)
		}
		s.addAbout(t.Context(), folder)
		return string(s["index.html"])
	}
	outside := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(outside))
	unknown := `Decides as Kubernetes ` + kubernetes + ` does. Built from <a href="https://github.com/restartkit/restart" rel="noreferrer">github.com/restartkit/restart</a>.`
	if got := page(outside); !strings.Contains(got, unknown) || strings.Contains(got, "{{") {
		t.Error(got)
	}
	if commit, ok := git(t.Context(), ".", "rev-parse", "HEAD"); ok {
		if got := page("."); !strings.Contains(got, `href="https://github.com/restartkit/restart/tree/`+commit+`"`) || !strings.Contains(got, " at "+commit[:12]) {
			t.Error(got)
		}
	}
}
