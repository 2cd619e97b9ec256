package pleg_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A mutant is a way to be wrong: one change of the source, and the test that
// has to fail because of it.
type mutant struct {
	name     string
	file     string
	old, new string // old is there once
	test     string // a pattern for go test -run
	want     string // a pattern that its output matches
}

const (
	histories = "^TestHistories$"
	cacheOnly = "^TestLateWritesHistories$"
)

// mutants are, first, one per guarantee that its checker catches in the
// simulated histories, and then the known defects with their directed tests.
var mutants = []mutant{
	{"G1: a write is accepted whatever its time", "cache.go",
		"if earliest := c.earliestWrite(old); v.at < earliest || v.at == earliest && (earliest == never || !inOrder && !(c.equal && old.present())) {", "if earliest := c.earliestWrite(old); earliest > v.at && false {",
		cacheOnly, `G1: `},
	{"G1: an event is believed whatever it shows", "stream_trust.go",
		"!p.containers.follow(seen, e.Container)", "false",
		histories, `G1: `},
	{"G2: a relist is dated by its end", "run.go",
		"		g.cache.UpdateTime(start)", "		g.cache.UpdateTime(now)",
		histories, `G2: `},
	{"G3: deletions are not remembered", "cache.go",
		"	case v.at > c.globalTime():", "	case v.at > c.globalTime() && false:",
		cacheOnly, `G3: `},
	{"G4: a failed inspection counts", "relist_status.go",
		"		r.fail(p, now)\n		p.wanted = r.next()\n		r.settle(p, o)", "		r.apply(p, o, p.containers.diff(o.seen))\n		r.recorded(p, o)\n		r.settle(p, o)",
		histories, `G4: `},
	{"G5: nobody looks after those who wait", "cache_wait.go",
		"		keys = append(keys, w.key)", "		keys = keys[:0]",
		histories, `G5: `},
	{"G5: a deletion wakes nobody", "cache.go",
		"	freed = c.put(key, &version[S]{entry: Entry[S]{Modified: at}, at: i})", "	c.put(key, &version[S]{entry: Entry[S]{Modified: at}, at: i})",
		"^TestCacheAgainstModel$", `is left`},
	{"G6: what a slow reader has no room for is dropped", "events.go",
		"		*p = podEvents[K]{[]Event[K]{{Pod: key, Type: PodSync}}, true}", "		p.merged = false",
		histories, `G6: .* never heard`},
	{"G6: a watcher is not told of deletions", "cache_watch.go",
		"	if _, shown := w.shown[key]; !present && !shown {", "	if !present {",
		histories, `G6: .* ended with`},
	{"G7: readers remember every pod that ever was", "relist.go",
		"		if s.pending.len() > maxOrphans+2*r.present {", "		if s.pending.len() < 0 {",
		"^TestChurnHoldsNoMoreThanThePods$", `G7: `},
	{"G8: events are inspected where they arrive", "run.go",
		"func(e RuntimeEvent[K, S]) { r.g.events", "func(e RuntimeEvent[K, S]) { r.g.runtime.Status(ctx, e.Pod); r.g.events",
		histories, `G8: `},
	{"G9: the runtime's stamp is taken as it is", "relist_status.go",
		"clean && !o.blind && stamped.Before(at) {\n		at = stamped\n	}", "clean || !o.blind && !stamped.IsZero() && !a.stamp.IsZero() {\n		at, o.start = a.stamp, a.stamp\n	}",
		histories, `G9: `},
	{"G10: a state that is there still is told again", "relist_containers.go",
		"		case to > c.is:", "		case to >= c.is:",
		histories, `G10: `},
	{"G11: a missed step is not counted", "relist_events.go",
		"	default:\n		r.stats.MissedEvents++", "	default:",
		histories, `G11: `},
	{"G12: Run does not wait for its calls", "run.go",
		"		r.working.Wait()\n", "",
		histories, `G12: `},
	{"G13: the period stays short", "run.go",
		"		return g.core.o.EventedPeriod", "		return g.core.o.RelistPeriod",
		histories, `G13: `},

	{"kubernetes#120941: a miss is answered", "cache_wait.go",
		"		case max(v.when(), global) > i:", "		case v == nil, max(v.when(), global) > i:",
		"^TestMissIsNotAbsence$|^TestEmptyCacheAnswersNoWait$", `FAIL: TestMissIsNotAbsence`},
	{"kubernetes#124704: only an event ends a wait", "cache_wait.go",
		"		keys = append(keys, w.key)", "		keys = keys[:0]",
		"^TestWaitEndsWithoutItsEvent$", `FAIL: TestWaitEndsWithoutItsEvent`},
	{"kubernetes#127814: stamps of 1970 are believed", "relist_status.go",
		"clean && !o.blind && stamped.Before(at) {\n		at = stamped\n	}", "clean || !o.blind && !stamped.IsZero() && !a.stamp.IsZero() {\n		at, o.start = a.stamp, a.stamp\n	}",
		"^TestSecondsForNanosecondsMakeNothingStale$", `FAIL: TestSecondsForNanosecondsMakeNothingStale`},
	{"kubernetes#129827: five attempts to connect, ever", "stream.go",
		"		s.retryAt = now.Add(policy.Delay(s.failures))", "		s.retryAt = now\n		if s.failures >= 5 {\n			s.retryAt = now.AddDate(100, 0, 0)\n		}",
		"^TestReconnectsKeepTheSchedule$", `FAIL: TestReconnectsKeepTheSchedule`},
	{"a stream that ends at once spins", "stream.go",
		"		s.retryAt = now.Add(policy.Delay(s.failures))", "		s.retryAt = now.Add(time.Millisecond)",
		"^TestReconnectsKeepTheSchedule$", `FAIL: TestReconnectsKeepTheSchedule`},
	{"kubernetes#134153: a stamp from before a step of the clock is believed", "times.go",
		"	at = now.Add(-min(max(age, 0), oldest))\n	return at, age >= 0 && age <= oldest", "	return stamp, age != 1",
		"^TestSteppedClockBlocksNoPod$", `FAIL: TestSteppedClockBlocksNoPod`},
	{"kubernetes#72482: a full channel loses an exit", "events.go",
		"		p.list = append(p.list, events...)", "		if s.pending.len() >= 1000 {\n			s.pending.drop(key)\n			return 0\n		}\n		p.list = append(p.list, events...)",
		"^TestFullChannelLosesNoExit$", `FAIL: TestFullChannelLosesNoExit`},
	{"containerd: older contents under a newer stamp", "stream_trust.go",
		"!p.containers.follow(seen, e.Container)", "false",
		"^TestOlderContentsUnderANewerStampAreNotBelieved$", `FAIL: TestOlderContentsUnderANewerStampAreNotBelieved`},
	{"containerd: replayed events are news", "stream_trust.go",
		"	if !at.After(p.until) || !p.containers.follow(seen, e.Container) {", "	if false {",
		"^TestReplayBringsNothingBack$|^TestStaleWriteAfterDeletionIsRefused$", `FAIL: TestStaleWriteAfterDeletionIsRefused`},
	{"containerd: the first connection after a loss is relied upon at once", "stream.go",
		"!start.Before(s.opened.Add(s.period))", "!start.Before(s.opened)",
		"^TestLossAfterReconnectIsFoundSoon$", `FAIL: TestLossAfterReconnectIsFoundSoon`},
	{"a lost stream waits for the long period", "run.go",
		"		g.core.listNow = true\n", "",
		"^TestLostStreamFallsBackAtOnce$", `FAIL: TestLostStreamFallsBackAtOnce`},
	{"a lost stream is an illness", "generator.go",
		"	if g.changed.After(last) {", "	if false {",
		"^TestHealthyJudgesRelistingOnly$", `FAIL: TestHealthyJudgesRelistingOnly`},
}

