package timeline

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/picture"
)

// at returns the instant that many milliseconds after the start.
func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

// of returns an event of a pod of an index, -1 for none.
func of(ms int, kind Kind, index, attempt int) Event {
	e := Event{Time: at(ms), Kind: kind, Job: "story", Attempt: attempt, Pod: fmt.Sprintf("story-%d", attempt)}
	if index >= 0 {
		e.Index, e.Pod = &index, fmt.Sprintf("story-%d-%d", index, attempt)
	}
	return e
}

// failed returns the failure of a pod.
func failed(ms, index, attempt int, counted bool, wait time.Duration) Event {
	e := of(ms, Failed, index, attempt)
	code, rule := int32(1), 0
	e.Container, e.ExitCode, e.Counted, e.Wait, e.Why = "main", &code, &counted, Duration(wait), "because"
	if !counted {
		e.Rule, e.Action = &rule, "Ignore"
	}
	return e
}

func indexFailed(ms, index int) Event {
	return Event{Time: at(ms), Kind: IndexFailed, Job: "story", Index: &index}
}

func condition(ms int, kind, reason string) Event {
	return Event{Time: at(ms), Kind: Condition, Job: "story", Condition: kind, Status: "True", Reason: reason, Message: "said <so>"}
}

// seen writes a row as text: from-to outcome for each bar, from~to for each wait.
func seen(r Row) string {
	var parts []string
	ms := func(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
	for _, b := range r.Bars {
		parts = append(parts, ms(b.From)+"-"+ms(b.To)+" "+b.Outcome.String())
		for _, w := range b.Restarts {
			parts = append(parts, "restart "+ms(w.From)+"~"+ms(w.To))
		}
	}
	for _, w := range r.Waits {
		parts = append(parts, ms(w.From)+"~"+ms(w.To))
	}
	return strings.Join(parts, ", ")
}

// stories are runs and the rows that they have.
var stories = []struct {
	name   string
	events []Event
	result string
	rows   []string
}{{
	name: "a failure that counts, one that does not, and an index that fails",
	events: []Event{
		{Time: start, Kind: Began, Job: "story"},
		of(0, Created, 0, 1), of(0, Created, 1, 1), of(0, Created, 2, 1),
		of(10, Started, 0, 1), of(10, Started, 1, 1), of(10, Started, 2, 1),
		of(300, Succeeded, 0, 1), failed(200, 1, 1, true, time.Second), failed(100, 2, 1, false, time.Second),
		of(1100, Created, 2, 2), of(1110, Started, 2, 2), of(1200, Created, 1, 2), of(1210, Started, 1, 2),
		of(1400, Succeeded, 2, 2), failed(1500, 1, 2, true, 0),
		indexFailed(1500, 1),
		condition(1500, "FailureTarget", "FailedIndexes"), condition(1510, "Failed", "FailedIndexes"),
		{Time: at(1600), Kind: Ended, Job: "story"},
	},
	result: "Failed (FailedIndexes)",
	rows: []string{
		"10-300 succeeded",
		"10-200 failed, 1210-1500 failed, and its index, 200~1200",
		"10-100 failed, not counted, 1110-1400 succeeded, 100~1100",
	},
}, {
	name: "pods without indexes follow each other in lanes, and a replacement takes the lane of the failed one",
	events: []Event{
		of(0, Created, -1, 1), of(0, Created, -1, 2), of(10, Started, -1, 1), of(10, Started, -1, 2),
		failed(100, -1, 1, true, time.Second), of(200, Succeeded, -1, 2), of(210, Created, -1, 3), of(1100, Created, -1, 4),
		of(1110, Started, -1, 4), of(1110, Started, -1, 3), of(1300, Succeeded, -1, 3), of(1300, Succeeded, -1, 4),
		condition(1300, "Complete", "CompletionsReached"),
	},
	result: "Complete (CompletionsReached)",
	rows: []string{
		"10-100 failed, 1110-1300 succeeded, 100~210",
		"10-200 succeeded, 1110-1300 succeeded",
	},
}, {
	name: "a container restarts in its pod",
	events: []Event{
		of(0, Created, 0, 1), of(10, Started, 0, 1),
		func() Event { e := failed(100, 0, 1, true, 200*time.Millisecond); e.Kind = Restarted; return e }(),
		func() Event { e := failed(400, 0, 1, true, 400*time.Millisecond); e.Kind = Restarted; return e }(),
		of(600, Deleted, 0, 1), of(700, Terminated, 0, 1),
	},
	result: "not finished: the run was cut off, or goes on",
	rows:   []string{"10-700 deleted, restart 100~300, restart 400~700"},
}, {
	name: "a killed run is resumed a day later: the pause is left out, and what ran runs again",
	events: []Event{
		of(0, Created, 0, 1), of(0, Created, 1, 1), of(0, Created, 2, 1), of(10, Started, 0, 1), of(10, Started, 1, 1), of(10, Started, 2, 1), of(500, Succeeded, 2, 1),
		{Time: at(86_400_500), Kind: Resumed, Job: "story"},
		of(600, Succeeded, 1, 1), // it had ended meanwhile
		of(86_400_700, Started, 0, 1), of(86_400_900, Succeeded, 0, 1), condition(86_400_900, "Complete", "CompletionsReached"),
	},
	result: "Complete (CompletionsReached)",
	rows:   []string{"10-500 not ended, 700-900 succeeded", "10-500 succeeded", "10-500 succeeded"},
}, {
	name: "a suspended pod runs again under the same name",
	events: []Event{
		of(0, Created, 0, 1), of(10, Started, 0, 1), of(100, Deleted, 0, 1), condition(100, "Suspended", "JobSuspended"), of(150, Terminated, 0, 1),
		{Time: at(160), Kind: Ended, Reason: "Interrupted"},
		{Time: at(1160), Kind: Resumed}, {Time: at(1160), Kind: Condition, Condition: "Suspended", Status: "False", Reason: "JobResumed"},
		of(1200, Started, 0, 1), of(1300, Succeeded, 0, 1), condition(1300, "Complete", "CompletionsReached"), {Time: at(1310), Kind: Ended},
	},
	result: "Complete (CompletionsReached)",
	rows:   []string{"10-150 deleted, 200-300 succeeded"},
}, {
	name: "a run that was killed wrote twice what it had not saved",
	events: []Event{
		of(0, Created, 0, 1), of(10, Started, 0, 1), failed(100, 0, 1, true, time.Second), condition(100, "Suspended", "x"),
		{Time: at(200), Kind: Resumed},
		failed(100, 0, 1, true, time.Second), condition(200, "Suspended", "x"), of(1200, Created, 0, 2), of(1200, Created, 0, 2), of(1210, Started, 0, 2), of(1300, Succeeded, 0, 2), of(1310, Succeeded, 0, 2),
	},
	result: "Suspended (x)",
	rows:   []string{"10-100 failed, 1110-1200 succeeded, 100~1100"},
}, {
	name: "a pod is decided on while it terminates, and ends later; one ends before its process started",
	events: []Event{
		of(0, Created, 0, 1), of(10, Started, 0, 1), of(100, Deleted, 0, 1), failed(110, 0, 1, true, 0), of(900, Terminated, 0, 1),
		of(0, Created, 1, 1), of(50, Deleted, 1, 1), of(60, Terminated, 1, 1),
	},
	result: "not finished: the run was cut off, or goes on",
	rows:   []string{"10-900 failed", "60-60 deleted"},
}, {
	name: "a clock that is set back",
	events: []Event{
		of(1000, Created, 0, 1), of(1010, Started, 0, 1), failed(500, 0, 1, true, time.Second), of(700, Created, 0, 2), of(710, Started, 0, 2), of(2000, Succeeded, 0, 2),
	},
	result: "not finished: the run was cut off, or goes on",
	rows:   []string{"0-1000 succeeded, 10-10 failed"},
}}

func TestStoriesAreLaidOut(t *testing.T) {
	for _, s := range stories {
		c := Layout(s.events)
		var rows []string
		for _, r := range c.Rows {
			rows = append(rows, seen(r))
		}
		if c.Result != s.result || strings.Join(rows, "\n") != strings.Join(s.rows, "\n") {
			t.Errorf("%s: %s\n%s\nwant %s\n%s", s.name, c.Result, strings.Join(rows, "\n"), s.result, strings.Join(s.rows, "\n"))
		}
		if err := check(s.events); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

// The pause between two runs is said, and where it was.
func TestPauseIsSaid(t *testing.T) {
	c := Layout(stories[3].events)
	if c.Length != 900*time.Millisecond || c.Paused != 24*time.Hour || c.Marks[0].At != 500*time.Millisecond {
		t.Errorf("%v, paused %v, %+v", c.Length, c.Paused, c.Marks)
	}
	if svg := string(c.SVG()); !strings.Contains(svg, "without 24h between runs (a killed run ends at its last event)") {
		t.Error(svg)
	}
	ended := Layout(stories[4].events)
	if svg := string(ended.SVG()); !strings.Contains(svg, "without 1s between runs</text>") {
		t.Error(svg)
	}
}

// The first story as a file.
func TestPictureIsTheGoldenOne(t *testing.T) {
	c := Layout(stories[0].events)
	golden(t, filepath.Join("testdata", "story.svg"), c.SVG())
}

// A chart up to an instant shows what had happened by then, on the same axis.
func TestChartUpToAnInstant(t *testing.T) {
	c := Layout(stories[0].events)
	p := c.Draw(Options{Until: 250 * time.Millisecond})
	whole := c.Draw(Options{})
	if p.Height != whole.Height || p.Width != whole.Width {
		t.Errorf("%v x %v, want %v x %v", p.Width, p.Height, whole.Width, whole.Height)
	}
	shown := make(map[picture.Style]int)
	for _, s := range p.Shapes {
		if s.Kind == picture.Rectangle && s.Hover != "" {
			shown[s.Style]++
		}
	}
	want := map[picture.Style]int{outcomeStyles[OutcomeUnfinished]: 1, outcomeStyles[OutcomeFailed]: 1, outcomeStyles[OutcomeIgnored]: 1}
	if fmt.Sprint(shown) != fmt.Sprint(want) {
		t.Errorf("shown %v, want %v", shown, want)
	}
}

// A page runs only its own script, with any names in it; the names
// stand in it as text.
func TestPageRunsNothingOfNames(t *testing.T) {
	const evil = `</title></script><script>alert(1)</script><img src=x onerror=alert(2)>`
	events := slices.Clone(stories[0].events)
	for i := range events {
		events[i].Job, events[i].Reason = evil, evil
		if events[i].Pod != "" {
			events[i].Pod += evil
		}
	}
	page := string(Layout(events).HTML())
	if n := strings.Count(page, "<script"); n != 1 || strings.Contains(page, "<img") || strings.Count(page, "</script") != 1 {
		t.Errorf("%d scripts", n)
	}
	if !strings.Contains(page, "alert(1)") {
		t.Error("the name is missing")
	}
	for _, outside := range []string{"http://", "https://", "url(h", "src=", "href="} {
		if rest := strings.ReplaceAll(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), "src=x", ""); strings.Contains(rest, outside) {
			t.Errorf("the page has %s", outside)
		}
	}
}

// The sheet and the script of the page are files that a person can read.
func TestPageHasItsParts(t *testing.T) {
	page := string(Layout(stories[0].events).HTML())
	for _, name := range []string{"page.css", "page.js"} {
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(page, string(text)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a picture with a file.
func golden(t *testing.T, file string, picture []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(picture, want) {
		t.Errorf("the picture differs from %s; if that is right, run with -update", file)
	}
}
