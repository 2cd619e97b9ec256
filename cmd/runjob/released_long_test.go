//go:build long

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// A run continues one of a released version that was killed. Its Job comes to the end
// to which that version brought it, also if the clock was set back since.
func TestContinuesReleasedVersions(t *testing.T) {
	manifest, err := filepath.Abs(filepath.Join(programtest.Released, "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	continued := 0
	for _, version := range programtest.Versions(t) {
		want := programtest.ReleasedText(t, version, "runjob.expected.txt")
		if want == "" {
			continue
		}
		continued++
		for name, later := range map[string]time.Duration{"later": 0, "clock set back": 100 * 365 * 24 * time.Hour} {
			t.Run(version+" "+name, func(t *testing.T) {
				p := programtest.New(t, "-backoff", "100ms", "-state", programtest.ReleasedFolder(t, version, "runjob", later), manifest)
				p.Dir = t.TempDir()
				programtest.WriteFile(t, p.Dir, "mark", "", 0o600) // what the Job's pods wait for
				p.Start()
				p.Done(exitFailed)
				if got := times.ReplaceAllString(p.Out.String(), "TIME"); got != want {
					t.Errorf("%s\nwant\n%s\n%s", got, want, p.Err.String())
				}
				log := p.Err.String()
				for line, n := range map[string]int{
					"released-4-1: was running: runs again": 1, "had ended meanwhile": 1, "released-5-2": 0,
					"released-1-2: created": 1, "released-1-3: created": 1, "released-1-4: created": 0,
					"released-3-2: created": 1, "released-0-": 0, "released-2-": 0,
				} {
					if strings.Count(log, line) != n {
						t.Errorf("not %d times %q:\n%s", n, line, log)
					}
				}
			})
		}
	}
	if continued == 0 {
		t.Error("no version's run was continued")
	}
}
