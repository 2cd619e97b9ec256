package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A runtimeCall is one of containerd's, as its log has it.
type runtimeCall struct {
	method    string // CreateContainer or StartContainer
	container string // its name
	span             // from the call to its answer, the zero time if there was none
}

var (
	logLine   = regexp.MustCompile(`^time="([^"]+)" level=\w+ msg="((?:[^"\\]|\\.)*)"`)
	createLog = regexp.MustCompile(`^CreateContainer within sandbox "\w+" for (container )?&ContainerMetadata\{Name:([^,]+),.*?\}(?: returns container id "(\w+)")?`)
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
	names := map[string]string{} // by id
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
			if m[1] != "" {
				calls = append(calls, runtimeCall{"CreateContainer", m[2], span{from: at}})
				continue
			}
			names[m[3]] = m[2]
			answered("CreateContainer", m[2], at)
		}
		if m := startLog.FindStringSubmatch(message); m != nil {
			if m[2] == "" {
				calls = append(calls, runtimeCall{"StartContainer", names[m[1]], span{from: at}})
				continue
			}
			answered("StartContainer", names[m[1]], at)
		}
	}
	return calls
}
