package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/printer"
	"github.com/restartkit/restart/pleg"
)

// containerConfig returns the configuration of a container, attempt 0.
func containerConfig(name string) *cri.ContainerConfig {
	return &cri.ContainerConfig{
		Metadata: &cri.ContainerMetadata{Name: name},
		Image:    &cri.ImageSpec{Image: "image"}, Command: []string{"command"}, Args: []string{"a", "b"},
		Envs:        []*cri.KeyValue{{Key: "KEY", Value: []byte("value")}},
		Mounts:      []*cri.Mount{{ContainerPath: "/c", HostPath: "/h", Readonly: true}},
		Labels:      map[string]string{"label": "l"},
		Annotations: map[string]string{restartCount: "0", "other": "0"},
		LogPath:     name + "/0.log",
		Linux:       &cri.LinuxContainerConfig{SecurityContext: &cri.LinuxContainerSecurityContext{NamespaceOptions: &cri.NamespaceOption{Network: cri.NamespaceMode_NODE}}},
	}
}

// A key is its text, with any names, and no two keys have the same text.
func TestKeysAreToldApartByTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z/%2F ]{0,4}`)
		draw := func() key {
			return key{name.Draw(t, "namespace"), name.Draw(t, "pod"), name.Draw(t, "uid"), name.Draw(t, "name")}
		}
		a, b := draw(), draw()
		x, _ := a.MarshalText()
		y, _ := b.MarshalText()
		if (a == b) != bytes.Equal(x, y) {
			t.Fatalf("%q and %q are %s and %s", a, b, x, y)
		}
		var back key
		if err := back.UnmarshalText(x); err != nil || back != a {
			t.Fatalf("%s is read as %q, %v", x, back, err)
		}
	})
	for _, text := range []string{"", "a/b/c", "a/b/c/d/e", "a/b/c/%zz"} {
		if err := new(key).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
}

// Any n starts take at least the time that the rate gives n minus burst of them, whenever
// a turn is taken that was reserved; it can be taken at once. A turn that can be neither
// taken nor reserved is free soon after those that are reserved are taken.
func TestPacerKeepsToItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate, burst := rapid.SampledFrom([]float64{0.5, 1, 3, 1000}).Draw(t, "rate"), rapid.IntRange(1, 5).Draw(t, "burst")
		now := time.Unix(1e9, 0)
		first := rapid.Bool().Draw(t, "first")
		p := newPacer(rate, burst, first, now)
		interval := time.Duration(float64(time.Second) / rate)
		var starts []time.Time
		if !first { // those of the run before
			for range burst {
				starts = append(starts, now)
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "starts") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, 0, interval / 3, 2 * interval, 9 * interval}).Draw(t, "pause"))
			wait := p.wait(now)
			if wait < 0 || p.reserved == 0 && wait > interval {
				t.Fatalf("wait %v, at most %v", wait, interval)
			}
			if wait == 0 && rapid.Bool().Draw(t, "reserve") {
				p.reserved++
				continue
			}
			if p.reserved > 0 && (wait > 0 || rapid.Bool().Draw(t, "take a reserved one")) {
				p.reserved--
				if rapid.IntRange(0, 3).Draw(t, "given back") == 0 {
					continue
				}
				if wait = p.wait(now); wait > 0 {
					t.Fatalf("a reserved turn has to wait %v", wait)
				}
			}
			now = now.Add(wait)
			p.take(now)
			starts = append(starts, now)
			for i := range starts {
				if span, least := now.Sub(starts[i]), time.Duration(len(starts)-1-i-burst+1)*interval; span < least {
					t.Fatalf("starts %d to %d take %v, must take %v", i, len(starts)-1, span, least)
				}
			}
		}
	})
	if p := newPacer(0, 0, false, time.Now()); p.wait(time.Time{}) != 0 {
		t.Error("without a rate it waits")
	}
}

// A runtime returns a container's environment as text or base64, depending on its CRI.
// The environment of the container's process shows which.
func TestVariablesAreThoseOfTheOldAttempt(t *testing.T) {
	info := func(config, env string) map[string]string {
		return map[string]string{"info": `{"config": ` + config + `, "runtimeSpec": {"process": {"env": ` + env + `}}}`}
	}
	for _, x := range []struct{ value, env, want string }{
		{`"text"`, `["A=text"]`, "text"},
		{`"dGV4dA=="`, `["A=text"]`, "text"},
		{`"dGV4dA=="`, `["A=dGV4dA=="]`, "dGV4dA=="},
		{`""`, `["A="]`, ""},
		{`"first"}, {"key": "A", "value": "last"`, `["A=last"]`, "last"},
		{`"Zmlyc3Q="}, {"key": "A", "value": "bGFzdA=="`, `["A=last"]`, "last"},
	} {
		c, err := containerConfigOf(info(`{"metadata": {"name": "c"}, "envs": [{"key": "A", "value": `+x.value+`}]}`, x.env))
		if err != nil || len(c.Envs) != 1 || string(c.Envs[0].Value) != x.want {
			t.Errorf("%s: %+v, %v", x.value, c, err)
		}
	}
	for _, bad := range []map[string]string{
		nil, {}, {"info": "{}"}, {"info": "no JSON"},
		info(`{"metadata": {}}`, `[]`),
		info(`{"metadata": {"name": 1}}`, `[]`),
		info(`{"metadata": {"name": "c"}, "envs": [{"key": "A", "value": "text"}]}`, `["A=other"]`),
		info(`{"metadata": {"name": "c"}, "envs": 7}`, `[]`),
	} {
		if c, err := containerConfigOf(bad); err == nil {
			t.Errorf("%v: %v", bad, c)
		}
	}
}

// The next attempt differs from the old one in its number alone, wherever that is.
func TestNextAttemptChangesItsNumberOnly(t *testing.T) {
	for _, x := range []struct{ log, want string }{{"c/9.log", "c/10.log"}, {"9.log", "10.log"}, {"c/19.log", "c/19.log"}, {"c_9.log", "c_9.log"}, {"", ""}} {
		old := containerConfig("c")
		old.Metadata.Attempt, old.LogPath, old.Annotations = 9, x.log, map[string]string{"other": "9"}
		next := nextConfig(old)
		if next.LogPath != x.want || next.Metadata.Attempt != 10 || old.Metadata.Attempt != 9 || next.Annotations["other"] != "9" {
			t.Errorf("%q: %v", x.log, next)
		}
	}
}

// The table has a line for each kind of row.
func TestTableOfEveryState(t *testing.T) {
	now := time.Date(2026, 5, 4, 13, 2, 1, 0, time.Local)
	decided := func(d backoff.Action, code int32, reason string) func(*task) {
		return func(x *task) {
			e := backoff.Exit{Run: 3, Code: code, Reason: reason, Finished: now}
			x.state = pleg.StateExited
			x.decide("id", e, backoff.Decision{Action: d, NotBefore: now.Add(20 * time.Second), Failures: 3})
		}
	}
	var text bytes.Buffer
	p := printer.New()
	table, objects := newRowWriter("text", p.To(&text), false), newRowWriter("json", p.To(&text), false)
	for _, change := range []func(*task){
		func(x *task) { x.state = pleg.StateCreated },
		func(x *task) { x.state = pleg.StateRunning },
		decided(backoff.ActionRestart, 1, "Error"),
		decided(backoff.ActionRestart, 137, "OOMKilled"),
		decided(backoff.ActionStop, 0, "Completed"),
		decided(backoff.ActionStop, 3, "Error"),
		decided(backoff.ActionStop, 0, "OOMKilled"),
		decided(backoff.ActionGiveUp, 3, ""),
		func(x *task) { decided(backoff.ActionRestart, 1, "")(x); x.trouble = "CreateContainerError" },
		func(x *task) { decided(backoff.ActionRestart, 1, "")(x); x.gone = true },
	} {
		x := task{key: key{"ns", "web-0", "u", "app"}, container: "id", attempt: 2, started: now.Add(-90 * time.Second)}
		change(&x)
		table.row(now, x.row(now, 20*time.Second))
		if x.gone {
			objects.row(now.UTC(), x.row(now, 20*time.Second))
		}
	}
	p.Finish(nil)
	want := strings.TrimLeft(`
NAME                               STATE                  RESTARTS         NEXT                LAST EXIT
ns/web-0/app                       ContainerCreating      2 (1m30s ago)    -                   -
ns/web-0/app                       Running                2 (1m30s ago)    -                   -
ns/web-0/app                       CrashLoopBackOff       2 (1m30s ago)    13:02:21 in 20s     1
ns/web-0/app                       CrashLoopBackOff       2 (1m30s ago)    13:02:21 in 20s     137 (OOMKilled)
ns/web-0/app                       Completed              2 (1m30s ago)    -                   0
ns/web-0/app                       Error                  2 (1m30s ago)    -                   3
ns/web-0/app                       OOMKilled              2 (1m30s ago)    -                   0 (OOMKilled)
ns/web-0/app                       GivenUp                2 (1m30s ago)    -                   3
ns/web-0/app                       CreateContainerError   2 (1m30s ago)    13:02:21 in 20s     1
ns/web-0/app                       Removed                2 (1m30s ago)    -                   1
`, "\n")
	lines := strings.SplitAfter(text.String(), "\n")
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(strings.Join(lines[:11], ""))); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, &text)
	}
	var object jsonRow
	if err := json.Unmarshal([]byte(lines[11]), &object); err != nil || object.State != "Removed" || object.Exit.Code != 1 || object.Restarts != 2 || object.Name != "app" {
		t.Errorf("%s: %v", lines[11], err)
	}
}

// A runtime's names cannot steer the terminal or add a line.
func TestNamesInTheTableCannotSteerTheTerminal(t *testing.T) {
	const evil = "\x1b[2J\r\nforged"
	x := task{key: key{evil, evil, evil, evil}, container: evil}
	x.decide(evil, backoff.Exit{Run: 1, Reason: evil}, backoff.Decision{Action: backoff.ActionStop})
	x.state = pleg.StateExited
	for _, format := range []string{"text", "json"} {
		var text bytes.Buffer
		p := printer.New()
		newRowWriter(format, p.To(&text), false).row(time.Now(), x.row(time.Now(), 0))
		p.Finish(nil)
		if got := text.String(); strings.ContainsAny(got, "\x1b\r") || strings.Contains(got, "\nforged") {
			t.Errorf("%s: %q", format, got)
		}
	}
}

// A refused start has a word for the table.
func TestRefusedStartsHaveAWord(t *testing.T) {
	for want, err := range map[string]error{
		"SandboxNotReady": errNotReady, "NoConfig": errNoConfig, "CreateContainerError": errors.New("CreateContainer: no"),
		"RunContainerError": errors.New("StartContainer: no"), "": errSuperseded,
	} {
		if got := failureWord(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := compareAttempts(&cri.Container{Metadata: &cri.ContainerMetadata{Attempt: 1}}, &cri.Container{}); got <= 0 {
		t.Errorf("attempt 1 is before 0: %d", got)
	}
}
