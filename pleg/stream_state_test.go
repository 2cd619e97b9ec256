package pleg

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The stream's state machine alone, in steps of seconds.
var t0 = time.Unix(1e9, 0)

func TestStreamIsReliedUponAfterAList(t *testing.T) {
	var now time.Time
	s := streamState{period: time.Second}
	for i, line := range strings.Split(strings.TrimSpace(`
		0 connect yes
		0 connect no
		0 listed reliable=no
		1 prove yes
		1 prove no
		1 reliable no
		1 listed reliable=yes
		50 ended lost=yes
		50 connect yes
		50 listed reliable=no
		51 prove yes
		51 reliable no
		51 listed reliable=yes
		60 ended lost=yes
		60 connect no
		61 connect yes
		61 ended lost=no
		62 connect no
		63 connect yes
		123 prove yes
		123 ended lost=no
		123 connect yes
		123 unsupported lost=no
		182 connect no
		183 connect yes
		183 ended lost=no
		183 connect yes
		243 ended lost=no
		243 connect yes`), "\n") {
		var second int
		var do, want string
		fmt.Sscan(strings.TrimSpace(line), &second, &do, &want)
		now = t0.Add(time.Duration(second) * time.Second)
		_, value, found := strings.Cut(want, "=")
		if !found {
			value = want
		}
		var got bool
		switch do {
		case "connect":
			got = s.connect(now)
		case "prove":
			got = s.prove(now)
		case "reliable":
			got = s.reliable()
		case "listed":
			s.listed(now)
			got = s.reliable()
		case "ended":
			got = s.ended(now, nil)
		case "unsupported":
			got = s.ended(now, fmt.Errorf("really: %w", ErrUnsupported))
		}
		if got != (value == "yes") {
			t.Errorf("line %d: %s: got %v", i+1, strings.TrimSpace(line), got)
		}
	}
}
