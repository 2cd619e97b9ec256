package jobworld

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/restartkit/restart/conformance/explore/search"
	"github.com/restartkit/restart/jobpolicy"
)

func TestTry(t *testing.T) {
	text := os.Getenv("JOB")
	if text == "" {
		t.Skip()
	}
	j := MustParseJob(text)
	w, err := New(j, func() Controller { return &Planner{Engine: jobpolicy.Engine{MaxDelay: 20 * time.Second}} }, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	r := search.Run(ctx, w, search.Options{Workers: 2})
	if r.Broken != nil {
		story := w.Tell(r)
		t.Logf("\n%s", story)
		parsed, err := ParseStory(story.String())
		if err != nil {
			t.Error(err)
		}
		n, broken, err := w.Replay(parsed)
		t.Log("REPLAY", n, broken, err)
	}
	t.Logf("%+v; %.0f/s", r, float64(r.States)/r.Time.Seconds())
}
