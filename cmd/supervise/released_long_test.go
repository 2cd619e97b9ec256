//go:build long

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// firstRun is the first row of a command that runs, and its restarts.
var firstRun = regexp.MustCompile(`(?m)^(?:\S+T\S+ +)?([a-z]+) +Running +(\d+)`)

// A run continues one of a released version that was killed: it restarts the commands
// that version restarted, with its counts, also if the clock was set back since.
func TestContinuesReleasedVersions(t *testing.T) {
	commands, err := filepath.Abs(filepath.Join(programtest.Released, "commands.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	continued := 0
	for _, version := range programtest.Versions(t) {
		want := programtest.ReleasedText(t, version, "supervise.expected.txt")
		if want == "" {
			continue
		}
		continued++
		for name, later := range map[string]time.Duration{"later": 0, "clock set back": 100 * 365 * 24 * time.Hour} {
			t.Run(version+" "+name, func(t *testing.T) {
				p := start(t, t.TempDir(), "-state", programtest.ReleasedFolder(t, version, "supervise", later), "-f", commands)
				p.Eventually("every command that is to run runs", func() bool { return restarts(p.Out.String()) == want })
				p.Signal(syscall.SIGTERM)
				p.Done(128 + int(syscall.SIGTERM))
				log := p.Err.String()
				if !strings.Contains(log, "web: goes on after 2 failures in a row") || !strings.Contains(log, "done: has ended") {
					t.Error(log)
				}
				if lowered := strings.Contains(log, "clock"); lowered != (later != 0) {
					t.Errorf("a note about the clock: %v\n%s", lowered, log)
				}
			})
		}
	}
	if continued == 0 {
		t.Error("no version's run was continued")
	}
}

// restarts returns how often each command had been restarted when it first ran.
func restarts(output string) string {
	counts := map[string]string{}
	for _, row := range firstRun.FindAllStringSubmatch(output, -1) {
		if _, seen := counts[row[1]]; !seen {
			counts[row[1]] = row[2]
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s %s\n", name, counts[name])
	}
	return b.String()
}
