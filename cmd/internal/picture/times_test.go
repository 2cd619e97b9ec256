package picture

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestTimesHaveShortLabels(t *testing.T) {
	const hour = time.Hour
	for at, want := range map[time.Duration]string{0: "0s", 1500 * time.Millisecond: "1.5s", 90 * time.Second: "1m30s", 23 * hour: "23h", 24 * hour: "1d", 36 * hour: "36h", 50 * 24 * hour: "50d", 8760 * hour: "1y", 87600 * hour: "10y"} {
		if got := TimeLabel(at); got != want {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
	}
	var years []string
	for _, at := range Times(87600*hour, 452) {
		years = append(years, TimeLabel(at))
	}
	if want := []string{"0s", "2y", "4y", "6y", "8y", "10y"}; !slices.Equal(years, want) {
		t.Errorf("ten years have %v, want %v", years, want)
	}
}

func TestStepIsTheShortestRoundOne(t *testing.T) {
	for _, tt := range []struct {
		length time.Duration
		most   int
		want   time.Duration
	}{
		{0, 8, 1}, {10, 8, 2}, {1600 * time.Millisecond, 13, 200 * time.Millisecond}, {55 * time.Second, 13, 5 * time.Second},
		{70 * time.Minute, 8, 10 * time.Minute}, {7 * 24 * time.Hour, 9, 24 * time.Hour}, {316 * 24 * time.Hour, 3, 200 * 24 * time.Hour}, {math.MaxInt64, 6, 50 * year}, {math.MaxInt64, 3, 100 * year},
	} {
		got := roundStep(tt.length, tt.most)
		if got != tt.want {
			t.Errorf("%v in %d steps: %v, want %v", tt.length, tt.most, got, tt.want)
		}
	}
}
