package jobcontroller

import "testing"

// A value without JSON is a mistake of this package.
func TestValueWithoutJSONPanics(t *testing.T) {
	if got := string(encoded(map[string]int{"a": 1})); got != `{"a":1}` {
		t.Error(got)
	}
	defer func() {
		if got := recover(); got != "jobcontroller: chan int has no JSON: json: unsupported type: chan int" {
			t.Error(got)
		}
	}()
	encoded(make(chan int))
}
