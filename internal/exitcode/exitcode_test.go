package exitcode

import "testing"

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		operator string
		values   []int32
		code     int32
		matched  bool
		ok       bool
	}{
		{In, []int32{3, 1, 3}, 3, true, true},
		{In, []int32{3, 1, 3}, 2, false, true},
		{In, nil, 0, false, true},
		{NotIn, []int32{3, 1}, 2, true, true},
		{NotIn, []int32{3, 1}, 1, false, true},
		{NotIn, nil, -1, true, true},
		{"in", []int32{1}, 1, false, false},
		{"", nil, 1, false, false},
	} {
		matched, ok := Matches(tt.operator, tt.values, tt.code)
		if matched != tt.matched || ok != tt.ok {
			t.Errorf("Matches(%q, %v, %d) = %v, %v; want %v, %v", tt.operator, tt.values, tt.code, matched, ok, tt.matched, tt.ok)
		}
	}
}
