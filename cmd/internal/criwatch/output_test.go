package criwatch

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/screen"
	"github.com/restartkit/restart/pleg"
)

// someLines are one of each kind.
func someLines() []line {
	t0 := time.Date(2026, 5, 4, 13, 2, 1, 500_000_000, time.UTC)
	meta := &cri.PodSandboxMetadata{Namespace: "default", Name: "web-0", Uid: "u0", Attempt: 1}
	pod, app := "0123456789abcdef", "fedcba9876543210"
	died := func(code int32, reason string, known time.Time) line {
		return line{
			at: t0, event: pleg.ContainerDied, pod: pod, meta: meta, container: app, name: "app", attempt: 3,
			happened: t0.Add(-20 * time.Millisecond), exit: &pleg.ExitDetails{Code: code, Reason: reason}, source: pleg.ExitShown, eventTime: known,
		}
	}
	before := died(0, "Completed", time.Time{})
	before.before, before.happened = true, t0.Add(-48*time.Hour)
	unknown := died(0, "", time.Time{})
	unknown.exit, unknown.happened, unknown.name, unknown.source, unknown.lost = nil, time.Time{}, "", pleg.ExitInferred, 7
	return []line{
		{at: t0, event: pleg.ContainerStarted, pod: pod, meta: meta, container: pod, happened: t0.Add(-time.Millisecond)},
		{at: t0, event: pleg.ContainerStarted, pod: pod, meta: meta, container: app, name: "app", attempt: 3},
		died(137, "OOMKilled", t0.Add(-1500*time.Microsecond)),
		died(0, "Completed", time.Time{}),
		died(1, "", time.Time{}),
		before,
		unknown,
		{at: t0, event: pleg.ContainerRemoved, pod: pod, container: app},
	}
}

