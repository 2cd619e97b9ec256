package jobcontroller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/jobpolicy"
)

func allHeld(string) bool { return true }

// drawMemory returns a random memory with up to most pods in each list.
func drawMemory(t *rapid.T, most int) jobpolicy.State {
	uids := func(label string) []string {
		n := rapid.IntRange(0, most).Draw(t, label)
		var uids []string
		for i := range n {
			uids = append(uids, fmt.Sprintf("%s-8e9a1c4e-6d7b-4c1e-9c5b-%010d", label, i))
		}
		return uids
	}
	at := func(label string) time.Time {
		return t0.Add(time.Duration(rapid.IntRange(0, 1e6).Draw(t, label)) * time.Millisecond)
	}
	m := jobpolicy.State{
		Job: "job", Failures: rapid.IntRange(0, 1e6).Draw(t, "failures"), LastFailure: at("last"),
		Ignored: rapid.IntRange(0, 9).Draw(t, "ignored"), LastIgnored: at("last ignored"), Behind: at("behind"),
		Handled: uids("handled"), Released: uids("released"),
	}
	m.Written.Succeeded, m.Written.Failed = rapid.IntRange(0, 9).Draw(t, "succeeded"), rapid.IntRange(0, 9).Draw(t, "failed")
	for _, uid := range uids("ahead") {
		if m.Ahead == nil {
			m.Ahead = map[string]time.Time{}
		}
		m.Ahead[uid] = at("ahead")
	}
	return m
}

// A memory survives its annotation unchanged, except for pods if it was too long.
func TestMemoryComesBackFromItsAnnotation(t *testing.T) {
	whole, cut := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawMemory(t, rapid.SampledFrom([]int{3, 2000}).Draw(t, "most"))
		text, err := encodeState(m, maxState, allHeld)
		if err != nil || len(text) > maxState {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		got, _, err := decodeState(text, "job")
		if err != nil {
			t.Fatal(err)
		}
		m.Behind = time.Time{}
		if len(got.Released) == len(m.Released) && len(got.Handled) == len(m.Handled) && len(got.Ahead) == len(m.Ahead) {
			whole++
		} else {
			cut++
			if got.Ahead == nil {
				m.Ahead = nil
			}
			if got.Handled == nil {
				m.Handled = nil
			}
			m.Released = nil
		}
		if got.Failures != m.Failures || !got.LastFailure.Equal(m.LastFailure) || got.Written != m.Written || !slices.Equal(got.Handled, m.Handled) || !maps.EqualFunc(got.Ahead, m.Ahead, time.Time.Equal) {
			t.Fatalf("%+v came back as %+v", m, got)
		}
		if again, _ := encodeState(got, maxState, allHeld); again != text {
			t.Fatalf("%s was read and written as %s", text, again)
		}
	})
	if whole == 0 || cut == 0 {
		t.Errorf("%d memories came back whole, %d shortened", whole, cut)
	}
}

func TestMemoryOfAnotherJobIsNotRead(t *testing.T) {
	text, err := encodeState(jobpolicy.State{Job: "job", Failures: 3}, maxState, allHeld)
	if err != nil {
		t.Fatal(err)
	}
	if m, there, err := decodeState(text, "job"); err != nil || !there || m.Failures != 3 {
		t.Errorf("%+v, %v", m, err)
	}
	for _, other := range []string{text, "", `{"failures":3}`} {
		if m, there, err := decodeState(other, "other"); err != nil || there || m.Failures != 0 || m.Job != "other" {
			t.Errorf("%q: %+v, %v", other, m, err)
		}
	}
}

func TestMemoryKeepsReleasedPodsWhileTheyAreShownWithTheirFinalizer(t *testing.T) {
	text, err := encodeState(jobpolicy.State{Job: "job", Released: []string{"a", "b"}}, maxState, func(uid string) bool { return uid == "b" })
	if m, _, readErr := decodeState(text, "job"); err != nil || readErr != nil || !slices.Equal(m.Released, []string{"b"}) {
		t.Errorf("%s: %v, %v", text, err, readErr)
	}
}

func FuzzDecodeMemory(f *testing.F) {
	f.Add(`{"job":"job","written":{"succeeded":1},"ahead":{"a":"2030-01-01T00:00:00Z"},"handled":["a"]}`)
	f.Add(`{"job":"job","failures":-1}`)
	f.Add(`[`)
	f.Add(strings.Repeat("x", maxState+1))
	f.Fuzz(func(t *testing.T, text string) {
		m, there, err := decodeState(text, "job")
		if err != nil && (there || m.Failures != 0 || m.Handled != nil) {
			t.Errorf("an error and a memory: %+v, %v", m, err)
		}
		if m.Job != "job" {
			t.Errorf("the state of %q", m.Job)
		}
	})
}

// The room for the memory is what others leave of 256 KiB, at most 32 KiB.
func TestRoomForMemory(t *testing.T) {
	const total = 256 << 10
	for _, test := range []struct {
		annotations map[string]string
		want        int
	}{
		{nil, maxState},
		{map[string]string{AnnotationMemory: strings.Repeat("x", total)}, maxState},
		{map[string]string{"name": strings.Repeat("x", total-len(AnnotationMemory)-4-100)}, 100},
		{map[string]string{"name": strings.Repeat("x", total)}, -4 - len(AnnotationMemory)},
	} {
		if got := roomForState(test.annotations); got != test.want {
			t.Errorf("%v: %d, want %d", slices.Collect(maps.Keys(test.annotations)), got, test.want)
		}
	}
}
