package jobworld

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each story replays without breaking an invariant, and its Job then ends.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.story")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		story, err := ParseStory(string(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		taken, broken, err := newWorld(t, story.Job.String(), nil).Replay(story)
		if err != nil || broken != nil || taken != len(story.Steps) {
			t.Errorf("%s: after %d of %d steps: %v, %v", file, taken, len(story.Steps), broken, err)
		}
	}
}

func TestStoryErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "no job",
		"# nothing":                          "no job",
		"pod 1 fails":                        `not with "pod 1 fails" (line 1)`,
		"\njob indexed=1":                    "indexed=1: unknown (line 2)",
		"job fail=16":                        "fail=16",
		"job completions=4":                  "from 1 to 3 (line 1)",
		"job perIndex=1":                     "needs completionMode Indexed",
		"job rule=Ignore:rain":               "the rule must match",
		"job rule=:code":                     "the rule has no action",
		"job completions=3 delete=9 total=9": "it may have 12 pods at a time; at most 8",
	} {
		if _, err := ParseStory(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	story, err := ParseStory("job\nthe controller creates a pod\npod 7 fails with 1\n")
	if err != nil {
		t.Fatal(err)
	}
	want := `step 2, "pod 7 fails with 1", is not possible; possible are:` + "\n\tthe controller writes active 1\n\tpod 1 succeeds"
	if taken, _, err := newWorld(t, "", nil).Replay(story); taken != 1 || err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("after %d steps: %v", taken, err)
	}
}

// A story that parses prints the same story, and Replay takes any.
func FuzzStory(f *testing.F) {
	f.Add("# text\njob backoffLimit=1 fail=1 total=1\nthe controller creates a pod\npod 1 fails with 1\n")
	f.Add("job indexed perIndex=0 rule=FailIndex:code fail9=1 total=1")
	f.Add("job watchOnly starts replaceEnded success=1 indexed suspend=1 total=2\nthe Job is suspended")
	f.Fuzz(func(t *testing.T, text string) {
		story, err := ParseStory(text)
		if err != nil {
			return
		}
		again, err := ParseStory(story.String())
		if d := cmp.Diff(story, again); err != nil || d != "" {
			t.Fatalf("%v\n%s", err, d)
		}
		if len(story.Steps) < 100 {
			_, _, _ = newWorld(t, story.Job.String(), nil).Replay(story)
		}
	})
}
