package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/cmd/internal/preset"
)

// The figures are those of KEP-4603's text, as far as it is right.
func TestFiguresAreThoseOfTheKEP(t *testing.T) {
	c := view(t, State{Tab: TabCurves, Curves: Settings{Window: "5m"}}).Curves
	want := [][]string{
		{"", "kubelet", "kubelet-reduced"},
		{"delays", "10s to 5m, starts over after a run of more than 10m", "1s to 1m, starts over after a run of more than 10m"},
		{"restarts of a pod in the first 1m", "2", "5"},
		{"restarts of a pod in the first 5m", "4", "9"},
		{"requests per second of the node, busiest 10 s", "55", "165"},
		{"in the long run", "a restart every 5m, 1.83 requests per second", "a restart every 1m, 9.17 requests per second"},
	}
	if diff := cmp.Diff(want, c.Table); diff != "" || len(c.Pictures) != 2 || len(c.Wrong) > 0 {
		t.Error(diff, c.Wrong)
	}
}

func TestNodeSettingsAreResolvedWithNotes(t *testing.T) {
	for _, tt := range []struct {
		settings Settings
		node     string
		warnings int
	}{
		{Settings{}, "10s to 5m, starts over after a run of more than 10m", 0},
		{Settings{Reduce: true}, "1s to 1m, starts over after a run of more than 10m", 0},
		{Settings{Max: "20s"}, "10s to 5m, starts over after a run of more than 10m", 1},
		{Settings{Max: "4s", AllowMax: true}, "always 4s, starts over after a run of more than 10m", 0},
		{Settings{Max: "20s", AllowMax: true, Reduce: true}, "1s to 20s, starts over after a run of more than 10m", 0},
		{Settings{Max: "301s", AllowMax: true}, "", 0},
		{Settings{Max: "x"}, "", 0},
	} {
		c := view(t, State{Tab: TabCurves, Curves: tt.settings}).Curves
		warnings := 0
		for _, n := range c.Notes {
			if n.Warning {
				warnings++
			}
		}
		if c.NodeText != tt.node || warnings != tt.warnings || (len(c.Wrong) == 0) != (tt.node != "") {
			t.Errorf("%+v: %q %+v %+v", tt.settings, c.NodeText, c.Notes, c.Wrong)
		}
	}
}

func TestMistakesInSettingsNameTheirField(t *testing.T) {
	c := view(t, State{Tab: TabCurves, Curves: Settings{Run: "x", Window: "1ms", Policies: []Policy{
		{Initial: "0s", Max: "1m"}, {Initial: "1s", Max: "", Reset: "-1s"}, {Initial: "2s", Max: "1s"}, {Initial: "1s", Max: "2s", Factor: 0.5, Jitter: 2},
	}}}).Curves
	var got []string
	for _, w := range c.Wrong {
		got = append(got, strings.Join([]string{string(rune('0' + w.Policy + 1)), w.Field}, " "))
	}
	want := []string{"0 run", "0 window", "1 initial", "2 max", "2 reset", "3 max", "4 factor"}
	if diff := cmp.Diff(want, got); diff != "" || c.Pictures != nil {
		t.Error(diff, c.Wrong)
	}
}

// Any settings yield pictures or mistakes, and all numbers are finite.
func TestExtremeSettingsAreDrawn(t *testing.T) {
	for _, s := range []Settings{
		{Run: "0s", Window: "87600h", Policies: []Policy{{Initial: "1ms", Max: "1ms", Factor: 1}, {Initial: "87600h", Max: "87600h"}}},
		{Run: "87600h", Window: "1s", Pods: 1 << 30, Requests: 1 << 30, Policies: []Policy{{Initial: "1ms", Max: "87600h", Factor: 1.01, Jitter: 1}}},
		{Window: "1h", Policies: []Policy{{Initial: "1s", Max: "1m", Jitter: 0.5}, {Initial: "1s", Max: "1m", Factor: 1e308}}},
		{Policies: []Policy{}},
	} {
		c := view(t, State{Tab: TabCurves, Curves: s}).Curves
		if len(s.Policies) > 0 && len(c.Pictures) != 2 || c.Summary == "" {
			t.Errorf("%+v: %+v", s, c)
		}
		for _, p := range c.Pictures {
			if strings.Contains(p.SVG, "NaN") || strings.Contains(p.SVG, "Inf") || len(p.SVG) > 1<<20 {
				t.Errorf("%+v: a picture of %d bytes", s, len(p.SVG))
			}
		}
	}
}

