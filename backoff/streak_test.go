package backoff_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"pgregory.net/rapid"
)

// tenSeconds has delays of 10s, 20s, 40s and 80s, and starts over after more than 160s.
var tenSeconds = backoff.Policy{Initial: 10 * second, Max: 80 * second}

// at returns the instant that many seconds after t0.
func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(second))) }

func TestFailedCountsRunsThatEndedBadly(t *testing.T) {
	never := time.Time{}
	for name, tt := range map[string]struct {
		before  backoff.Streak
		started time.Time
		now     time.Time
		want    int
	}{
		"the first failure":                        {backoff.Streak{}, at(0), at(1), 1},
		"one more":                                 {backoff.Streak{Failures: 3, Last: at(0)}, at(40), at(50), 4},
		"a run as long as ResetAfter":              {backoff.Streak{Failures: 3, Last: at(0)}, at(40), at(200), 4},
		"a longer run starts over":                 {backoff.Streak{Failures: 3, Last: at(0)}, at(40), at(201), 1},
		"a zero started is no run":                 {backoff.Streak{Failures: 3, Last: at(0)}, never, at(9000), 4},
		"a run counts from the last failure":       {backoff.Streak{Failures: 3, Last: at(100)}, at(0), at(200), 4},
		"a run counts from its start":              {backoff.Streak{Failures: 3, Last: at(0)}, at(150), at(200), 4},
		"a negative run is none":                   {backoff.Streak{Failures: 3, Last: at(0)}, at(9000), at(1), 4},
		"the clock was set back since the failure": {backoff.Streak{Failures: 3, Last: at(9000)}, at(0), at(200), 4},
		"a negative count is none":                 {backoff.Streak{Failures: -7, Last: at(0)}, at(40), at(50), 1},
		"the count saturates":                      {backoff.Streak{Failures: math.MaxInt, Last: at(0)}, at(40), at(50), math.MaxInt},
		"before 1970":                              {backoff.Streak{Failures: 3, Last: time.Unix(-9e9, 0)}, time.Unix(-9e9, 1), time.Unix(-9e9, 2), 4},
		"since the year 1":                         {backoff.Streak{Failures: 3}, never.Add(1), at(0), 1},
	} {
		got := tenSeconds.Failed(tt.before, tt.started, tt.now)
		if got.Failures != tt.want || !got.Last.Equal(tt.now) {
			t.Errorf("%s: %+v, want %d failures, the last at %v", name, got, tt.want, tt.now)
		}
	}
}

