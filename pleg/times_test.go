package pleg

import "time"

// t0 … t9 are the named instants of the tables, a second apart.
var t0, t1, t2, t3, t4, t9 = at(0), at(1), at(2), at(3), at(4), at(9)

func at(seconds int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)
}
