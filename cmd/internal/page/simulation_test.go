package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/cmd/internal/timeline"
	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/jobpolicy/batch"
	"pgregory.net/rapid"
)

func TestMistakesOfAScriptHaveTheirLines(t *testing.T) {
	indexed := plain("  completionMode: Indexed\n  completions: 5\n  parallelism: 5\n")
	for _, tt := range []struct {
		manifest, script string
		want             []string
	}{
		{indexed, "# a comment\n3: 1,1,0 # of a line\n\n0-1, 4: main=42@5m, drain ...\n*: 0@30s\n", nil},
		{indexed, "3\n3: x\n: 1\n5: 1\n2: 256\n2: other=1\n2: 1@x\n2: 1@-3s\n2: \n", []string{
			"1: \"3\": must be INDEX: OUTCOME, OUTCOME ..., as 3: 1,1,0", `2: "x": must be an exit code in 0..255, CONTAINER=CODE or drain`,
			"3: : must be an index, indexes as 0-2,7, or *", "4: 5: the highest index of the Job is 4",
			`5: "256": must be an exit code in 0..255, CONTAINER=CODE or drain`, `6: "other=1": the Job has no container other`,
			`7: "1@x": "x" must be a duration as 30s, above 0 and at most 8760h0m0s`, `8: "1@-3s": "-3s" must be a duration as 30s, above 0 and at most 8760h0m0s`,
			`9: "": must be an exit code in 0..255, CONTAINER=CODE or drain`,
		}},
		{indexed, "3: 1\n0-3: 1\n*: 1\n*: 0\n", []string{"2: 0-3: another line has one of these indexes too", "4: more than one line begins with *"}},
		{strings.Replace(plain(""), "containers:", "initContainers: [{name: log, image: x, restartPolicy: Always}], containers:", 1), "*: log=3\n",
			[]string{`1: "log=3": log is a sidecar, which restarts and does not end its pod`}},
		{plain(""), "*: 1, 0\n3: 1\n", []string{"2: 3: the Job has no indexes; its pods take the outcomes of the line *, in their order"}},
		{indexed, "1: 1" + strings.Repeat(",1", mostOutcomes) + "\n", []string{"1: more than 1000 outcomes in a line"}},
		{indexed, strings.Repeat("#", largestScript+1), []string{"0: the script is too long: this page reads at most 65536 bytes"}},
	} {
		s := view[runAnswer](t, "/api/run", runQuestion{Manifest: tt.manifest, Script: &tt.script})
		var got []string
		for _, w := range s.Wrong {
			got = append(got, fmt.Sprintf("%d: %s", w.Line, w.Text))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || s.NoJob != "" || (s.Steps > 0) != (tt.want == nil) {
			t.Errorf("%.60s: %s %+v", tt.script, diff, s.Summary)
		}
	}
}

// Each step shows what happened by then, and only that.
func TestStepsShowWhatHappenedByThen(t *testing.T) {
	script := "*: 1, 0\n"
	var all []string
	for n := 1; ; n++ {
		s := view[runAnswer](t, "/api/run", runQuestion{Manifest: plain(""), Script: &script, Step: n})
		all = append(all, s.At+": "+strings.Join(s.Lines, "; "))
		if n == 1 && strings.Contains(s.Status, "failed: 1") || n == s.Steps && !strings.Contains(s.Status, "failed: 1") {
			t.Errorf("step %d: %s", n, s.Status)
		}
		if n == s.Steps {
			break
		}
	}
	want := []string{
		"0s: pod plain-1 is created", "1s: pod plain-1 starts",
		"11s: pod plain-1 fails: container main ends with exit code 1; the Job has no failure policy: failure 1 of the Job, limit 6, the replacement starts after 10s",
		"21s: pod plain-2 is created", "22s: pod plain-2 starts",
		"32s: pod plain-2 succeeds; the Job is SuccessCriteriaMet (CompletionsReached): Reached expected number of succeeded pods; the Job is Complete (CompletionsReached): Reached expected number of succeeded pods",
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// Jobs that never end, or are too large, are stopped.
func TestSimulationIsBounded(t *testing.T) {
	for script, job := range map[string]string{
		"*: 42 ...":           plain("  podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [42]}}]}\n"),
		"*: 42@8760h ...":     plain("  podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [42]}}]}\n"),
		"*: 0":                plain("  completions: 100000\n  parallelism: 100000\n  completionMode: Indexed\n"),
		"*: 1 ...":            plain("  completions: 100000\n  parallelism: 10\n  completionMode: Indexed\n  backoffLimitPerIndex: 1\n  maxFailedIndexes: 10000\n"),
		"*: 1@1ms ...":        strings.Replace(plain("  backoffLimit: 2147483647\n"), "Never", "OnFailure", 1),
		"*: 0 # nothing runs": plain("  suspend: true\n"),
	} {
		s := view[runAnswer](t, "/api/run", runQuestion{Manifest: job, Script: &script})
		stopped := slices.ContainsFunc(s.Notes, func(n string) bool { return strings.HasPrefix(n, "stopped") })
		if s.NoJob != "" || len(s.Wrong) > 0 || s.Steps > mostSteps+1 || stopped == strings.Contains(script, "nothing runs") || s.Picture != nil && len(s.Picture.SVG) > 5<<20 {
			t.Errorf("%s: %s, %d steps, %v", script, s.Summary, s.Steps, s.Notes)
		}
	}
}

// TestSimulatedJobsEndAsTheyMust runs random Jobs with random scripts.
func TestSimulatedJobsEndAsTheyMust(t *testing.T) {
	counted := make(map[string]int)
	wanted := []string{"Complete", "Failed", "created", "started", "restarted", "succeeded", "failed", "deleted", "terminated", "indexFailed", "condition"}
	checkCounted(t, counted, wanted, func(t *rapid.T) {
		text := anyJob().Draw(t, "job")
		if rapid.IntRange(0, 4).Draw(t, "restarts in place") == 0 && !strings.Contains(text, "podFailurePolicy") {
			text = strings.Replace(text, "Never", "OnFailure", 1)
		}
		job := jobIn(t, text)
		indexed := job.Spec.CompletionMode == batch.IndexedCompletion
		outcomes := rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "2", "3@3s", "drain", "main=2@1m"}), 1, 4)
		script := "*: " + strings.Join(outcomes.Draw(t, "rest"), ",") + "\n"
		if indexed {
			for i := range int(*job.Spec.Completions) {
				if rapid.Bool().Draw(t, "own line") {
					script += fmt.Sprintf("%d: %s\n", i, strings.Join(outcomes.Draw(t, "outcomes"), ","))
				}
			}
		}
		s := runQuestion{Manifest: text, Script: &script}
		r := newRun(context.Background(), s)
		if r.noJob != "" || len(r.wrong) > 0 || r.stopped != "" {
			t.Fatalf("%s %v %s", r.noJob, r.wrong, r.stopped)
		}
		status := r.log.steps[len(r.log.steps)-1].status
		end, finished := status.Finished()
		if !finished || status.Active != 0 || status.UncountedTerminatedPods != nil && len(status.UncountedTerminatedPods.Failed)+len(status.UncountedTerminatedPods.Succeeded) > 0 {
			t.Fatalf("the Job has not ended: %+v", status)
		}
		counted[string(end.Type)]++
		kinds := make(map[timeline.Kind]int)
		var last time.Time
		for _, e := range r.log.events {
			kinds[e.Kind]++
			if e.Time.Before(last) {
				t.Fatalf("%v is before the event before it", e)
			}
			last = e.Time
		}
		for kind, n := range kinds {
			counted[string(kind)] += n
		}
		if created, ended := kinds[timeline.Created], kinds[timeline.Succeeded]+kinds[timeline.Failed]+kinds[timeline.Terminated]; created != ended {
			t.Fatalf("%d pods were created, %d have ended: %+v", created, ended, kinds)
		}
		if int(status.Succeeded) != kinds[timeline.Succeeded] && end.Type == batch.JobComplete {
			t.Fatalf("%d succeeded, of which the status counts %d", kinds[timeline.Succeeded], status.Succeeded)
		}
		if indexed && end.Type == batch.JobComplete {
			done := indexset.MustParse(status.CompletedIndexes)
			if done.Len() != int(*job.Spec.Completions) {
				t.Fatalf("complete with %v of %d", done, *job.Spec.Completions)
			}
		}
		if status.FailedIndexes != nil && indexset.MustParse(*status.FailedIndexes).Overlaps(indexset.MustParse(status.CompletedIndexes)) {
			t.Fatalf("an index has failed and succeeded: %+v", status)
		}
		if again := newRun(context.Background(), s); !slices.EqualFunc(again.log.events, r.log.events, func(a, b timeline.Event) bool { return a.Pod == b.Pod && a.Kind == b.Kind && a.Time.Equal(b.Time) }) {
			t.Fatal("another run differs")
		}
	})
}