func TestLeftIsTheRestOfTheDelay(t *testing.T) {
	third := backoff.Streak{Failures: 3, Last: at(0)} // delayed by 40s
	for name, tt := range map[string]struct {
		streak backoff.Streak
		now    time.Time
		want   time.Duration
	}{
		"none":                               {backoff.Streak{}, at(0), 0},
		"a negative count":                   {backoff.Streak{Failures: -3, Last: at(0)}, at(0), 0},
		"at the failure":                     {third, at(0), 40 * second},
		"later":                              {third, at(15), 25 * second},
		"over":                               {third, at(40), 0},
		"long over":                          {third, at(1e9), 0},
		"the clock is behind":                {third, at(-40), 40 * second},
		"it is behind by more than a delay":  {third, at(-40.001), 0},
		"far behind":                         {third, time.Unix(0, 0), 0},
		"a count without a time":             {backoff.Streak{Failures: 3}, at(0), 0},
		"a time in the year 9999":            {backoff.Streak{Failures: 3, Last: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, at(0), 0},
		"the largest count":                  {backoff.Streak{Failures: math.MaxInt, Last: at(0)}, at(1), 79 * second},
		"a time stored without its fraction": {backoff.Streak{Failures: 3, Last: at(0)}, at(0.9), 39100 * time.Millisecond},
	} {
		if got := tenSeconds.Left(tt.streak, tt.now); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	longest := backoff.Policy{Initial: math.MaxInt64, Max: math.MaxInt64}
	if got := longest.Left(third, at(-1e9)); got != math.MaxInt64 {
		t.Errorf("the longest delay: %v", got)
	}
}

// While a clock is far behind, Left is 0 and rises again when the clock is less than a
// delay behind. A start at the first 0 is early; no start is later than two delays.
func TestClockThatIsBehindHoldsAStartForTwoDelaysAtMost(t *testing.T) {
	s := backoff.Streak{Failures: 3, Last: at(0)}
	for behind := range 100 {
		clock := at(-float64(behind))
		waited := time.Duration(0)
		for tenSeconds.Left(s, clock) > 0 {
			clock = clock.Add(second)
			waited += second
		}
		if waited > 80*second || behind <= 40 && waited != time.Duration(40+behind)*second || behind > 40 && waited != 0 {
			t.Errorf("%ds behind: waited %v", behind, waited)
		}
	}
}

// A policy that nobody validated delays nothing, counts, and never starts over, so limits
// on the count still work.
func TestInvalidPolicyOnlyCounts(t *testing.T) {
	for _, p := range []backoff.Policy{
		{}, {Initial: -second, Max: -second}, {Initial: second}, {Initial: second, Max: minute, Factor: math.NaN()}, {Initial: second, Max: minute, ResetAfter: -1},
		{Initial: second, Max: minute, Jitter: math.NaN()}, {Initial: second, Max: minute, Factor: math.Inf(1)}, {Initial: second, Max: minute, FreeFailures: -1},
	} {
		s := backoff.Streak{}
		for n := range 5 {
			s = p.Failed(s, at(0), at(1e6*float64(n)))
		}
		if p.Delay(5) != 0 || p.Left(s, s.Last) != 0 || s.Failures != 5 {
			t.Errorf("%+v: delay %v, %v left of %+v", p, p.Delay(5), p.Left(s, s.Last), s)
		}
	}
}

// Two copies of a status: the count decides, and the time only between equal counts.
func TestMergeTakesTheHigherCount(t *testing.T) {
	now := at(100)
	early, late, ahead, farAhead := at(10), at(20), at(101), at(200)
	streak := func(n int, last time.Time) backoff.Streak { return backoff.Streak{Failures: n, Last: last} }
	for name, tt := range map[string]struct{ a, b, want backoff.Streak }{
		"the higher count, though earlier": {streak(3, early), streak(2, late), streak(3, early)},
		"the later time":                   {streak(2, early), streak(2, late), streak(2, late)},
		"not one after now":                {streak(2, early), streak(2, ahead), streak(2, early)},
		"both are after now":               {streak(2, ahead), streak(2, farAhead), streak(2, ahead)},
		"the same":                         {streak(2, late), streak(2, late), streak(2, late)},
	} {
		if got := tt.a.Merge(tt.b, now); got != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
		if got := tt.b.Merge(tt.a, now); got != tt.want {
			t.Errorf("%s, the other way round: %+v", name, got)
		}
	}
}

func TestStreakIsTwoFieldsOfJSON(t *testing.T) {
	for want, s := range map[string]backoff.Streak{
		`{}`: {},
		`{"failures":2,"last":"2026-03-01T12:00:00Z"}`: {Failures: 2, Last: t0},
	} {
		text, err := json.Marshal(s)
		if err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
		var again backoff.Streak
		if err := json.Unmarshal(text, &again); err != nil || again != s {
			t.Errorf("%+v, %v, want %+v", again, err, s)
		}
	}
}

// Within a process, setting the wall clock changes nothing.
func TestStreakIsImmuneToASetClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := backoff.NewSystemClock()
		s := tenSeconds.Failed(backoff.Streak{Failures: 1}, time.Time{}, c.Now()) // delayed by 20s
		c.Elapsed += 5 * second
		c.Set = backoff.ClockSettings().Draw(t, "set")
		if got := tenSeconds.Left(s, c.Now()); got != 15*second {
			t.Fatalf("%v left", got)
		}
	})
}

func TestStreaksDoNotAllocate(t *testing.T) {
	s, now := backoff.Streak{}, time.Now()
	for name, call := range map[string]func(){
		"Failed": func() { s = tenSeconds.Failed(s, now, now) },
		"Left":   func() { tenSeconds.Left(s, now) },
		"Merge":  func() { s.Merge(s, now) },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
