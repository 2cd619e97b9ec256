package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/cmd/internal/screen"
	"github.com/restartkit/restart/cmd/internal/timeline"
)

// perIndex is a Job of a number of indexes, whose program knows how often its index has
// failed.
func perIndex(completions, parallelism, script string) string {
	return `
apiVersion: batch/v1
kind: Job
metadata:
  name: test
spec:
  completions: ` + completions + `
  parallelism: ` + parallelism + `
  completionMode: Indexed
  backoffLimitPerIndex: 2
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 600
      containers:
      - name: main
        env:
        - {name: FAILURES, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['batch.kubernetes.io/job-index-failure-count']"}}}
        command: [sh, -c]
        args:
        - |
          ` + strings.ReplaceAll(strings.TrimSpace(script), "\n", "\n          ") + "\n"
}

// linesOf counts the lines of a file.
func linesOf(file string) int {
	text, _ := os.ReadFile(file)
	return strings.Count(string(text), "\n")
}

// A run that is killed, and started again on its state, comes to the end of its Job. It
// runs again what was running, uncounted, and nothing that had ended. Its events are
// appended to those of the killed run.
func TestKilledJobGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, events, open := filepath.Join(dir, "log"), filepath.Join(dir, "events"), filepath.Join(dir, "open")
	args := []string{"job", "--backoff", "1ms", "--state", filepath.Join(dir, "state"), "--events", events, "-"}
	manifest := perIndex("3", "3", `
echo index $JOB_COMPLETION_INDEX after $FAILURES failures >> `+log+`
test $JOB_COMPLETION_INDEX != 0 || exit 0
test $JOB_COMPLETION_INDEX$FAILURES != 10 || exit 1
until test -e `+open+`; do sleep 0.03; done
`)
	p := start(t, manifest, args...)
	p.says("test-0-1: succeeded", 1)
	p.eventually("an attempt of each index has begun, and two of index 1", func() bool { return linesOf(log) == 4 })
	p.kill()
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	q := start(t, manifest, args...)
	q.done(0)

	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"index 0 after 0 failures\n",
		"index 1 after 0 failures\n",
		"index 1 after 1 failures\n", "index 1 after 1 failures\n",
		"index 2 after 0 failures\n", "index 2 after 0 failures\n",
	}, slices.Sorted(strings.Lines(string(text)))); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if out := q.Out.String(); !strings.Contains(out, "\n  succeeded: 3\n") || !strings.Contains(out, "\n  failed: 1\n") {
		t.Errorf("status:\n%s", out)
	}
	if n := strings.Count(q.Err.String(), "was running: runs again"); n != 2 {
		t.Errorf("%d attempts run again:\n%s", n, q.Err.String())
	}
	_, all := eventLines(t, events)
	count := make(map[timeline.Kind]int)
	again := 0
	for _, e := range all {
		count[e.Kind]++
		if e.Kind == timeline.Started && count[timeline.Resumed] > 0 {
			again++
		}
	}
	if again != 2 {
		t.Errorf("%d attempts started in the resumed run, want 2", again)
	}
	for kind, want := range map[timeline.Kind]int{timeline.Began: 1, timeline.Resumed: 1, timeline.Ended: 1, timeline.Succeeded: 3, timeline.Failed: 1} {
		if count[kind] != want {
			t.Errorf("%d events %s, want %d", count[kind], kind, want)
		}
	}
}

// Restarts inside a pod are counted over kills.
func TestRestartsAreCountedOverKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	manifest := `
apiVersion: batch/v1
kind: Job
metadata: {name: on-failure}
spec:
  backoffLimit: 6
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - name: main
        command: [sh, -c, "echo run >> ` + log + `; exit 1"]
`
	args := []string{"job", "--backoff", "1ms", "--max-backoff", "1ms", "--state", filepath.Join(dir, "state"), "-"}
	const kills = 2
	for i := range kills {
		p := start(t, manifest, args...)
		p.eventually("it is restarted", func() bool { return linesOf(log) > 2*i })
		p.kill()
	}
	p := start(t, manifest, args...)
	p.done(exitFailed)
	if n := linesOf(log); n < 6 || n > 7+kills || !strings.Contains(p.Out.String(), "BackoffLimitExceeded") {
		t.Errorf("%d runs:\n%s", n, p.Out.String())
	}
}

// The second signal does not wait for the grace period.
func TestSecondSignalKillsPods(t *testing.T) {
	t.Parallel()
	p := start(t, perIndex("2", "2", "trap '' TERM; echo ready; while :; do sleep 0.05; done"), "job", "-")
	p.says("ready", 2)
	p.signal(syscall.SIGTERM)
	p.says("suspending the Job; a second signal kills its pods", 1)
	p.eventually("the second signal has come", func() bool {
		_ = p.Process.Signal(syscall.SIGTERM) // one that comes at once is the same
		return strings.Contains(p.Err.String(), "killing the pods")
	})
	p.done(exitInterrupted)
	if out := p.Out.String(); strings.Contains(out, "\n  failed:") || !strings.Contains(out, "type: Suspended") || !strings.Contains(out, "# not finished") {
		t.Errorf("status:\n%s", out)
	}
}

