package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/cmd/internal/programtest"
	"github.com/restartkit/restart/cmd/internal/timeline"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// eventLines returns the events of a file in one line each, without times and UIDs, by pod.
func eventLines(t *testing.T, file string) (lines []string, events []timeline.Event) {
	t.Helper()
	events, torn, err := readEvents(file)
	if err != nil || torn {
		t.Fatalf("torn %v, %v", torn, err)
	}
	for _, e := range events {
		e.Time, e.UID = time.Time{}, ""
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimPrefix(string(text), `{"time":"0001-01-01T00:00:00Z",`))
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(podOf(a), podOf(b)) })
	return lines, events
}

func podOf(line string) string {
	_, pod, _ := strings.Cut(line, `"pod":`)
	pod, _, _ = strings.Cut(pod, `,`)
	return pod
}

// Everything that happens stands in the file once, with what was decided about it.
func TestEventsTellWhatHappened(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events")
	manifest := strings.Replace(perIndex(3, 3, `
case $JOB_COMPLETION_INDEX in
  1) test "$FAILURES" -ge 1 || exit 3;;
  2) kill -9 $$$$;;
esac
`), "backoffLimitPerIndex: 2", "backoffLimitPerIndex: 2\n  podFailurePolicy:\n    rules:\n    - action: Count\n      onExitCodes: {operator: In, values: [3]}", 1)
	p := start(t, manifest, "-backoff", "20ms", "-events", file, "-")
	p.Done(exitFailed)
	lines, events := eventLines(t, file)
	want := `"event":"began","job":"test"}
"event":"indexFailed","job":"test","index":2}
"event":"condition","job":"test","condition":"FailureTarget","status":"True","reason":"FailedIndexes","message":"Job has failed indexes"}
"event":"condition","job":"test","condition":"Failed","status":"True","reason":"FailedIndexes","message":"Job has failed indexes"}
"event":"ended","job":"test"}
"event":"created","job":"test","pod":"test-0-1","index":0,"attempt":1}
"event":"started","job":"test","pod":"test-0-1","index":0,"attempt":1}
"event":"succeeded","job":"test","pod":"test-0-1","index":0,"attempt":1}
"event":"created","job":"test","pod":"test-1-1","index":1,"attempt":1}
"event":"started","job":"test","pod":"test-1-1","index":1,"attempt":1}
"event":"failed","job":"test","pod":"test-1-1","index":1,"attempt":1,"container":"main","exitCode":3,"rule":0,"action":"Count","counted":true,"wait":"20ms","why":"failure 1 of index 1"}
"event":"created","job":"test","pod":"test-1-2","index":1,"attempt":2}
"event":"started","job":"test","pod":"test-1-2","index":1,"attempt":2}
"event":"succeeded","job":"test","pod":"test-1-2","index":1,"attempt":2}
"event":"created","job":"test","pod":"test-2-1","index":2,"attempt":1}
"event":"started","job":"test","pod":"test-2-1","index":2,"attempt":1}
"event":"failed","job":"test","pod":"test-2-1","index":2,"attempt":1,"container":"main","exitCode":137,"signal":9,"counted":true,"wait":"20ms","why":"failure 1 of index 2"}
"event":"created","job":"test","pod":"test-2-2","index":2,"attempt":2}
"event":"started","job":"test","pod":"test-2-2","index":2,"attempt":2}
"event":"failed","job":"test","pod":"test-2-2","index":2,"attempt":2,"container":"main","exitCode":137,"signal":9,"counted":true,"wait":"40ms","why":"failure 2 of index 2"}
"event":"created","job":"test","pod":"test-2-3","index":2,"attempt":3}
"event":"started","job":"test","pod":"test-2-3","index":2,"attempt":3}
"event":"failed","job":"test","pod":"test-2-3","index":2,"attempt":3,"container":"main","exitCode":137,"signal":9,"counted":true}
`
	got := strings.Join(lines, "\n") + "\n"
	// The events about no pod come first. Where among them the index fails is not said.
	index := `"event":"indexFailed","job":"test","index":2}` + "\n"
	if strings.Count(got, index) != 1 || strings.Replace(got, index, "", 1) != strings.Replace(want, index, "", 1) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c := timeline.Layout(events)
	if c.Attempts != 6 || c.Indexes != 3 || c.Result != "Failed (FailedIndexes)" || c.Outcomes != [timeline.OutcomeCount]int{2, 3, 0, 1} {
		t.Errorf("%+v", c)
	}
}

