package jobcontroller

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/jobpolicy"
)

func TestAnnotationsSetTheEngine(t *testing.T) {
	base := jobpolicy.Engine{BaseDelay: 5 * time.Second, MaxDelay: time.Minute, ManagedBy: "x/y"}
	for _, test := range []struct {
		name        string
		annotations map[string]string
		want        func(*jobpolicy.Engine)
		mistakes    int
	}{
		{"none", nil, func(*jobpolicy.Engine) {}, 0},
		{"others", map[string]string{"example.com/backoff-base": "x"}, func(*jobpolicy.Engine) {}, 0},
		{"both delays", map[string]string{AnnotationBaseDelay: "30s", AnnotationMaxDelay: "1h"},
			func(e *jobpolicy.Engine) { e.BaseDelay, e.MaxDelay = 30*time.Second, time.Hour }, 0},
		{"the first delay only", map[string]string{AnnotationBaseDelay: "1m"}, func(e *jobpolicy.Engine) { e.BaseDelay = time.Minute }, 0},
		{"the first delay above the longest", map[string]string{AnnotationBaseDelay: "61s"}, func(*jobpolicy.Engine) {}, 1},
		{"the longest below the first", map[string]string{AnnotationMaxDelay: "4s"}, func(*jobpolicy.Engine) {}, 1},
		{"each beyond the other", map[string]string{AnnotationBaseDelay: "2m", AnnotationMaxDelay: "1m"}, func(*jobpolicy.Engine) {}, 2},
		{"no duration", map[string]string{AnnotationBaseDelay: "30", AnnotationMaxDelay: ""}, func(*jobpolicy.Engine) {}, 2},
		{"negative, zero, endless", map[string]string{AnnotationBaseDelay: "-1s", AnnotationMaxDelay: "0s"}, func(*jobpolicy.Engine) {}, 2},
		{"endless", map[string]string{AnnotationMaxDelay: "2562047h"}, func(*jobpolicy.Engine) {}, 1},
		{"the shortest", map[string]string{AnnotationBaseDelay: "1s"}, func(e *jobpolicy.Engine) { e.BaseDelay = time.Second }, 0},
		{"too short", map[string]string{AnnotationBaseDelay: "999ms"}, func(*jobpolicy.Engine) {}, 1},
		{"misspelt", map[string]string{"restartkit.dev/backoff-bas": "30s", AnnotationMemory: "{}"}, func(*jobpolicy.Engine) {}, 1},
		{"a pod's", map[string]string{"restartkit.dev/restart-rules": "[]"}, func(*jobpolicy.Engine) {}, 1},
		{"skip", map[string]string{AnnotationSkipWaiting: "true"}, func(e *jobpolicy.Engine) { e.StartReadyIndexes = true }, 0},
		{"skip what", map[string]string{AnnotationSkipWaiting: "yes"}, func(*jobpolicy.Engine) {}, 1},
		{"ignored", map[string]string{AnnotationIgnoredDelay: "Own"}, func(e *jobpolicy.Engine) { e.IgnoredDelay = jobpolicy.DelaySeparately }, 0},
		{"ignored None", map[string]string{AnnotationIgnoredDelay: "None"}, func(e *jobpolicy.Engine) { e.IgnoredDelay = jobpolicy.NoDelay }, 0},
		{"ignored how", map[string]string{AnnotationIgnoredDelay: "none"}, func(*jobpolicy.Engine) {}, 1},
		{"one mistake leaves the others", map[string]string{AnnotationSkipWaiting: "", AnnotationBaseDelay: "7s"}, func(e *jobpolicy.Engine) { e.BaseDelay = 7 * time.Second }, 1},
	} {
		want := base
		test.want(&want)
		got, mistakes := WithAnnotations(base, test.annotations)
		if got != want || len(mistakes) != test.mistakes {
			t.Errorf("%s: %+v, mistakes %v, want %+v and %d mistakes", test.name, got, mistakes, want, test.mistakes)
		}
	}
}

// Any annotations result in a valid Engine, with delays in order.
func TestAnyAnnotationsGiveAValidEngine(t *testing.T) {
	values := rapid.OneOf(rapid.SampledFrom([]string{"1s", "10s", "20m", "-5s", "0", "999999h", "true", "Own", "Same", "", "1e9"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		annotations := map[string]string{}
		for _, name := range []string{AnnotationBaseDelay, AnnotationMaxDelay, AnnotationSkipWaiting, AnnotationIgnoredDelay} {
			if rapid.Bool().Draw(t, "set") {
				annotations[name] = values.Draw(t, name)
			}
		}
		e, mistakes := WithAnnotations(jobpolicy.Engine{}, annotations)
		if err := e.Validate(); err != nil {
			t.Fatal(err)
		}
		if baseDelay(e) > maxDelay(e) {
			t.Fatalf("%+v", e)
		}
		if len(annotations) == 0 && (len(mistakes) > 0 || e != jobpolicy.Engine{}) {
			t.Fatalf("%+v, %v", e, mistakes)
		}
		for _, m := range mistakes {
			if m.Detail == "" || m.Field == "" {
				t.Fatalf("a mistake that says nothing: %+v", m)
			}
		}
	})
}