// Under nohup SIGHUP does not end a run.
func TestNohupIgnoresSIGHUP(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open")
	p := &program{Cmd: exec.Command("sh", "-c", `trap "" HUP; exec restart job -`), t: t, ended: make(chan struct{})}
	p.Stdin = strings.NewReader(perIndex("1", "1", "echo ready\nuntil test -e "+open+"; do sleep 0.03; done"))
	p.Stdout, p.Stderr = &p.Out, &p.Err
	p.begin()
	p.says("ready", 1)
	p.signal(syscall.SIGHUP)
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.done(0)
}

// A step that cannot be saved is not done.
func TestUnsavedStepIsNotDone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open")
	p := start(t, perIndex("100", "2", "test $JOB_COMPLETION_INDEX = 0 && exit\nuntil test -e "+open+"; do sleep 0.03; done"), "job", "--state", dir+"/state", "-")
	p.says("succeeded", 1)
	p.eventually("the folder is gone", func() bool { return os.RemoveAll(dir) == nil }) // it may just write there
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.done(exitUnwritten)
	if !strings.Contains(p.Err.String(), "the state cannot be written") {
		t.Error(p.Err.String())
	}
}

// Progress that a program draws with carriage returns is shown before the line ends.
func TestProgressIsShownWhileItHappens(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open")
	const draw = `printf '\rstep 10%%'; printf '\rstep 20%%'
until test -e OPEN; do sleep 0.03; done
printf '\rstep 100%%\n'`
	p := start(t, perIndex("1", "1", strings.ReplaceAll(draw, "OPEN", open)), "job", "-")
	p.says("test-0-1 main | step 20%\n", 1)
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.done(0)
	if text := p.Err.String(); !strings.Contains(text, "main | step 100%\n") || strings.Contains(text, `\r`) {
		t.Error(text)
	}
}

// On a terminal there is a progress bar, and a line only for what is not as it should be.
func TestTerminalHasAProgressBar(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open")
	screen, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer screen.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.Command("restart", "job", "--backoff", "1ms", "-"), t: t, ended: make(chan struct{})}
	p.Stdin = strings.NewReader(perIndex("5", "5", "until test -e "+open+"; do sleep 0.03; done\ntest $JOB_COMPLETION_INDEX -ne 3"))
	p.Stdout, p.Stderr, p.Env = &p.Out, tty, append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	p.begin()
	tty.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&p.Err, screen) // ends with an error, as terminals do
	}()
	p.says("5 active, 0 succeeded, 0 failed   0% |", 1)
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.done(exitFailed)
	<-read
	if out := p.Err.String(); strings.Contains(out, "created") || !strings.Contains(out, "failure 3 of index 3") {
		t.Errorf("other lines:\n%q", out)
	}
}

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
	podOf := func(line string) string {
		_, pod, _ := strings.Cut(line, `"pod":`)
		pod, _, _ = strings.Cut(pod, `,`)
		return pod
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(podOf(a), podOf(b)) })
	return lines, events
}

// Everything that happens stands in the file once, with what was decided about it.
func TestEventsTellWhatHappened(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events")
	manifest := strings.Replace(perIndex("3", "3", `
case $JOB_COMPLETION_INDEX in
  1) test "$FAILURES" -ge 1 || exit 3;;
  2) kill -9 $$$$;;
esac
`), "backoffLimitPerIndex: 2", "backoffLimitPerIndex: 2\n  podFailurePolicy:\n    rules:\n    - action: Count\n      onExitCodes: {operator: In, values: [3]}", 1)
	p := start(t, manifest, "job", "--backoff", "20ms", "--events", file, "-")
	p.done(exitFailed)
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

// An interruption counts nothing and forgets nothing.
func TestInterruptionCountsAndForgetsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	manifest := perIndex("2", "2", `
test $FAILURES -lt 2 && exit 1
trap 'exit 0' TERM # that it was told to end must not count as success
echo $JOB_COMPLETION_INDEX >> `+log+`
test $(grep -c $JOB_COMPLETION_INDEX `+log+`) -gt 2 && exit 1
while :; do sleep 0.01; done
`)
	args := []string{"job", "--backoff", "1ms", "--state", filepath.Join(dir, "state"), "-"}
	for range 2 {
		before := linesOf(log)
		p := start(t, manifest, args...)
		p.eventually("all run", func() bool { return linesOf(log) == before+2 })
		p.signal(syscall.SIGTERM)
		p.done(exitInterrupted)
		if out := p.Out.String(); !strings.Contains(out, "type: Suspended") || !strings.Contains(out, "\n  failed: 4\n") || strings.Contains(out, "active") {
			t.Errorf("status:\n%s", out)
		}
	}
	p := start(t, manifest, args...)
	p.done(exitFailed)
	if out := p.Out.String(); !strings.Contains(out, "failedIndexes: 0,1") || !strings.Contains(out, "\n  failed: 6\n") {
		t.Errorf("status:\n%s", out)
	}
}

