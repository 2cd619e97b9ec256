package timeline

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// start is when the runs of tests begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sampleRun returns the events of a run of that many indexes, parallel at a time, as
// a run writes them: some indexes fail once or twice, some are ignored, one in fifty
// fails for good.
func sampleRun(indexes, parallel int, seed uint64) []Event {
	random := rand.New(rand.NewPCG(seed, 1))
	events := []Event{{Time: start, Kind: Began, Job: "sample"}}
	at := make([]time.Duration, parallel) // when each place is free
	for i := range at {
		at[i] = time.Duration(i) * 20 * time.Millisecond
	}
	yes, no, rule, one, end := true, false, 0, int32(1), time.Duration(0)
	for index := range indexes {
		place := 0
		for i := range at {
			if at[i] < at[place] {
				place = i
			}
		}
		t := at[place]
		failures := 0
		for attempt := 1; ; attempt++ {
			event := func(kind Kind, at time.Duration) Event {
				return Event{Time: start.Add(at), Kind: kind, Job: "sample", Pod: fmt.Sprintf("sample-%d-%d", index, attempt), UID: fmt.Sprint(index, attempt), Index: &index, Attempt: attempt}
			}
			events = append(events, event(Created, t), event(Started, t+3*time.Millisecond))
			t += time.Duration(500+random.IntN(2500)) * time.Millisecond
			fails := random.IntN(8) == 0 || index%50 == 49
			if !fails {
				events = append(events, event(Succeeded, t))
				break
			}
			e := event(Failed, t)
			e.ExitCode, e.Container, e.Counted = &one, "main", &yes
			if random.IntN(3) == 0 && index%50 != 49 {
				e.Counted, e.Rule, e.Action = &no, &rule, "Ignore"
			} else {
				failures++
			}
			if failures == 3 {
				events = append(events, e, Event{Time: start.Add(t), Kind: IndexFailed, Job: "sample", Index: &index})
				break
			}
			e.Wait, e.Why = Duration(time.Second<<min(attempt-1, 4)), fmt.Sprintf("failure %d of the index", failures)
			events = append(events, e)
			t += time.Duration(e.Wait)
		}
		at[place] = t
		end = max(end, t)
	}
	last := start.Add(end)
	return append(events,
		Event{Time: last, Kind: Condition, Job: "sample", Condition: "FailureTarget", Status: "True", Reason: "FailedIndexes", Message: "Job has failed indexes"},
		Event{Time: last.Add(20 * time.Millisecond), Kind: Condition, Job: "sample", Condition: "Failed", Status: "True", Reason: "FailedIndexes", Message: "Job has failed indexes"},
		Event{Time: last.Add(30 * time.Millisecond), Kind: Ended, Job: "sample"})
}
