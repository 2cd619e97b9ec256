package peers

import "testing"

func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows() {
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
		if seen[r.ID()] {
			t.Errorf("two rows are named %q", r.ID())
		}
		seen[r.ID()] = true
	}
}
