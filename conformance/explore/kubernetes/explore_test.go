package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/restartkit/restart/conformance/explore/jobworld"
)

// explored runs the command and returns its exit code and output.
func explored(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var o, p bytes.Buffer
	code = command.Run(t.Context(), args, &o, &p)
	if code == 2 {
		t.Fatal(p.String())
	}
	return code, o.String()
}

func TestNoFaultsBreakNothing(t *testing.T) {
	if code, out := explored(t, "-faults", "0"); code != 0 {
		t.Error(out)
	}
}

// Beyond the faults below, one fault breaks nothing.
func TestOneFaultBreaksNothingElse(t *testing.T) { oneFault(t, "1") }

// oneFault explores the Jobs of at most so many completions with one fault.
func oneFault(t *testing.T, completions string) {
	t.Helper()
	args := []string{"-faults", "1", "-completions", completions, "-without", "takeover", "-ignore", "a pod is created", "-ignore", "the Job ends while"}
	for _, text := range []string{"startTime", "completedIndexes too", "without its completions", "recorded twice", "status.ready"} {
		args = append(args, "-stop", text)
	}
	if code, out := explored(t, args...); code != 0 {
		t.Error(out)
	}
}

// Passes are functions of their arguments, whatever their goroutines do.
func TestExplorationsAreEqual(t *testing.T) {
	var want string
	for _, workers := range []string{"1", "2", "4"} {
		_, out := explored(t, "-workers", workers, "-job", "indexed watchOnly parallelism=2 completions=2 perIndex=1 delete=1 refuse=1 total=1")
		row := regexp.MustCompile(`\| \d+ \| \d+ \| \d+ \| \d+ \|`).FindString(out)
		if want == "" {
			want = row
		}
		if row == "" || row != want {
			t.Errorf("%s workers: %s, want %s", workers, row, want)
		}
	}
}

// replay replays the story of a fault, whose first line says what it breaks.
func replay(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".story"))
	if err != nil {
		t.Fatal(err)
	}
	story, err := jobworld.ParseStory(string(text))
	if err != nil {
		t.Fatal(err)
	}
	w, err := world(story.Job)
	if err != nil {
		t.Fatal(err)
	}
	taken, broken, err := w.Replay(story)
	if err != nil || broken == nil || broken.Error() != story.Comment[0] || taken != len(story.Steps) {
		t.Errorf("after %d of %d steps: %v, %v; want %s", taken, len(story.Steps), broken, err, story.Comment[0])
	}
}

func TestFaultCreationWithoutAnswerIsRepeated(t *testing.T) { replay(t, "created-twice") }
func TestFaultSuspendedJobNeverCompletes(t *testing.T)      { replay(t, "suspended") }
func TestFaultTakeoverCountsAnEndTwice(t *testing.T)        { replay(t, "counted-twice") }
func TestFaultIndexFailsAndCompletes(t *testing.T)          { replay(t, "failed-and-completed") }
func TestFaultJobCompletesWithoutSuccess(t *testing.T)      { replay(t, "complete-without-success") }
func TestFaultJobEndsBesideAPodWithoutAnswer(t *testing.T)  { replay(t, "ended-beside-a-pod") }
func TestFaultMissingPodIsCountedAgain(t *testing.T)        { replay(t, "counted-again") }
func TestFaultMissingPodStaysReady(t *testing.T)            { replay(t, "ready-above-active") }
func TestFaultCompletedIndexRunsAgain(t *testing.T)         { replay(t, "ended-index-again") }
