package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// The manifest in the repository is complete, and says that it is of no release.
func TestManifest(t *testing.T) {
	p, err := parse(manifest)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Spec
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "restart" ||
		s.Version != noVersion || s.Homepage == "" || s.Description == "" || s.ShortDescription == "" || len(s.ShortDescription) > 60 {
		t.Errorf("%+v", p)
	}
	seen := map[string]bool{}
	for _, x := range s.Platforms {
		l := x.Selector.MatchLabels
		name := fmt.Sprintf("kubectl-restart_%s_%s.tar.gz", l.OS, l.Arch)
		if seen[name] || x.Sha256 != noSum || path.Base(x.URI) != name || !strings.Contains(x.URI, "/"+noVersion+"/") {
			t.Errorf("%+v", x)
		}
		if want := map[bool]string{false: "kubectl-restart", true: "kubectl-restart.exe"}[l.OS == "windows"]; x.Bin != want {
			t.Errorf("%s: bin %q, want %q", name, x.Bin, want)
		}
		seen[name] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d platforms, want 5", len(seen))
	}
}

// A release's manifest has the checksum of each archive, and each archive has the
// manifest's program.
func TestRelease(t *testing.T) {
	folder := t.TempDir()
	fake := func(version string, p platform) ([]byte, []byte, error) {
		return []byte("program for " + p.Selector.MatchLabels.OS + "/" + p.Selector.MatchLabels.Arch), []byte("licence"), nil
	}
	if err := release("v1.2.3", folder, fake); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "restart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parse(string(text))
	if err != nil || p.Spec.Version != "v1.2.3" || strings.Contains(string(text), noVersion) {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, x := range p.Spec.Platforms {
		archive, err := os.ReadFile(filepath.Join(folder, path.Base(x.URI)))
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(archive)); sum != x.Sha256 || !strings.Contains(x.URI, "/v1.2.3/") {
			t.Errorf("%s: checksum %s, want %s", x.URI, x.Sha256, sum)
		}
		files := unpack(t, archive)
		if want := "program for " + x.Selector.MatchLabels.OS + "/" + x.Selector.MatchLabels.Arch; files[x.Bin] != want || files["LICENSE"] != "licence" {
			t.Errorf("%s: %v", x.URI, files)
		}
	}
}

func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(h.Name, "kubectl-restart") && h.Mode&0o111 == 0 {
			t.Errorf("%s is not executable", h.Name)
		}
		files[h.Name] = string(text)
	}
}

func TestReleaseRefusesWrongArguments(t *testing.T) {
	fail := func(string, platform) ([]byte, []byte, error) { return nil, nil, errors.New("no compiler") }
	for version, folder := range map[string]string{"": "x", "1.2.3": "x", noVersion: "x", "v1.2": "x", "v1.2.3": ""} {
		if release(version, folder, fail) == nil {
			t.Errorf("version %q, folder %q: no error", version, folder)
		}
	}
	if err := release("v1.2.3", t.TempDir(), fail); err == nil || !strings.Contains(err.Error(), "no compiler") {
		t.Error(err)
	}
}
