package vectors

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Each recorded outcome passes as an answer, and a wrong one fails: of each kind of
// field, one of its corruptions is noticed.
func TestAnswersAreCompared(t *testing.T) {
	names, err := Names(Embedded())
	if err != nil {
		t.Fatal(err)
	}
	noticed := map[string]bool{} // by kind of case and of field
	for _, name := range names {
		cases, err := Read(Embedded(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			answer := unprefixed(c.Want)
			if differences, _ := c.Compare(answer); len(differences) > 0 {
				t.Errorf("%s: the recorded outcome differs: %q", c.FullID(), differences)
			}
			for path, corrupted := range corruptions("got", answer) {
				field := c.FullKind() + " " + place.ReplaceAllString(path, "[]")
				if !noticed[field] {
					differences, _ := c.Compare(corrupted)
					noticed[field] = len(differences) > 0
				}
			}
		}
	}
	maps.DeleteFunc(noticed, func(field string, _ bool) bool { // what the page says is not compared
		return strings.HasPrefix(field, "indexset_parse/lenient got.intervals") || field == "jobsync got.requeue_after_ms (length)"
	})
	for _, field := range slices.Sorted(maps.Keys(noticed)) {
		if !noticed[field] {
			t.Errorf("a wrong %s goes unnoticed", field)
		}
	}
	if len(noticed) < 100 {
		t.Errorf("only %d kinds of fields were corrupted", len(noticed))
	}
}

// The comparison ignores only what has no meaning.
func TestAnswersInOtherForms(t *testing.T) {
	for _, tt := range []struct {
		file, text, got string
		same            bool
	}{
		{"remaining", `{"id":"x","kind":"global","want_ms":1000}`, `{"ms":1e3,"more":1}`, true},
		{"remaining", `{"id":"x","kind":"global","want_ms":1000}`, `{"ms":1000.5}`, false},
		{"remaining", `{"id":"x","kind":"global","want_ms":1000}`, `{"want_ms":1000}`, false},
		{"remaining", `{"id":"x","kind":"global","want_ms":9007199254740993}`, `{"ms":9007199254740992}`, false},
		{"finishtime", `{"id":"x","want":"2009-11-10T23:00:00Z"}`, `"2009-11-10T23:00:00Z"`, true},
		{"indexset_parse", `{"id":"x","kind":"strict","want":{"error":null,"total":1}}`, `{"error":false,"total":1}`, true},
		{"indexset_parse", `{"id":"x","kind":"strict","want":{"error":true}}`, `{"error":"bad number"}`, true},
		{"indexset_parse", `{"id":"x","kind":"strict","want":{"error":true}}`, `{"error":null}`, false},
		{"indexset_parse", `{"id":"x","kind":"lenient","want":{"total":1,"intervals":[[1,1]]}}`, `{"total":1}`, true},
		{"indexset_ops", `{"id":"x","kind":"overlap","want":"indexes overlap"}`, `true`, true},
		{"indexset_ops", `{"id":"x","kind":"overlap","want":null}`, `true`, false},
		{"indexset_ops", `{"id":"x","kind":"duplicates","pods":[{"uid":"a","index":"1"},{"uid":"b","index":"1"}],"want":{"keep":["a"],"remove":["b"]}}`, `{"keep":[1],"remove":[0]}`, true},
		{"indexset_ops", `{"id":"x","kind":"duplicates","pods":[{"uid":"a","index":"1"},{"uid":"b","index":"2"}],"want":{"keep":["a"],"remove":["b"]}}`, `{"keep":[1],"remove":[0]}`, false},
		{"indexset_ops", `{"id":"x","kind":"duplicates","pods":[{"uid":"a"}],"want":{"keep":["a"],"remove":[]}}`, `{"keep":[7],"remove":[]}`, false},
		{"jobsync", `{"id":"x","want":{"requeue_after_ms":[2000,10000]}}`, `{"requeue_after_ms":2000}`, true},
		{"jobsync", `{"id":"x","want":{"requeue_after_ms":[2000]}}`, `{"requeue_after_ms":[10000]}`, false},
		{"jobsync", `{"id":"x","want":{"requeue_after_ms":[2000]}}`, `{"requeue_after_ms":["a","b"]}`, false},
		{"jobsync", `{"id":"x","want":{"created_indexes":[{"index":"1"},{"index":"2"}]}}`, `{"created_indexes":[{"index":"2"},{"index":"1"}]}`, true},
	} {
		c, err := readCase(tt.file, json.RawMessage(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Tree([]byte(tt.got))
		if err != nil {
			t.Fatal(err)
		}
		if differences, _ := c.Compare(got); (len(differences) == 0) != tt.same {
			t.Errorf("%s answered by %s: differences %q", tt.text, tt.got, differences)
		}
	}
}

// A recorded delay contains the recorder's slowness, so a shorter one passes.
func TestDelaysOfRuns(t *testing.T) {
	for got, same := range map[string]bool{`[4026]`: true, `[4000]`: true, `[3659]`: true, `[3600]`: false, `[4027]`: false, `[]`: false, `["4000"]`: false} {
		c, err := readRun("jobcontroller_runs", "timing", json.RawMessage(`{"scenario":{"name":"x"},"recreationDelays":["index 0 attempt 1 created 4026 ms after the failure"]}`))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := Tree([]byte(`{"recreation_delays_ms":` + got + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if differences, _ := c.Compare(tree); (len(differences) == 0) != same {
			t.Errorf("%s: differences %q", got, differences)
		}
	}
}

// A question has the input, and neither the outcome nor its origin.
func TestQuestions(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"remaining", `{"id":"x","kind":"global","origin":"table","table":"T","failures":1,"want_ms":1}`, `{"failures":1,"id":"remaining/x","kind":"remaining/global"}`},
		{"finishtime", `{"id":"x","pod":null,"want":null}`, `{"id":"finishtime/x","kind":"finishtime","pod":null}`},
	} {
		c, err := readCase(tt.file, json.RawMessage(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Question(); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.text, got, err, tt.want)
		}
	}
	c, err := readRun("runs", "run", json.RawMessage(`{"scenario":{"name":"x"},"outcome":"Failed","steps":[{"event":[]}],"note":"n"}`))
	if err != nil {
		t.Fatal(err)
	}
	const wanted = `{"outcome":"Failed","steps":[{"podsCreatedAfter":[],"status":null}]}`
	if got := Text(c.Want); got != wanted {
		t.Errorf("%s is wanted, want %s", got, wanted)
	}
	const want = `{"id":"runs/x","kind":"runs/run","scenario":{"name":"x"}}`
	if got, err := c.Question(); err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
