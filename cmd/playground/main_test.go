package main

import (
	"context"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// The files of a page are served, and nothing else.
func TestFilesOfAPageAreServed(t *testing.T) {
	page := site{"index.html": []byte("<title>page</title>"), "style.css": []byte("a {}")}
	for _, tt := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", "/", 200, "<title>page</title>"},
		{"GET", "/index.html", 200, "<title>page</title>"},
		{"GET", "/style.css", 200, "a {}"},
		{"HEAD", "/style.css", 200, ""},
		{"GET", "/other", 404, "404 page not found\n"},
		{"GET", "/static/index.html", 404, "404 page not found\n"},
		{"GET", "/..%2fmain.go", 404, "404 page not found\n"},
		{"POST", "/", 405, "only GET and HEAD are allowed\n"},
	} {
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, httptest.NewRequest(tt.method, tt.path, nil))
		if answer.Code != tt.code || answer.Body.String() != tt.body {
			t.Errorf("%s %s: %d, %q", tt.method, tt.path, answer.Code, answer.Body)
		}
		if h := answer.Header(); tt.code == 200 && (h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Type") == "") {
			t.Errorf("%s: %v", tt.path, h)
		}
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

// The page says from which commit it is built, if that can be known.
func TestPageNamesItsCommit(t *testing.T) {
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
