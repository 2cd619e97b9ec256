package count

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		n  int
		ok bool
	}{
		"0": {0, true}, "7": {7, true}, "2147483647": {Max, true}, "2147483648": {Max, false}, "9223372036854775807": {Max, false},
		"-1": {-1, false}, "": {-1, false}, "x": {-1, false}, "1.0": {-1, false}, " 1": {-1, false}, "9223372036854775808": {-1, false},
	} {
		if n, ok := Parse(text); n != want.n || ok != want.ok {
			t.Errorf("%q: %d, %v, want %+v", text, n, ok, want)
		}
	}
}
