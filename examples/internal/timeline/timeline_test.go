package timeline

import (
	"bytes"
	"reflect"
	"testing"
)

// What is written is read again, and the chart is the same.
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
