package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// lived returns the history of a container whose third attempt never started. containerd
// missed the exit of the fourth.
func lived() history {
	end := func(attempt int, code int32, reason string) report {
		finished := time.Unix(1_800_000_000+int64(attempt), 0)
		return report{ending: ending{fmt.Sprint("id", attempt), code, reason, finished}, attempt: attempt, known: true, started: true}
	}
	ends := []report{end(0, 0, "Completed"), end(1, 42, "Error"), end(3, 255, "Unknown"), end(4, 143, "Error")}
	h := history{restarts: 4, diary: []string{"0", "42", "1", asleep}}
	for _, r := range ends {
		h.shown = append(h.shown, r.ending)
	}
	h.reported = slices.Insert(ends, 3, report{ending: ending{id: "id2"}, attempt: 2})
	return h
}

func TestReportsAreCompared(t *testing.T) {
	agree := verdict{exits: 4, shown: 4, missed: 1, neverStarted: 1}
	for name, row := range map[string]struct {
		change func(*history)
		want   verdict // without differences
		differ string  // in the differences
	}{
		"all agree": {func(*history) {}, agree, ""},
		"the API skips an exit": {
			func(h *history) { h.shown = slices.Delete(h.shown, 1, 2) },
			verdict{exits: 4, shown: 3, missed: 1, neverStarted: 1}, "",
		},
		"the API learns of the lack of memory": {func(h *history) { h.shown[1].reason = "OOMKilled" }, agree, ""},
		"the process of an attempt wrote, but containerd does not know of its start": {
			func(h *history) { h.diary = slices.Insert(h.diary, 2, "7") },
			verdict{exits: 4, shown: 4, missed: 1, neverStarted: 1, unrecorded: 1}, "",
		},
		"containerd missed the exit of a process that did not write": {
			func(h *history) { h.diary = slices.Delete(h.diary, 2, 3) }, agree, "",
		},
		"an attempt cannot start": {
			func(h *history) {
				h.reported[1].code, h.reported[1].reason = 128, "StartError"
				h.shown[1] = h.reported[1].ending
				h.diary = slices.Delete(h.diary, 1, 2)
			}, agree, "",
		},
		"an exit is lost":             {func(h *history) { h.reported, h.shown = h.reported[1:], h.shown[1:] }, verdict{}, "attempt 0 is not reported"},
		"an exit is reported twice":   {func(h *history) { h.reported = append(h.reported, h.reported[3]) }, verdict{}, "attempt 2 is reported 2 times"},
		"an exit is invented":         {func(h *history) { h.restarts, h.diary = 3, h.diary[:3] }, verdict{}, "attempt 4 is reported, restartCount is 3"},
		"a code is wrong":             {func(h *history) { h.reported[1].code = 1 }, verdict{}, "the API shows"},
		"a time is wrong":             {func(h *history) { h.shown[1].finished = h.shown[0].finished }, verdict{}, "the API shows"},
		"a reason is wrong":           {func(h *history) { h.reported[1].reason = "OOMKilled" }, verdict{}, "the API shows"},
		"a code is missing":           {func(h *history) { h.reported[1].known = false }, verdict{}, "the API shows"},
		"a code is missing elsewhere": {func(h *history) { h.reported[1].known, h.shown = false, slices.Delete(h.shown, 1, 2) }, verdict{}, "without a code"},
		"an id is unknown":            {func(h *history) { h.shown[1].id = "other" }, verdict{}, "which is not reported"},
		"two exits change places":     {func(h *history) { h.shown[0], h.shown[1] = h.shown[1], h.shown[0] }, verdict{}, "out of turn"},
		"the process ended otherwise": {func(h *history) { h.diary[1] = "1" }, verdict{}, "the diary is"},
		"a process is not reported":   {func(h *history) { h.diary = slices.Insert(h.diary, 0, "0", "0") }, verdict{}, "the diary is"},
		"a process did not run":       {func(h *history) { h.diary = h.diary[1:] }, verdict{}, "the diary is"},
	} {
		t.Run(name, func(t *testing.T) {
			h := lived()
			row.change(&h)
			v := h.compare()
			if row.differ != "" {
				if len(v.differences) == 0 || !strings.Contains(strings.Join(v.differences, "\n"), row.differ) {
					t.Errorf("the differences are %q, want %q", v.differences, row.differ)
				}
				return
			}
			if fmt.Sprint(v) != fmt.Sprint(row.want) {
				t.Errorf("got %+v, want %+v", v, row.want)
			}
		})
	}
}