func TestTextLineOfEveryEvent(t *testing.T) {
	want := strings.TrimLeft(`
13:02:01.500  ContainerStarted  default/web-0                 sandbox         at 13:02:01.499 (1.0 ms ago)
13:02:01.500  ContainerStarted  default/web-0                 app/3
13:02:01.500  ContainerDied     default/web-0                 app/3           exit 137 OOMKilled at 13:02:01.480 (20.0 ms ago, its event 1.5 ms)
13:02:01.500  ContainerDied     default/web-0                 app/3           exit 0 at 13:02:01.480 (20.0 ms ago)
13:02:01.500  ContainerDied     default/web-0                 app/3           exit 1 at 13:02:01.480 (20.0 ms ago)
13:02:01.500  ContainerDied     default/web-0                 app/3           exit 0 at 2026-05-02 13:02:01
13:02:01.500  ContainerDied     default/web-0                 fedcba9876543   exit code not known (7 exits before it are lost)
13:02:01.500  ContainerRemoved  0123456789abc                 fedcba9876543
`, "\n")
	var out bytes.Buffer
	for _, l := range someLines() {
		if err := newWriter("text", &out, false).line(l); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiedContainersAreColoured(t *testing.T) {
	colours := map[int]string{2: "\x1b[31m", 3: "\x1b[32m", 4: "\x1b[31m", 5: "\x1b[32m", 6: "\x1b[31m"}
	for i, l := range someLines() {
		var out bytes.Buffer
		_ = newWriter("text", &out, true).line(l)
		if got := out.String(); !strings.HasPrefix(got, colours[i]) || strings.Contains(got, "\x1b") != (colours[i] != "") || colours[i] != "" && !strings.HasSuffix(got, "\x1b[0m\n") {
			t.Errorf("line %d: %q", i, got)
		}
	}
}

func TestJSONLineOfEveryEvent(t *testing.T) {
	const pod = `"pod":{"id":"0123456789abcdef","namespace":"default","name":"web-0","uid":"u0","attempt":1}`
	const app = `"container":{"id":"fedcba9876543210","name":"app","attempt":3}`
	const head = `{"time":"2026-05-04T13:02:01.5Z","type":`
	want := head + strings.Join([]string{
		`"ContainerStarted",` + pod + `,"container":{"id":"0123456789abcdef","sandbox":true,"attempt":0},"at":"2026-05-04T13:02:01.499Z","latency":0.001}`,
		`"ContainerStarted",` + pod + `,` + app + `}`,
		`"ContainerDied",` + pod + `,` + app + `,"exit":{"code":137,"reason":"OOMKilled"},"at":"2026-05-04T13:02:01.48Z","latency":0.02,"sinceEvent":0.0015,"source":"shown"}`,
		`"ContainerDied",` + pod + `,` + app + `,"exit":{"code":0,"reason":"Completed"},"at":"2026-05-04T13:02:01.48Z","latency":0.02,"source":"shown"}`,
		`"ContainerDied",` + pod + `,` + app + `,"exit":{"code":1},"at":"2026-05-04T13:02:01.48Z","latency":0.02,"source":"shown"}`,
		`"ContainerDied",` + pod + `,` + app + `,"exit":{"code":0,"reason":"Completed"},"at":"2026-05-02T13:02:01.5Z","before":true,"source":"shown"}`,
		`"ContainerDied",` + pod + `,"container":{"id":"fedcba9876543210","attempt":3},"source":"inferred","lost":7}`,
		`"ContainerRemoved","pod":{"id":"0123456789abcdef","attempt":0},"container":{"id":"fedcba9876543210","attempt":0}}`,
	}, "\n"+head) + "\n"
	var out bytes.Buffer
	for _, l := range someLines() {
		if err := newWriter("json", &out, true).line(l); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A runtime's names cannot steer the terminal or add a line.
func TestNamesOfARuntimeCannotSteerTheTerminal(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;title\a\r\nforged\u009b2J\u202e\x7f\xff"
	meta := &cri.PodSandboxMetadata{Namespace: evil, Name: evil, Uid: evil}
	lines := []line{
		{event: pleg.ContainerDied, pod: "p", meta: meta, container: evil, name: evil, exit: &pleg.ExitDetails{Reason: evil}},
		{event: pleg.ContainerStarted, pod: evil, container: evil + evil},
	}
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		w := newWriter(format, &out, false)
		for _, l := range lines {
			if err := w.line(l); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.stats(counters{healthy: errors.New(evil)}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !printable(got) || strings.Contains(got, "\nforged") {
			t.Errorf("%s: %q", format, got)
		}
	}
}

// printable reports whether text consists of lines that only print.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && human.Unsafe(r) })
}

// A name that is wider than its column moves the lines after it, too.
func TestLinesStayAligned(t *testing.T) {
	var out bytes.Buffer
	w := newWriter("text", &out, false)
	for _, name := range []string{"a", "支付服务工作进程支付服务工作进程-0", "b"} {
		l := line{event: pleg.ContainerStarted, pod: "p", meta: &cri.PodSandboxMetadata{Namespace: "default", Name: name}, container: "c", name: "app"}
		if err := w.line(l); err != nil {
			t.Fatal(err)
		}
	}
	var at []int
	for text := range strings.Lines(out.String()) {
		before, _, _ := strings.Cut(text, "app/0")
		at = append(at, screen.Width(before))
	}
	if at[0] >= at[1] || at[1] != at[2] {
		t.Errorf("the containers are at columns %v:\n%s", at, &out)
	}
}

func TestCountersHaveTheNamesOfMetrics(t *testing.T) {
	c := counters{at: time.Date(2026, 5, 4, 13, 2, 1, 0, time.UTC), healthy: errors.New("sick")}
	c.stats = pleg.Stats{
		Streaming: true, Connections: 1, ConnectionErrors: 2, EventsReceived: 3, MissedEvents: 4,
		SkewedEvents: 5, UnseenContainers: 6, StaleAnswers: 7, MergedEvents: 8,
		EventLatency: pleg.Histogram{Counts: [15]uint64{1: 98, 5: 2}, Sum: .125},
	}
	for i := range 200 {
		c.late.add(time.Duration(i+1) * time.Millisecond)
	}
	want := strings.TrimLeft(`
13:02:01.000  streaming, unhealthy: sick
    evented_pleg_connection_success_count    1
    evented_pleg_connection_error_count      2
    evented_pleg_connection_latency_seconds  100, mean 0.0013 s, p50 ≤ 0.001 s, p99 ≤ 0.025 s
    evented_pleg_notifications_received      3
    kube_pod_missed_events                   4
    pleg_relist_duration_seconds             0
    pleg_relist_interval_seconds             0
    events older than an hour                5
    containers never seen                    6
    stale answers                            7
    events merged                            8
    exit to printed line                     200, p50 100.0 ms, p99 198.0 ms
    exit's event to printed line             0
`, "\n")
	var out bytes.Buffer
	if err := newWriter("text", &out, false).stats(c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	if err := newWriter("json", &out, false).stats(c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"type":"Stats"`, `"unhealthy":"sick"`, `"MissedEvents":4`, `"exitLatency":{"count":200,"p50":0.1,"p99":0.198}`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, &out)
		}
	}
}

func TestBoundIsThatOfTheQuantilesBucket(t *testing.T) {
	for _, x := range []struct {
		counts [15]uint64
		q      float64
		want   string
	}{
		{[15]uint64{0: 1}, .5, "≤ 0.0005 s"},
		{[15]uint64{0: 1, 13: 1}, .5, "≤ 0.0005 s"},
		{[15]uint64{0: 1, 13: 1}, .51, "≤ 10 s"},
		{[15]uint64{14: 1}, .5, "> 10 s"},
	} {
		if got := bound(pleg.Histogram{Counts: x.counts}, x.q); got != x.want {
			t.Errorf("bound(%v, %g) = %s, want %s", x.counts, x.q, got, x.want)
		}
	}
}

// ceil is the smallest number of n things that is at least the fraction q.
func ceil(q float64, n int) int {
	k := 0
	for float64(k) < q*float64(n) {
		k++
	}
	return k
}
