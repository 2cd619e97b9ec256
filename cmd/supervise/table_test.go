package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/terminal"
	"pgregory.net/rapid"
)

// tableText is the table without its colours.
func tableText(rows []row, width, height int) string {
	var text strings.Builder
	for _, line := range fitTable(rows, width, height) {
		text.WriteString(line.text + "\n")
	}
	return text.String()
}

// The same rows on wider and narrower terminals: what matters least goes first, and
// the exit codes and the numbers of restarts stay.
func TestNarrowTableLeavesOutWhatMattersLeast(t *testing.T) {
	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.Local)
	rows := []row{
		{name: "db", state: "Running", restarts: 12, ago: 30 * time.Hour, exit: "143 (terminated)"},
		{name: "payments-reconciliation-worker-01", state: "CrashLoopBackOff", restarts: 3, ago: 90 * time.Second, next: at, in: 40 * time.Second, exit: "139 (segmentation fault)"},
		{name: "migration", state: "Error", exit: "1"},
		{name: "支付服务工作进程支付服务工作进程", state: "Completed", exit: "0"},
	}
	for width, want := range map[int]string{
		200: `
NAME                                STATE              RESTARTS        NEXT              EXIT
payments-reconciliation-worker-01   CrashLoopBackOff   3 (1m30s ago)   03:04:05 in 40s   139 (segmentation fault)
migration                           Error              0               -                 1
db                                  Running            12 (30h ago)    -                 143 (terminated)
支付服务工作进程支付服务工作进程    Completed          0               -                 0
4 commands: 1 crashed, 1 failed, 1 running, 1 completed
`,
		100: `
NAME                           STATE              RESTARTS        NEXT     EXIT
payments-recon…ion-worker-01   CrashLoopBackOff   3 (1m30s ago)   in 40s   139 (segmentation fault)
migration                      Error              0               -        1
db                             Running            12 (30h ago)    -        143 (terminated)
支付服务工作进…服务工作进程    Completed          0               -        0
4 commands: 1 crashed, 1 failed, 1 running, 1 completed
`,
		80: `
NAME                           STATE              RESTARTS        NEXT     EXIT
payments-recon…ion-worker-01   CrashLoopBackOff   3 (1m30s ago)   in 40s   139
migration                      Error              0               -        1
db                             Running            12 (30h ago)    -        143
支付服务工作进…服务工作进程    Completed          0               -        0
4 commands: 1 crashed, 1 failed, 1 running, 1 completed
`,
		60: `
NAME            STATE              RESTARTS   NEXT     EXIT
paymen…ker-01   CrashLoopBackOff   3          in 40s   139
migration       Error              0          -        1
db              Running            12         -        143
支付服…作进程   Completed          0          -        0
4 commands: 1 crashed, 1 failed, 1 running, 1 completed
`,
		50: `
NAME             STATE              NEXT     EXIT
payment…ker-01   CrashLoopBackOff   in 40s   139
migration        Error              -        1
db               Running            -        143
支付服…作进程    Completed          -        0
4 commands: 1 crashed, 1 failed, 1 running, 1 co…
`,
		36: `
NAME      STATE              NEXT
pay…-01   CrashLoopBackOff   in 40s
mig…ion   Error              -
db        Running            -
支…程     Completed          -
4 commands: 1 crashed, 1 failed, 1…
`,
		22: `
NAME           NEXT
paymen…er-01   in 40s
migration      -
db             -
支付服…进程    -
4 commands: 1 crashe…
`,
	} {
		if got := tableText(rows, width, 24); "\n"+got != want {
			t.Errorf("%d columns:\n%swant%s", width, got, want)
		}
	}
}

// On terminals of any size the table neither wraps nor scrolls. From 80 columns on
// every row has its exit code and its restarts, and from 24 lines on what has
// crashed is there, up to 21 commands of it.
func TestTableFitsEveryTerminal(t *testing.T) {
	states := []string{"CrashLoopBackOff", "Error", "GivenUp", "Running", "Terminating", "Pending", "Completed", "Stopped"}
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 250).Draw(t, "width"), rapid.IntRange(1, 80).Draw(t, "height")
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
			r := row{
				name:     rapid.StringMatching(`[a-z.-]{1,63}|[支付服务]{1,40}`).Draw(t, "name"),
				state:    rapid.SampledFrom(states).Draw(t, "state"),
				restarts: rapid.Int64Range(0, 1e6).Draw(t, "restarts"),
				ago:      time.Duration(rapid.Int64Range(0, 1e18).Draw(t, "ago")),
				in:       time.Duration(rapid.Int64Range(0, 1e14).Draw(t, "in")),
				exit:     rapid.SampledFrom([]string{"-", "0", "1", "255", "137 (killed)", "139 (segmentation fault)"}).Draw(t, "exit"),
			}
			if r.state == "CrashLoopBackOff" {
				r.next = time.Unix(1e9, 0)
			}
			return r
		}), 1, 100).Draw(t, "rows")
		before := slices.Clone(rows)
		lines := fitTable(rows, width, height)
		if len(lines) > max(height-1, 1) {
			t.Fatalf("%d lines on a terminal of %d", len(lines), height)
		}
		for _, line := range lines {
			if terminal.Width(line.text) > max(width-1, 1) {
				t.Fatalf("%q is wider than a terminal of %d columns", line.text, width)
			}
		}
		if !slices.Equal(rows, before) {
			t.Fatal("the rows were put into another order")
		}
		slices.SortStableFunc(rows, func(a, b row) int { return a.outcome().rank - b.outcome().rank })
		if text := tableText(rows, width, height); width >= 24 && height >= 24 && rows[0].state == "CrashLoopBackOff" && !strings.Contains(text, " in "+terminal.Wait(rows[0].in)) && rows[0].in > 0 {
			t.Fatalf("%d columns lose the next start:\n%s", width, text)
		}
		if width < 80 || height < 24 {
			return
		}
		for i, line := range lines[1:min(len(lines), len(rows)+1)] {
			if strings.Contains(line.text, " commands") {
				break
			}
			cells := strings.Fields(line.text)
			code, _, _ := strings.Cut(rows[i].exit, " ")
			if cells[1] != rows[i].state || cells[2] != fmt.Sprint(rows[i].restarts) || !strings.Contains(" "+strings.Join(cells[3:], " ")+" ", " "+code+" ") {
				t.Fatalf("%q is not row %+v", line.text, rows[i])
			}
		}
	})
}

// Where each change is a line, the delays of a kubelet do not move the columns.
func TestDelaysKeepTheColumns(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s := newScreen(null, null, nil)
	exit := strings.Index(s.line("TIME", header), "EXIT")
	for _, in := range []time.Duration{998 * time.Millisecond, 10 * time.Second, 80 * time.Second, 160 * time.Second, 300 * time.Second} {
		r := row{name: "a", state: "CrashLoopBackOff", restarts: 10, ago: 10 * time.Second, next: time.Now(), in: in, exit: "E"}
		if line := s.line(timestamp, r.cells(everything)); strings.Index(line, " E") != exit-1 {
			t.Errorf("the exit code is not in column %d: %s", exit, line)
		}
	}
}
