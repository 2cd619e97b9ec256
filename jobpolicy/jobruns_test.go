package jobpolicy_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/internal/jobruns"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/jobpolicy"
)

// The recorded runs are whole Jobs under the real controller, with a scripted kubelet.
// Package jobruns replays a scenario, and the tests compare the results with the record.

type recordedRun struct {
	Scenario         jobruns.Scenario `json:"scenario"`
	Outcome          string           `json:"outcome"`
	FinalStatus      json.RawMessage  `json:"finalStatus"`
	PodsCreated      *int             `json:"podsCreated"`
	Steps            []jobruns.Step   `json:"steps"`
	RecreationDelays []string         `json:"recreationDelays"`
}

func TestJobRuns(t *testing.T) {
	runs, timing, err := readRuns(vectors.Files())
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, r := range append(runs, timing...) {
		t.Run(r.Scenario.Name, func(t *testing.T) {
			differences, n := replay(r)
			compared += n
			for _, d := range differences {
				t.Error(d)
			}
		})
	}
	t.Logf("%d runs, %d with delays, %d fields compared, none left out", len(runs), len(timing), compared)
}

func readRuns(files fs.FS) (runs, timing []*recordedRun, err error) {
	const path = "jobcontroller_runs.json"
	data, err := fs.ReadFile(files, path)
	if err != nil {
		return nil, nil, err
	}
	var doc struct {
		Runs          []*recordedRun `json:"runs"`
		BackoffTiming []*recordedRun `json:"backoffTiming"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Runs) == 0 {
		return nil, nil, fmt.Errorf("%s: no runs", path)
	}
	return doc.Runs, doc.BackoffTiming, nil
}

// replay drives the scenario and returns the differences from the record and the number
// of fields compared.
func replay(r *recordedRun) (all []string, compared int) {
	d := jobruns.New(r.Scenario)
	var failJob []string // messages for pods that matched FailJob, the first pass's first
	d.BeforePlan = func() {
		if failJob == nil {
			for _, text := range jobpolicy.FailJobMessages(&d.Job.Spec, d.Pods) {
				failJob = append(failJob, jobruns.PodSuffix.ReplaceAllString(text, "-XXXXX "))
			}
		}
	}
	differ := func(path string, want, got any) {
		w, _ := vectors.Value(want)
		g, _ := vectors.Value(got)
		for _, text := range vectors.Differences(w, g, &compared) {
			all = append(all, path+": "+strings.TrimPrefix(text, "want"))
		}
	}
	for d.Step() {
	}
	if r.Steps != nil {
		differ("steps", len(r.Steps), len(d.Steps))
		for i, s := range r.Steps[:min(len(r.Steps), len(d.Steps))] {
			path := fmt.Sprintf("step %d (%s)", i, strings.Join(s.Event, "; "))
			slices.Sort(s.PodsCreatedAfter)
			slices.Sort(d.Steps[i].PodsCreatedAfter)
			differ(path+" podsCreatedAfter", s.PodsCreatedAfter, d.Steps[i].PodsCreatedAfter)
			if s.Status != nil {
				differ(path+" status", named(s.Status, failJob), d.Steps[i].Status)
			}
		}
	}
	if r.PodsCreated != nil {
		differ("podsCreated", *r.PodsCreated, len(d.Created))
	}
	if r.Outcome != "" {
		differ("outcome", r.Outcome, d.Outcome())
	}
	if r.FinalStatus != nil {
		differ("finalStatus", named(r.FinalStatus, failJob), d.Status())
	}
	if r.RecreationDelays != nil {
		differ("recreationDelays", len(r.RecreationDelays), len(d.Delays))
		for i, text := range r.RecreationDelays[:min(len(r.RecreationDelays), len(d.Delays))] {
			compared++
			if err := compareDelay(text, d.Delays[i]); err != nil {
				all = append(all, err.Error())
			}
		}
	}
	return all, compared
}

var delayText = regexp.MustCompile(`^(index -?\d+ attempt \d+) created (\d+) ms after`)

// compareDelay compares a recorded delay, which contains the recorder's own
// slowness, with ours, which is exact: the recorded one is at least ours and at
// most a tenth more.
func compareDelay(recorded string, ours jobruns.Delay) error {
	m := delayText.FindStringSubmatch(recorded)
	if m == nil || m[1] != fmt.Sprintf("index %d attempt %d", ours.Index, ours.Attempt) {
		return fmt.Errorf("recreation %q, ours %+v", recorded, ours)
	}
	var was int
	fmt.Sscan(m[2], &was)
	if is := int(ours.After.Milliseconds()); is < was*10/11-1 || is > was {
		return fmt.Errorf("recreation %q, ours %+v: off by more than a tenth", recorded, ours)
	}
	return nil
}

// named returns the recorded status with the pod named in ours, if several match
// FailJob.
func named(status json.RawMessage, failJob []string) any {
	tree, err := vectors.Tree(status)
	if err != nil {
		return err.Error()
	}
	jobpolicy.NameFirst(tree, failJob)
	return tree
}

// TestJobRunsSelfTest corrupts each kind of recorded field once. The comparison must
// fail each time.
func TestJobRunsSelfTest(t *testing.T) {
	runs, timing, err := readRuns(vectors.Files())
	if err != nil {
		t.Fatal(err)
	}
	corruptText := func(status json.RawMessage, field string) (json.RawMessage, bool) {
		if status == nil {
			return nil, false
		}
		var tree map[string]any
		if err := json.Unmarshal(status, &tree); err != nil {
			t.Fatal(err)
		}
		switch v := tree[field].(type) {
		case float64:
			tree[field] = v + 1
		case string:
			tree[field] = v + "9"
		case []any:
			if len(v) == 0 {
				return nil, false
			}
			v[0].(map[string]any)["reason"] = "Another"
		default:
			return nil, false
		}
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		return text, true
	}
	corruptions := map[string]func(r *recordedRun) bool{
		"outcome": func(r *recordedRun) bool { r.Outcome += "!"; return true },
		"podsCreated": func(r *recordedRun) bool {
			if r.PodsCreated == nil {
				return false
			}
			*r.PodsCreated++
			return true
		},
		"step missing": func(r *recordedRun) bool {
			if len(r.Steps) == 0 {
				return false
			}
			r.Steps = r.Steps[: len(r.Steps)-1 : len(r.Steps)]
			return len(r.Steps) > 0
		},
		"podsCreatedAfter": func(r *recordedRun) bool {
			if len(r.Steps) == 0 {
				return false
			}
			r.Steps[0].PodsCreatedAfter = append(r.Steps[0].PodsCreatedAfter, "index 77 attempt 0")
			return true
		},
	}
	for _, field := range []string{"active", "ready", "terminating", "succeeded", "failed", "completedIndexes", "failedIndexes", "conditions"} {
		corruptions["finalStatus."+field] = func(r *recordedRun) (ok bool) {
			r.FinalStatus, ok = corruptText(r.FinalStatus, field)
			return ok
		}
		corruptions["steps.status."+field] = func(r *recordedRun) (ok bool) {
			for i := range r.Steps {
				if text, yes := corruptText(r.Steps[i].Status, field); yes {
					r.Steps[i].Status = text
					return true
				}
			}
			return false
		}
	}
	noticed := 0
	for name, corrupt := range corruptions {
		tried := false
		for i := range runs {
			fresh, _, err := readRuns(vectors.Files())
			if err != nil {
				t.Fatal(err)
			}
			if r := fresh[i]; corrupt(r) {
				tried = true
				if all, _ := replay(r); len(all) == 0 {
					t.Errorf("%s: a corrupted %s goes unnoticed", r.Scenario.Name, name)
				}
				noticed++
				break
			}
		}
		if !tried {
			t.Errorf("no run has a %s to corrupt", name)
		}
	}
	for _, r := range timing {
		if len(r.RecreationDelays) == 0 {
			continue
		}
		r.RecreationDelays[0] = "index 0 attempt 1 created 1 ms after the failure was reported"
		if all, _ := replay(r); len(all) == 0 {
			t.Errorf("%s: a corrupted delay goes unnoticed", r.Scenario.Name)
		}
		noticed++
	}
	t.Logf("%d corruptions noticed", noticed)
}
