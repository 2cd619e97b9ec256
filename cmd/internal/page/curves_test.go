package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/cmd/internal/curve"
)

// The figures are those of KEP-4603's text, as far as it is right.
func TestFiguresAreThoseOfTheKEP(t *testing.T) {
	c := view[curvesAnswer](t, "/api/curve", Settings{Window: "5m"})
	want := [][]string{
		{"", "kubelet", "kubelet-reduced"},
		{"delays", "10s to 5m", "1s to 1m"},
		{"restarts of a pod in the first 1m", "2", "5"},
		{"restarts of a pod in the first 5m", "4", "9"},
		{"API requests per second for 110 such pods, in the busiest 10 s", "55", "165"},
		{"in the long run", "a restart every 5m, 1.83 requests per second", "a restart every 1m, 9.17 requests per second"},
	}
	if diff := cmp.Diff(want, c.Table); diff != "" || len(c.Charts) != 2 || len(c.Wrong) > 0 {
		t.Error(diff, c.Wrong)
	}
}

func TestNodeSettingsAreResolvedWithNotes(t *testing.T) {
	for _, tt := range []struct {
		settings Settings
		node     string
		warnings int
	}{
		{Settings{}, "10s to 5m", 0},
		{Settings{Reduce: true}, "1s to 1m", 0},
		{Settings{Max: "20s"}, "10s to 5m", 1},
		{Settings{Max: "4s", AllowMax: true}, "always 4s", 0},
		{Settings{Max: "20s", AllowMax: true, Reduce: true}, "1s to 20s", 0},
		{Settings{Max: "301s", AllowMax: true}, "", 0},
		{Settings{Max: "x"}, "", 0},
	} {
		c := view[curvesAnswer](t, "/api/curve", tt.settings)
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
	c := view[curvesAnswer](t, "/api/curve", Settings{Run: "x", Window: "1ms", Policies: []Policy{
		{Initial: "0s", Max: "1m"}, {Initial: "1s", Max: "", Reset: "-1s"}, {Initial: "2s", Max: "1s"}, {Initial: "1s", Max: "2s", Factor: 0.5, Jitter: 2},
	}})
	var got []string
	for _, w := range c.Wrong {
		got = append(got, strings.Join([]string{string(rune('0' + w.Policy + 1)), w.Field}, " "))
	}
	want := []string{"0 run", "0 window", "1 initial", "2 max", "2 reset", "3 max", "4 factor"}
	if diff := cmp.Diff(want, got); diff != "" || c.Charts != nil {
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
		c := view[curvesAnswer](t, "/api/curve", s)
		if len(s.Policies) > 0 && len(c.Charts) != 2 || c.Summary == "" {
			t.Errorf("%+v: %+v", s, c)
		}
		for _, p := range c.Charts {
			if len(p.URL) > 1<<20 || p.Text == "" {
				t.Errorf("%+v: a picture of %d bytes, %q", s, len(p.URL), p.Text)
			}
		}
	}
}

func TestJitterBoundsTheRestartsFromAbove(t *testing.T) {
	c := view[curvesAnswer](t, "/api/curve", Settings{Window: "5m", Policies: []Policy{{Initial: "10s", Max: "5m", Jitter: 0.5, Reset: "10m"}, {Initial: "10s", Max: "5m", Jitter: 1}}})
	var row []string
	for _, r := range c.Table {
		if r[0] == "at most, if jitter shortens every delay" {
			row = r
		}
	}
	if diff := cmp.Diff([]string{"at most, if jitter shortens every delay", "5", "any number"}, row); diff != "" {
		t.Error(diff)
	}
}

// A list that was emptied stays empty, and is not the list to begin with.
func TestEmptiedListsStayEmpty(t *testing.T) {
	if c := view[curvesAnswer](t, "/api/curve", Settings{Policies: []Policy{}}); len(c.Settings.Policies) != 0 || c.Summary != "No policy to draw." {
		t.Errorf("%+v", c.Settings)
	}
	if c := view[curvesAnswer](t, "/api/curve", Settings{}); len(c.Settings.Policies) != 2 {
		t.Errorf("%+v", c.Settings)
	}
	if a := view[checkAnswer](t, "/api/check", checkQuestion{Manifest: plain(""), Trials: []Trial{}}); len(a.Trials) != 0 {
		t.Errorf("%+v", a.Trials)
	}
}

func TestResetIsSaidInRoundTimesAndIsNotZero(t *testing.T) {
	all := presets()
	c := view[curvesAnswer](t, "/api/curve", Settings{Policies: []Policy{all[4], all[0]}})
	if diff := cmp.Diff([]string{"delays", "100ms to 1m, reset after 10s", "10s to 5m"}, c.Table[1]); diff != "" {
		t.Error(diff)
	}
	c = view[curvesAnswer](t, "/api/curve", Settings{Policies: []Policy{{Initial: "1s", Max: "1m", Reset: "0s"}}})
	if len(c.Wrong) != 1 || c.Wrong[0].Field != "reset" || !strings.Contains(c.Wrong[0].Text, "0s is not above 0") {
		t.Errorf("%+v", c.Wrong)
	}
}

// Every preset stays what it is when its fields are written and read again.
func TestPresetsAreReadAsTheyAreWritten(t *testing.T) {
	all := presets()
	i := 0
	for _, want := range curve.Systems() {
		if want.Refused != "" {
			continue
		}
		var a curvesAnswer
		got, ok := a.curve(0, all[i])
		name := all[i].Name
		if i++; name != want.Curve.Name || !ok {
			t.Fatalf("%s instead of %s: %+v", name, want.Curve.Name, a.Wrong)
		}
		if got.Policy.Factor == 2 {
			got.Policy.Factor = 0
		}
		if got != want.Curve {
			t.Errorf("%s: %+v, want %+v", name, got, want.Curve)
		}
	}
	if i != len(all) || i < 7 {
		t.Errorf("%d presets, of %d", i, len(all))
	}
}

// systemd gives up, and neither it nor Docker asks an API server.
func TestSystemdGivesUpAndAsksNobody(t *testing.T) {
	all := presets()
	c := view[curvesAnswer](t, "/api/curve", Settings{Policies: []Policy{all[0], all[4], all[5]}})
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
		"API requests per second for 110 such pods, in the busiest 10 s": {"55", "0", "0"},
		"in the long run": {"a restart every 5m, 1.83 requests per second", "a restart every 1m, 0 requests per second", "no restart: it has given up"},
	} {
		if diff := cmp.Diff(want, rows[name]); diff != "" {
			t.Error(name, diff)
		}
	}
	if got := rows["delays"][2]; !strings.HasSuffix(got, ", gives up after 5 starts in 10s") {
		t.Error(got)
	}
	c = view[curvesAnswer](t, "/api/curve", Settings{Policies: []Policy{{Initial: "1s", Max: "1s", Starts: 3, Within: "x"}}})
	if len(c.Wrong) != 1 || c.Wrong[0].Field != "within" {
		t.Errorf("%+v", c.Wrong)
	}
}