// A run that ends before it begins leaves a torn line for the next run to pass over.
func TestRunThatNeverBeganDoesNotEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(file, []byte(`{"time":"2026-03-01T12:00:00Z","event":"began"}`+"\n"+`{"time":"2026-`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, begins := range []bool{false, true} {
		r, err := openRecorder(&jobFlags{events: file}, "-", "x", true)
		if err != nil {
			t.Fatal(err)
		}
		if begins {
			if err := r.begin(time.Now(), true); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.end(time.Now(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, events := eventLines(t, file); len(events) != 3 || events[2].Kind != timeline.Ended {
		t.Errorf("%+v", events)
	}
}

// A disk that is full does not hold up the Job, and is reported at its end. If even the
// first event cannot be written, nothing is started, and it is said once.
func TestUnwrittenEvents(t *testing.T) {
	open := func() *recorder {
		r, err := openRecorder(&jobFlags{events: filepath.Join(t.TempDir(), "events")}, "-", "x", false)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open()
	if err := r.begin(time.Now(), false); err != nil {
		t.Fatal(err)
	}
	r.file.Close()
	for range 3 {
		r.add(timeline.Event{Kind: timeline.Started})
	}
	if err := r.end(time.Now(), ""); err == nil || !strings.HasPrefix(err.Error(), "--events: ") || strings.Count(err.Error(), "\n") > 1 {
		t.Errorf("error %v", err)
	}
	r = open()
	r.file.Close()
	if err := r.begin(time.Now(), false); err == nil || !strings.HasSuffix(err.Error(), "; nothing was started") {
		t.Errorf("error %v", err)
	}
	if err := r.end(time.Now(), ""); err != nil {
		t.Errorf("said again: %v", err)
	}
}

// Without --events the events of a picture are kept, up to what a picture is made of.
func TestKeptEventsAreBounded(t *testing.T) {
	r, err := openRecorder(&jobFlags{timeline: "x.svg"}, "-", "x", false)
	if err != nil {
		t.Fatal(err)
	}
	r.kept = make([]timeline.Event, timeline.MaxEvents-2, timeline.MaxEvents)
	for i, want := range []int{timeline.MaxEvents - 1, timeline.MaxEvents, timeline.MaxEvents} {
		if r.add(timeline.Event{}); len(r.kept) != want || r.dropped != (i == 2) {
			t.Errorf("%d events, dropped %v", len(r.kept), r.dropped)
		}
	}
}

func TestBarShowsHowFarTheJobIs(t *testing.T) {
	three := int32(3)
	for _, tt := range []struct {
		width int
		want  string
	}{
		{79, "1 active, 2 succeeded, 0 failed  66% |" + strings.Repeat("█", 22) + strings.Repeat(" ", 12) + "| (2/3)"},
		{51, "1 active, 2 succeeded, 0 failed  66% |███   | (2/3)"},
		{49, "(2/3) 1 active, 2 succeeded, 0 failed"},
		{29, "(2/3) 1 active, 2 succeeded,…"},
	} {
		b := &bar{total: &three, done: 2, counts: "1 active, 2 succeeded, 0 failed"}
		if got := b.lines(tt.width); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%d columns: %q, want %q", tt.width, got, tt.want)
		}
	}
	for _, total := range []int32{-1, 0, 1, 100000} {
		for width := 1; width < 300; width++ {
			b := &bar{total: &total, done: 2, counts: "1 active, 2 succeeded, 0 failed"}
			if total < 0 {
				b.total = nil
			}
			if got := b.lines(width); len(got) != 1 || screen.Width(got[0]) > width {
				t.Fatalf("%d completions, %d columns: %q", total, width, got)
			}
		}
	}
}

func TestParseEnvFile(t *testing.T) {
	got, err := parseEnvFile("\ufeff# comment\n\nA=1\n export B = two words # and more\nC='$x \\n'\nD=\"a\\n\\\"b\\\"\"\nA=2\nE=\n")
	if diff := cmp.Diff(map[string]string{"A": "2", "B": "two words # and more", "C": `$x \n`, "D": "a\n\"b\"", "E": ""}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"A":         "line 1: must be NAME=VALUE",
		"A=1\nB C=": "line 2: must be NAME=VALUE",
		"A='x":      "line 1: the value of A must end with the ' that it begins with",
		`A="x"y"`:   `line 1: the value of A must have a \ before each " and \ in it`,
		"A=\x00":    "line 1: must not have a NUL character",
	} {
		if _, err := parseEnvFile(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
