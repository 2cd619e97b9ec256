package timeline

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
)

// Written events are read back, and yield the same chart.
func TestWrittenEventsAreReadBack(t *testing.T) {
	want := sampleRun(50, 5, 1)
	var file bytes.Buffer
	if err := Write(&file, want...); err != nil {
		t.Fatal(err)
	}
	got, torn, err := Read(&file)
	if err != nil || torn || len(got) != len(want) {
		t.Fatalf("%d events of %d, torn %v, %v", len(got), len(want), torn, err)
	}
	if !reflect.DeepEqual(Layout(got), Layout(want)) {
		t.Error("another chart")
	}
}

// A file that is cut off anywhere gives all its whole lines, also after a resumed run
// has written on.
func TestTornLinesHideNoOther(t *testing.T) {
	events := sampleRun(1, 1, 7)
	var file bytes.Buffer
	if err := Write(&file, events...); err != nil {
		t.Fatal(err)
	}
	var resumed bytes.Buffer
	if err := Write(&resumed, Event{Time: start, Kind: Resumed}, events[1]); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	torn := 0
	for n := range len(text) + 1 {
		whole := strings.Count(text[:n], "\n")
		rest := text[:n][strings.LastIndexByte(text[:n], '\n')+1:]
		complete := strings.HasSuffix(rest, "}") && strings.HasPrefix(text[n:], "\n")
		if complete {
			whole++
		}
		got, cut, err := Read(strings.NewReader(text[:n]))
		if err != nil || len(got) != whole || cut != (rest != "" && !complete) {
			t.Fatalf("%d bytes: %d events, want %d, torn %v, %v", n, len(got), whole, cut, err)
		}
		if cut {
			torn++
		}
		if rest != "" {
			rest = "\n"
		}
		got, cut, err = Read(strings.NewReader(text[:n] + rest + resumed.String()))
		if err != nil || cut || len(got) != whole+2 {
			t.Fatalf("%d bytes and a resumed run: %d events, want %d, %v", n, len(got), whole+2, err)
		}
		if n%100 == 0 {
			if err := check(got); err != nil {
				t.Fatal(err)
			}
		}
	}
	if torn == 0 {
		t.Error("no line was torn")
	}
}

func TestBadEventsAreReportedWithTheirLine(t *testing.T) {
	const good = `{"time":"2026-03-01T12:00:00Z","event":"began"}` + "\n"
	for text, want := range map[string]string{
		good + "x\n" + good: "line 2: no JSON object",
		good + "\n  \n[]\n": "line 4: no JSON object",
		"null\n":            "line 1: no JSON object",
		good + `{"time":"x","event":"began"}` + "\n":                                            "line 2: parsing time",
		`{"event":"began"}` + "\n":                                                              "line 1: time: is missing",
		`{"time":"2026-03-01T12:00:00Z"}` + "\n":                                                "line 1: event: is missing",
		`{"time":"9999-03-01T12:00:00Z","event":"began"}` + "\n":                                "line 1: time: year 9999 is not in 1678..2261",
		`{"time":"2026-03-01T12:00:00Z","event":"created","index":-1}` + "\n":                   "line 1: index: -1 is not in 0..2147483647",
		`{"time":"2026-03-01T12:00:00Z","event":"created","index":99999999999999999999}` + "\n": "line 1: json: cannot unmarshal number",
		`{"time":"2026-03-01T12:00:00Z","event":"created","attempt":-1}` + "\n":                 "line 1: attempt: -1 is below 0",
		`{"time":"2026-03-01T12:00:00Z","event":"failed","wait":"-1s"}` + "\n":                  "line 1: -1s is below 0",
		`{"time":"2026-03-01T12:00:00Z","event":"failed","wait":5}` + "\n":                      "line 1: json: cannot unmarshal number",
		good + `{"event":"` + strings.Repeat("x", MaxLine) + `"}`:                               "line 2: longer than 1048576 bytes",
	} {
		if _, _, err := Read(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
	if _, _, err := Read(io.LimitReader(endless{}, 1<<30)); err == nil || !strings.HasPrefix(err.Error(), "line 1: longer than") {
		t.Errorf("a line without end: %v", err)
	}
}

// endless is a file of one line.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{'{'}, len(p))), nil }

// Reading any file ends, and its events can be drawn.
func FuzzRead(f *testing.F) {
	var file bytes.Buffer
	if err := Write(&file, sampleRun(3, 2, 1)...); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add(file.Bytes()[:file.Len()/2])
	f.Add([]byte(`{"time":"2026-03-01T12:00:00Z","event":"created","pod":"</title><script>","index":3}` + "\n{"))
	f.Add([]byte(`{"time":"2026-03-01T12:00:00Z","event":"failed","wait":"2562047h"}` + "\n" + `{"time":"1700-03-01T12:00:00Z","event":"resumed"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, _, err := Read(bytes.NewReader(text))
		if err != nil && len(events) > bytes.Count(text, []byte("\n")) {
			t.Fatalf("%d events, %v", len(events), err)
		}
		if err := check(events); err != nil {
			t.Fatal(err)
		}
	})
}
