//go:build long

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A runtimeCall is one of containerd's, as its log has it.
type runtimeCall struct {
	method    string // CreateContainer or StartContainer
	id        string // of the container that StartContainer starts
	container string // its name
	attempt   int
	span      // from the call to its answer, the zero time if there was none
}

var (
	logLine   = regexp.MustCompile(`^time="([^"]+)" level=\w+ msg="((?:[^"\\]|\\.)*)"`)
	createLog = regexp.MustCompile(`^CreateContainer within sandbox "\w+" for (container )?&ContainerMetadata\{Name:([^,]+),Attempt:(\d+),?\}(?: returns container id "(\w+)")?`)
	startLog  = regexp.MustCompile(`^StartContainer for "(\w+)"( returns| failed)?`)
)

// runtimeCalls reads what the containerd of the tests has logged, in order.
func runtimeCalls(t testing.TB, endpoint string) []runtimeCall {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(strings.TrimPrefix(endpoint, "unix://")), "log"))
	if err != nil {
		t.Fatal(err)
	}
	calls := parseRuntimeCalls(string(text))
	if len(calls) == 0 {
		t.Fatal("the runtime has logged no calls")
	}
	return calls
}

// parseRuntimeCalls reads a log of containerd.
func parseRuntimeCalls(text string) (calls []runtimeCall) {
	made := map[string]runtimeCall{} // by the id that was the answer
	answered := func(method, container string, at time.Time) {
		for i, c := range slices.Backward(calls) {
			if c.method == method && c.container == container {
				calls[i].to = at
				return
			}
		}
	}
	for line := range strings.Lines(text) {
		parts := logLine.FindStringSubmatch(line)
		if parts == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, parts[1])
		if err != nil {
			continue
		}
		message := strings.ReplaceAll(parts[2], `\"`, `"`)
		if m := createLog.FindStringSubmatch(message); m != nil {
			attempt, _ := strconv.Atoi(m[3])
			call := runtimeCall{"CreateContainer", "", m[2], attempt, span{from: at}}
			if m[1] != "" {
				calls = append(calls, call)
				continue
			}
			made[m[4]] = call
			answered("CreateContainer", m[2], at)
		}
		if m := startLog.FindStringSubmatch(message); m != nil {
			if m[2] == "" {
				calls = append(calls, runtimeCall{"StartContainer", m[1], made[m[1]].container, made[m[1]].attempt, span{from: at}})
				continue
			}
			answered("StartContainer", made[m[1]].container, at)
		}
	}
	return calls
}

// The calls are those of the log, each with its answer.
func TestRuntimeCallsAreReadFromItsLog(t *testing.T) {
	const sandbox = `CreateContainer within sandbox \"78f4\" for `
	text := strings.Join([]string{
		`time="2026-11-22T16:49:22.1Z" level=info msg="starting containerd" revision= version=2.1.4`,
		`time="2026-11-22T16:49:22.2Z" level=info msg="` + sandbox + `container &ContainerMetadata{Name:a,Attempt:30,}"`,
		`time="2026-11-22T16:49:22.3Z" level=info msg="` + sandbox + `container &ContainerMetadata{Name:b,Attempt:0,}"`,
		`time="2026-11-22T16:49:22.4Z" level=info msg="` + sandbox + `&ContainerMetadata{Name:a,Attempt:30,} returns container id \"1c86\""`,
		`time="2026-11-22T16:49:22.5Z" level=error msg="` + sandbox + `&ContainerMetadata{Name:b,Attempt:0,} failed" error="no"`,
		`time="2026-11-22T16:49:22.6Z" level=info msg="StartContainer for \"1c86\""`,
		`time="2026-11-22T16:49:22.7Z" level=info msg="StartContainer for \"1c86\" returns successfully"`,
		`time="2026-11-22T16:49:22.8Z" level=info msg="StartContainer for \"1c86\""`,
		`a line that is none`,
	}, "\n")
	at := func(tenth int) time.Time { return time.Date(2026, 11, 22, 16, 49, 22, tenth*1e8, time.UTC) }
	want := []runtimeCall{
		{"CreateContainer", "", "a", 30, span{at(2), at(4)}},
		{"CreateContainer", "", "b", 0, span{at(3), at(5)}},
		{"StartContainer", "1c86", "a", 30, span{at(6), at(7)}},
		{"StartContainer", "1c86", "a", 30, span{from: at(8)}},
	}
	if got := parseRuntimeCalls(text); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
