package vectors

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// readRun reads a whole Job, which a file of runs holds in place of a case. The run's
// scenario is the input. kind is "run", or "timing" for runs with delays.
func readRun(file, kind string, raw json.RawMessage) (*Case, error) {
	var run struct {
		Scenario struct {
			Name string `json:"name"`
		} `json:"scenario"`
		Outcome     json.RawMessage   `json:"outcome"`
		FinalStatus json.RawMessage   `json:"finalStatus"`
		PodsCreated json.RawMessage   `json:"podsCreated"`
		Steps       []json.RawMessage `json:"steps"`
		Delays      []string          `json:"recreationDelays"`
	}
	if err := json.Unmarshal(raw, &run); err != nil {
		return nil, err
	}
	if run.Scenario.Name == "" {
		return nil, fmt.Errorf("a run without a name: %s", raw)
	}
	c := &Case{File: file, ID: run.Scenario.Name, Kind: kind, raw: raw}
	want := map[string]any{}
	for name, value := range map[string]json.RawMessage{
		"outcome": run.Outcome, "finalStatus": run.FinalStatus, "podsCreated": run.PodsCreated,
	} {
		if value != nil {
			want[name] = value
		}
	}
	if run.Steps != nil {
		steps := []any{}
		for _, text := range run.Steps {
			var step struct {
				Created []string        `json:"podsCreatedAfter"`
				Status  json.RawMessage `json:"status"`
			}
			if err := json.Unmarshal(text, &step); err != nil {
				return nil, fmt.Errorf("%s: %w", c.ID, err)
			}
			steps = append(steps, map[string]any{"podsCreatedAfter": append([]string{}, step.Created...), "status": step.Status})
		}
		want["steps"] = steps
	}
	if run.Delays != nil {
		delays := []json.RawMessage{}
		for _, text := range run.Delays {
			m := delayText.FindStringSubmatch(text)
			if m == nil {
				return nil, fmt.Errorf("%s: unreadable delay %q", c.ID, text)
			}
			delays = append(delays, json.RawMessage(m[1]))
		}
		want["recreation_delays_ms"] = delays
	}
	if len(want) == 0 {
		return nil, fmt.Errorf("%s: nothing wanted", c.ID)
	}
	var err error
	c.Want, err = Value(want)
	return c, err
}

var delayText = regexp.MustCompile(`^index -?\d+ attempt \d+ created (\d+) ms after`)