// checkCounted checks a property, and with fixed seeds also that it has counted all that
// is wanted.
func checkCounted(t *testing.T, counted map[string]int, wanted []string, property func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, property)
	t.Log(counted)
	for _, w := range wanted {
		if rapidseed.Fixed() && counted[w] == 0 {
			t.Errorf("never: %s", w)
		}
	}
}

// What a container says of its own exits comes before the pod's restart policy.
func TestContainersRestartByTheirOwnRules(t *testing.T) {
	const own = "restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}, {action: RestartAllContainers, exitCodes: {operator: In, values: [43]}}]"
	manifest := strings.Replace(plain(""), "image: x", "image: x, restartPolicy: Never, "+own, 1)
	onFailure := strings.Replace(strings.Replace(plain(""), "Never", "OnFailure", 1), "image: x", "image: x, restartPolicy: Never", 1)
	for _, tt := range []struct {
		manifest, script string
		want             []string
	}{
		{manifest, "*: 42, 43, 42, 0\n", []string{
			"pod plain-1: container main ends with exit code 42, and restarts in 10s",
			"pod plain-1: container main ends with exit code 43, and all containers restart in 0s",
			"pod plain-1: container main ends with exit code 42, and restarts in 10s",
		}},
		{strings.Replace(manifest, "containers: [", "containers: [{name: other, image: x}, ", 1), "*: main=43, 0\n", []string{
			"pod plain-1: container main ends with exit code 43, and all containers restart in 2s",
		}},
		{manifest, "*: 1, 0\n", []string{"pod plain-1 fails: container main ends with exit code 1; the Job has no failure policy: failure 1 of the Job, limit 6, the replacement starts after 10s"}},
		{onFailure, "*: 1, 0\n", []string{"pod plain-1 fails: container main ends with exit code 1; the Job has no failure policy: failure 1 of the Job, limit 6, the replacement starts after 10s"}},
	} {
		r := newRun(t.Context(), runQuestion{Manifest: tt.manifest, Script: &tt.script})
		var got []string
		for _, step := range r.log.steps {
			for _, line := range step.lines {
				if strings.Contains(line, "ends with") {
					got = append(got, line)
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || r.noJob != "" {
			t.Errorf("%s: %s %s", tt.script, diff, r.noJob)
		}
	}
}

// As with a kubelet, a run of more than ten minutes ends the row of failures, and a
// shorter one does not.
func TestLongRunStartsTheRestartDelaysOver(t *testing.T) {
	script := "*: 1, 1, 1@10m, 1@11m, 1, 0\n"
	r := newRun(t.Context(), runQuestion{Manifest: strings.Replace(plain(""), "Never", "OnFailure", 1), Script: &script})
	var got []time.Duration
	for _, e := range r.log.events {
		if e.Kind == timeline.Restarted {
			got = append(got, time.Duration(e.Wait))
		}
	}
	if diff := cmp.Diff([]time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 10 * time.Second, 20 * time.Second}, got); diff != "" {
		t.Error(diff)
	}
}