func TestJitterBoundsTheRestartsFromAbove(t *testing.T) {
	c := view(t, State{Tab: TabCurves, Curves: Settings{Window: "5m", Policies: []Policy{{Initial: "10s", Max: "5m", Jitter: 0.5, Reset: "10m"}, {Initial: "10s", Max: "5m", Jitter: 1}}}}).Curves
	var row []string
	for _, r := range c.Table {
		if r[0] == "with jitter, at most" {
			row = r
		}
	}
	if diff := cmp.Diff([]string{"with jitter, at most", "5", "any number"}, row); diff != "" {
		t.Error(diff)
	}
}

// A list that was emptied stays empty, and is not the list to begin with.
func TestEmptiedListsStayEmpty(t *testing.T) {
	request := `{"state":{"tab":"curves","trials":[],"curves":{"policies":[]}},"width":800}`
	if answer := string(new(Page).Answer([]byte(request))); !strings.Contains(answer, `"policies":[]`) || !strings.Contains(answer, `"trials":[]`) {
		t.Error(answer)
	}
	request = `{"state":{"tab":"curves","trials":null,"curves":{"policies":null}},"width":800}`
	if answer := string(new(Page).Answer([]byte(request))); strings.Contains(answer, `"policies":[]`) || !strings.Contains(answer, `"trials":null`) {
		t.Error(answer)
	}
}

func TestResetIsSaidInRoundTimesAndIsNotZero(t *testing.T) {
	all := presets()
	c := view(t, State{Tab: TabCurves, Curves: Settings{Policies: []Policy{all[4], all[0]}}}).Curves
	if diff := cmp.Diff([]string{"delays", "100ms to 1m, starts over after a run of 10s or more", "10s to 5m, starts over after a run of more than 10m"}, c.Table[1]); diff != "" {
		t.Error(diff)
	}
	c = view(t, State{Tab: TabCurves, Curves: Settings{Policies: []Policy{{Initial: "1s", Max: "1m", Reset: "0s"}}}}).Curves
	if len(c.Wrong) != 1 || c.Wrong[0].Field != "reset" || !strings.Contains(c.Wrong[0].Text, "0s is not above 0") {
		t.Errorf("%+v", c.Wrong)
	}
}

// Every preset stays what it is when its fields are written and read again, but for a
// reset threshold that no run reaches.
func TestPresetsAreReadAsTheyAreWritten(t *testing.T) {
	all := presets()
	i := 0
	for _, want := range preset.All() {
		if want.Refused != "" {
			continue
		}
		var v Curves
		got, ok := v.policy(0, all[i])
		name := all[i].Name
		if i++; name != want.Name || !ok {
			t.Fatalf("%s instead of %s: %+v", name, want.Name, v.Wrong)
		}
		if got.Factor == 2 {
			got.Factor = 0
		}
		want.Policy.ResetAfter = min(want.Policy.ResetAfter, preset.Longest)
		if got != want.Policy {
			t.Errorf("%s: %+v, want %+v", name, got, want.Policy)
		}
	}
	if i != len(all) || i < 7 {
		t.Errorf("%d presets, of %d", i, len(all))
	}
}

// systemd gives up, and neither it nor Docker asks an API server.
func TestSystemdGivesUpAndAsksNobody(t *testing.T) {
	all := presets()
	c := view(t, State{Tab: TabCurves, Curves: Settings{Policies: []Policy{all[0], all[4], all[5]}}}).Curves
	rows := make(map[string][]string)
	for _, r := range c.Table {
		if rows[r[0]] != nil {
			t.Errorf("two rows are called %q", r[0])
		}
		rows[r[0]] = r[1:]
	}
	for name, want := range map[string][]string{
		"":                                   {"kubelet", "docker", "systemd"},
		"restarts of a pod in the first 30m": {"9", "38", "4"},
		"requests per second of the node, busiest 10 s": {"55", "0", "0"},
		"in the long run": {"a restart every 5m, 1.83 requests per second", "a restart every 1m, 0 requests per second", "none: it has given up"},
	} {
		if diff := cmp.Diff(want, rows[name]); diff != "" {
			t.Error(name, diff)
		}
	}
	if got := rows["delays"][2]; !strings.HasSuffix(got, ", gives up after 5 starts in 10s") {
		t.Error(got)
	}
	c = view(t, State{Tab: TabCurves, Curves: Settings{Policies: []Policy{{Initial: "1s", Max: "1s", Starts: 3, Within: "x"}}}}).Curves
	if len(c.Wrong) != 1 || c.Wrong[0].Field != "within" {
		t.Errorf("%+v", c.Wrong)
	}
}
