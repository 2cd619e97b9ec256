package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// times is what the golden files do not hold.
var times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)

// TestGoldenStatusOfEveryManifest runs every manifest of testdata, but for those of a
// thousand pods, and compares the final status with its golden file. It must not depend
// on which process is faster.
func TestGoldenStatusOfEveryManifest(t *testing.T) {
	runManifests(t, func(name string) bool { return !strings.HasSuffix(name, "-1000") })
}

// runManifests runs the manifests of these names.
func runManifests(t *testing.T, wanted func(name string) bool) {
	t.Helper()
	manifests, err := filepath.Glob("../testdata/*.yaml")
	if err != nil || len(manifests) < 15 {
		t.Fatalf("%d manifests, %v", len(manifests), err)
	}
	for _, manifest := range manifests {
		if text, err := os.ReadFile(manifest); err != nil || !strings.Contains(string(text), "kind: Job\n") {
			continue // another program's
		}
		name := strings.TrimSuffix(filepath.Base(manifest), ".yaml")
		if !wanted(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "", "-backoff", "1ms", manifest)
			code := p.Wait()
			status := times.ReplaceAllString(p.Out.String(), "TIME")
			programtest.Golden(t, "../testdata/golden/"+name+".txt", fmt.Sprintf("%s# exit code %d\n", status, code))
		})
	}
}

// TestBadManifestStartsNothing runs what is no runnable Job. Nothing is started, and
// everything that is wrong is named with its path.
func TestBadManifestStartsNothing(t *testing.T) {
	inputs, err := filepath.Glob("../testdata/bad/*.[yj]*")
	if err != nil || len(inputs) < 20 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			p := start(t, "", input)
			p.Done(exitBad)
			if out := p.Out.String(); out != "" {
				t.Errorf("standard output: %s", out)
			}
			programtest.Golden(t, "../testdata/golden/bad/"+filepath.Base(input)+".txt", p.Err.String())
		})
	}
}

// No golden file is left of a manifest that is gone.
func TestGoldenFilesAreUsed(t *testing.T) {
	for files, source := range map[string]func(name string) string{
		"../testdata/golden/*.txt":     func(name string) string { return "../testdata/" + name + ".yaml" },
		"../testdata/golden/bad/*.txt": func(name string) string { return "../testdata/bad/" + name },
	} {
		found, _ := filepath.Glob(files)
		for _, file := range found {
			name := strings.TrimSuffix(filepath.Base(file), ".txt")
			if _, err := os.Stat(source(name)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