// TestChosenMutantsDie checks that every mutant still is one. With PLEG_MUTANTS=1 it
// also builds each and runs the test that has to fail; that takes minutes.
func TestChosenMutantsDie(t *testing.T) {
	full := os.Getenv("PLEG_MUTANTS") != ""
	caught := map[string]bool{}
	for _, m := range mutants {
		source, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 {
			t.Errorf("%s: %s has %q %d times", m.name, m.file, m.old, n)
			continue
		}
		guarantee, _, _ := strings.Cut(m.name, ":")
		caught[guarantee] = true
		if full {
			t.Run(m.name, func(t *testing.T) { m.kill(t, strings.Replace(string(source), m.old, m.new, 1)) })
		}
	}
	for i := range 13 {
		if g := fmt.Sprintf("G%d", i+1); !caught[g] {
			t.Errorf("no mutant of %s", g)
		}
	}
}

// kill runs the mutant's test over the changed source.
func (m mutant) kill(t *testing.T, source string) {
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{changed: []byte(source), overlay: replace} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count=1", "-timeout=60s", "-run", m.test,
		".", "-rapid.checks=2000", "-rapid.nofailfile", "-rapid.shrinktime=1s")
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		t.Error("it survives")
	case !regexp.MustCompile(m.want).Match(out):
		t.Errorf("it dies without %q:\n%.3000s", m.want, out)
	}
}