// Restarts in a pod, a disrupted pod and the lanes of a Job without indexes.
func TestEventsOfRestartsAndDisruptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "events")
	start(t, plainPods("backoffLimit: 2", "restartPolicy: OnFailure", "exit 7"), "-backoff", "20ms", "-events", file, "-").Done(exitFailed)
	lines, events := eventLines(t, file)
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		`"event":"restarted","job":"plain","pod":"plain-1","attempt":1,"container":"main","exitCode":7,"wait":"20ms","why":"restart 1 of the container"}`,
		`"event":"restarted","job":"plain","pod":"plain-1","attempt":1,"container":"main","exitCode":7,"wait":"40ms","why":"restart 2 of the container"}`,
		`"event":"deleted","job":"plain","pod":"plain-1","attempt":1}`,
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("want %s:\n%s", want, text)
		}
	}
	if c := timeline.Layout(events); c.Restarts < 2 || c.Attempts != 1 || c.Indexed {
		t.Errorf("%+v", c)
	}

	gate := newGate(t)
	p := start(t, perIndex(1, 1, gate.wait), "-backoff", "20ms", "-disrupt", "0@0s", "-events", file, "-")
	p.Err.Says("created (index 0, attempt 2)", 1)
	gate.open(t)
	p.Done(exitComplete)
	lines, _ = eventLines(t, file)
	if text := strings.Join(lines, "\n"); !strings.Contains(text, `"event":"deleted","job":"test","pod":"test-0-1","index":0,"attempt":1,"reason":"DisruptionTarget"}`) || strings.Contains(text, "plain") {
		t.Error(text)
	}
}

// Each format, at the end of a run and from its events, also of one that goes on.
func TestTimelinesHaveTheirFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "events")
	check := func(path string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch strings.ToLower(filepath.Ext(path)) {
		case ".svg":
			if !bytes.HasPrefix(text, []byte("<svg ")) || !bytes.HasSuffix(text, []byte("</svg>\n")) {
				t.Errorf("%.100s", text)
			}
		case ".html":
			if !bytes.HasPrefix(text, []byte("<!DOCTYPE html>")) || !bytes.HasSuffix(text, []byte("</html>\n")) {
				t.Errorf("%.100s", text)
			}
		}
	}
	gate := newGate(t)
	p := start(t, perIndex(2, 2, gate.wait), "-events", file, "-timeline", filepath.Join(dir, "end.HTML"), "-")
	p.Running(2 + 2)
	draw := func(args ...string) string {
		t.Helper()
		p := start(t, "", append([]string{"timeline"}, args...)...)
		p.Done(exitComplete)
		if p.Out.String() != "" {
			t.Error(p.Out.String())
		}
		return p.Err.String()
	}
	svg := filepath.Join(dir, "now.svg")
	if said := draw(file, "-o", svg); said != "runjob timeline: wrote "+svg+"\n" {
		t.Error(said)
	}
	check(svg)
	gate.open(t)
	p.Done(exitComplete)
	p.Err.Says("wrote "+filepath.Join(dir, "end.HTML"), 1)
	check(filepath.Join(dir, "end.HTML"))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text[:len(text)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.SVG")
	if said := draw("-o", cut, file); said != "runjob timeline: the last line is incomplete and left out\nrunjob timeline: wrote "+cut+"\n" {
		t.Error(said)
	}
	check(cut)
	if help := start(t, "", "timeline", "-h"); help.Wait() != exitComplete {
		t.Error(help.Err.String())
	} else {
	}
}

