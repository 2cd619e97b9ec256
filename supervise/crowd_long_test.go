//go:build long

package supervise_test

import "testing"

func TestLargeCrowd(t *testing.T) { superviseCrowd(t, 20_000) }