// contents returns the regular files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// A run that ends before it begins leaves a torn line for the next run to pass over.
func TestRunThatNeverBeganDoesNotEnd(t *testing.T) {
	t.Parallel()
	file := programtest.WriteFile(t, t.TempDir(), "events", `{"time":"2026-03-01T12:00:00Z","event":"began"}`+"\n"+`{"time":"2026-`, 0o600)
	for _, begins := range []bool{false, true} {
		r, err := newRecorder(&options{events: file, manifest: "-"}, "x", true)
		if err != nil {
			t.Fatal(err)
		}
		if begins {
			r.begin(time.Now(), true)
		}
		if err := r.end(time.Now(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, events := eventLines(t, file); len(events) != 3 || events[2].Kind != timeline.Ended {
		t.Errorf("%+v", events)
	}
}

// A file that begins with a torn event is one of events.
func TestTornEventsMakeRoomForANewRun(t *testing.T) {
	t.Parallel()
	file := programtest.WriteFile(t, t.TempDir(), "events", `{"time":"2026-`, 0o600)
	r, err := newRecorder(&options{events: file, manifest: "-"}, "x", false)
	if err != nil {
		t.Fatal(err)
	}
	r.begin(time.Now(), false)
	if err := r.end(time.Now(), ""); err != nil {
		t.Fatal(err)
	}
	if _, events := eventLines(t, file); len(events) != 2 {
		t.Errorf("%+v", events)
	}
}

// Nothing is started, and nothing drawn, if a file cannot be what it is to be.
func TestUnusableFilesOfEventsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := programtest.WriteFile(t, dir, "bad", "{}\n{}\n", 0o600)
	empty := programtest.WriteFile(t, dir, "empty", "", 0o600)
	good := filepath.Join(dir, "good")
	if err := os.WriteFile(good, []byte(`{"time":"2026-03-01T12:00:00Z","event":"began"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	manifest := programtest.WriteFile(t, dir, "job.json", strings.ReplaceAll(job(1, 1, "exit 0"), "\t", " "), 0o600)
	env := programtest.WriteFile(t, dir, "env", "A=1\n", 0o600)
	drawn := programtest.WriteFile(t, dir, "drawn.svg", `{"time":"2026-03-01T12:00:00Z","event":"began"}`, 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Link(manifest, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.svg"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	for args, want := range map[string]string{
		"-events " + pipe + " -":                          "-events: " + pipe + " is not a regular file",
		"-events " + dir + " -":                           "-events: " + dir + " is not a regular file",
		"-events " + dir + "/missing/x -":                 "-events: open " + dir + "/missing/x: no such file",
		"-events= -":                                      "-events: the file has no name",
		"-timeline x.pdf -":                               "-timeline x.pdf: must end in .svg or .html",
		"-timeline= -":                                    "-timeline : must end in .svg or .html",
		"-timeline " + dir + "/missing/x.svg -":           "-timeline: open " + dir + "/missing/x.svg: no such file",
		"-timeline " + bad + "/x.svg -":                   "-timeline: open " + bad + "/x.svg: not a directory",
		"-timeline " + dir + "/folder.svg -":              "-timeline: open " + dir + "/folder.svg: is a directory",
		"timeline " + good + " -o " + dir + "/folder.svg": "-o: open " + dir + "/folder.svg: is a directory",
		"timeline":              "one file of events is needed",
		"timeline a b -o x.svg": "one file of events is needed",
		"timeline a":            "-o is needed",
		"timeline a -o x.gif":   "-o x.gif: must end in .svg or .html",
		"timeline a -o b/x.PNG": "-o b/x.PNG: must end in .svg or .html; a browser or rsvg-convert -z 2 x.svg > x.png makes a PNG",
		"timeline " + dir + "/none -o " + dir + "/x.svg":            "no such file",
		"timeline " + bad + " -o " + dir + "/x.svg":                 bad + ": line 1: event: is missing",
		"timeline " + empty + " -o " + dir + "/x.svg":               empty + ": no events",
		"-events " + manifest + " " + manifest:                      "-events: " + manifest + " is the manifest",
		"-events " + link + " " + manifest:                          "-events: " + link + " is the manifest",
		"-events " + manifest + " -":                                "-events: " + manifest + " is not a file of events",
		"-events " + bad + " -":                                     "-events: " + bad + " is not a file of events",
		"-events " + env + " -env-file " + env + " -":               "-events: " + env + " is the file of -env-file",
		"-events " + dir + "/x.svg -timeline " + dir + "/./x.svg -": "-events: " + dir + "/x.svg is the file of -timeline",
		"timeline " + drawn + " -o " + drawn:                        "-o: " + drawn + " is the file of events",
		"timeline " + good + " -x":                                  "flag provided but not defined: -x",
	} {
		p := start(t, job(1, 1, "exit 0"), strings.Fields(args)...)
		p.Done(exitBad)
		if !strings.Contains(p.Err.String(), want) || p.Out.String() != "" {
			t.Errorf("%s: says %swant %s", args, p.Err.String(), want)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "x.*")); len(found) > 0 {
		t.Errorf("%q", found)
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// A disk that is full does not hold up the Job, and is reported at its end.
func TestUnwrittenEventIsReportedAtTheEnd(t *testing.T) {
	t.Parallel()
	r, err := newRecorder(&options{events: filepath.Join(t.TempDir(), "events"), reading: reading{}}, "x", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.begin(time.Now(), false); err != nil {
		t.Fatal(err)
	}
	r.file.Close()
	for range 3 {
		r.add(timeline.Event{Kind: timeline.Started})
	}
	if err := r.end(time.Now(), ""); err == nil || !strings.HasPrefix(err.Error(), "-events: ") || strings.Count(err.Error(), "\n") > 1 {
		t.Errorf("error %v", err)
	}
}

// If even the first event cannot be written, nothing is started, and it is said once.
func TestUnwritableEventsStartNothing(t *testing.T) {
	t.Parallel()
	r, err := newRecorder(&options{events: filepath.Join(t.TempDir(), "events"), timeline: filepath.Join(t.TempDir(), "x.svg")}, "x", false)
	if err != nil {
		t.Fatal(err)
	}
	r.file.Close()
	if err := r.begin(time.Now(), false); err == nil || !strings.HasPrefix(err.Error(), "-events: ") || !strings.HasSuffix(err.Error(), "; nothing was started") {
		t.Errorf("error %v", err)
	}
	if err := r.end(time.Now(), ""); err != nil {
		t.Errorf("said again: %v", err)
	}
}

// Without -events the events of a picture are kept, up to what a picture is made of.
func TestKeptEventsAreBounded(t *testing.T) {
	t.Parallel()
	r, err := newRecorder(&options{timeline: "x.svg"}, "x", false)
	if err != nil {
		t.Fatal(err)
	}
	r.kept = make([]timeline.Event, timeline.MaxEvents-2, timeline.MaxEvents)
	for i, want := range []int{timeline.MaxEvents - 1, timeline.MaxEvents, timeline.MaxEvents} {
		if r.add(timeline.Event{}); len(r.kept) != want || r.dropped != (i == 2) {
			t.Errorf("%d events, dropped %v", len(r.kept), r.dropped)
		}
	}
	var said []string
	out := filepath.Join(t.TempDir(), "x.svg")
	r.kept, r.begun = r.kept[:10], true
	if err := r.draw(&options{timeline: out}, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }); err != nil || len(said) != 2 {
		t.Errorf("%v, %q", err, said)
	}
}

// A rule's name stands beside its number.
func TestRuleIsNamedInTheEvent(t *testing.T) {
	t.Parallel()
	spec := &batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{}, {Name: "no-licence"}}}}
	for rule, want := range []string{"", "no-licence"} {
		e := ending{pod: &pod{run: &podRun{index: -1}}, decision: jobpolicy.PodDecision{Match: jobpolicy.Match{Rule: rule}}}
		if got := e.events(spec, time.Now()); len(got) != 1 || *got[0].Rule != rule || got[0].RuleName != want || got[0].Index != nil {
			t.Errorf("rule %d: %+v", rule, got)
		}
	}
	e := ending{pod: &pod{run: &podRun{index: 3}}, decision: jobpolicy.PodDecision{Match: jobpolicy.Match{Rule: -1}}}
	if got := e.events(spec, time.Now()); got[0].Rule != nil || *got[0].Index != 3 {
		t.Errorf("%+v", got)
	}
}
