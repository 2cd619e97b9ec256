package differences

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"
)

var record = flag.Bool("record", false, "write the recorded restart delays anew")

// delayCase is the input of a recorded case of restart delays.
type delayCase struct {
	kind             string
	base, max, reset time.Duration // reset is of crash loops only
	runs             []time.Duration
}

const recordedDelays = "../../testdata/vectors/restartdelay.json"

// TestRestartDelaysStandAsRecorded checks that the file of restart delays holds the
// delays of client-go's Backoff. With -record it writes the file.
func TestRestartDelaysStandAsRecorded(t *testing.T) {
	text := recordDelays(delayCases())
	if *record {
		if err := os.WriteFile(recordedDelays, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stands, err := os.ReadFile(recordedDelays)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stands, text) {
		t.Errorf("%s is not what client-go's Backoff does; write it with -record and see the difference", recordedDelays)
	}
}

func delayCases() []delayCase {
	const (
		ms = time.Millisecond
		s  = time.Second
		m  = time.Minute
	)
	same := func(n int, run time.Duration) (runs []time.Duration) {
		for range n {
			runs = append(runs, run)
		}
		return runs
	}
	runs := func(all ...time.Duration) []time.Duration { return all }
	return []delayCase{
		// The kubelet's settings.
		{"crashloop", 10 * s, 5 * m, 10 * m, same(1, 1*s)},
		{"crashloop", 10 * s, 5 * m, 10 * m, same(9, 1*s)},
		{"crashloop", 10 * s, 5 * m, 10 * m, same(9, 0)},
		{"crashloop", 10 * s, 5 * m, 10 * m, same(40, 50*ms)},
		{"crashloop", 10 * s, 5 * m, 10 * m, same(9, 5*m)},
		{"crashloop", 10 * s, 5 * m, 10 * m, runs(1*s, 1*s, 1*s, 10*m-ms, 1*s, 1*s)},
		{"crashloop", 10 * s, 5 * m, 10 * m, runs(1*s, 1*s, 1*s, 10*m, 1*s, 1*s)},
		{"crashloop", 10 * s, 5 * m, 10 * m, runs(1*s, 1*s, 1*s, 10*m+ms, 1*s, 1*s)},
		{"crashloop", 10 * s, 5 * m, 10 * m, same(4, 11*m)},
		{"crashloop", 10 * s, 5 * m, 10 * m, runs(time.Hour, 1*s, 2*s, 3*s, time.Hour, 4*s, 5*s)},
		// The reduced curve of KEP-4603, and maximums that no doubling meets.
		{"crashloop", 1 * s, 1 * m, 10 * m, same(10, 2*s)},
		{"crashloop", 10 * s, 25 * s, 10 * m, same(5, 1*s)},
		{"crashloop", 1 * s, 1 * s, 10 * m, same(5, 1*s)},
		// Settings of other systems: delays of 100ms up to 1m, and a constant one.
		{"crashloop", 100 * ms, 1 * m, 10 * s, same(13, 50*ms)},
		{"crashloop", 100 * ms, 1 * m, 10 * s, runs(1*s, 1*s, 1*s, 10*s-ms, 1*s)},
		{"crashloop", 100 * ms, 1 * m, 10 * s, runs(1*s, 1*s, 1*s, 10*s, 1*s)},
		{"crashloop", 100 * ms, 1 * m, 10 * s, runs(1*s, 1*s, 1*s, 10*s+ms, 1*s)},
		{"crashloop", 15 * s, 15 * s, 30 * m, same(6, 1*s)},

		{"retry", 10 * s, 5 * m, 0, same(1, 0)},
		{"retry", 10 * s, 5 * m, 0, same(9, 0)},
		{"retry", 10 * s, 5 * m, 0, same(9, 3*s)},
		{"retry", 10 * s, 10 * m, 0, same(9, 1*s)},
		{"retry", 1 * s, 1 * m, 0, same(10, 2*s)},
		{"retry", 10 * s, 25 * s, 0, same(5, 1*s)},
		{"retry", 15 * s, 15 * s, 0, same(6, 1*s)},
		{"retry", 100 * ms, 1 * m, 0, same(13, 50*ms)},
		{"retry", 100 * ms, 1 * m, 0, same(40, 0)},
		// The time since the last failure counts, which is a delay and an attempt.
		{"retry", 10 * s, 5 * m, 0, runs(1*s, 1*s, 10*m-20*s-ms, 1*s, 1*s)},
		{"retry", 10 * s, 5 * m, 0, runs(1*s, 1*s, 10*m-20*s, 1*s, 1*s)},
		{"retry", 10 * s, 5 * m, 0, runs(1*s, 1*s, 10*m-20*s+ms, 1*s, 1*s)},
		{"retry", 10 * s, 5 * m, 0, append(same(8, 0), 5*m, 5*m+ms, 0, 0)},
		{"retry", 10 * s, 5 * m, 0, runs(0, time.Hour, 0, time.Hour, 0)},
	}
}

// recordDelays returns the file of the cases, with one case on each line.
func recordDelays(cases []delayCase) []byte {
	line := func(v any) string { return string(must(json.Marshal(v))) }
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"source":%s,"about":%s,"count":%d,"cases":[`+"\n",
		line("k8s.io/client-go v0.37.2 (Apache-2.0): the delays of flowcontrol.Backoff under a fake clock"),
		line("delays before the restarts of a crashing container, and before the retries of a failing call"), len(cases))
	number := map[string]int{}
	for i, c := range cases {
		number[c.kind]++
		fields := map[string]any{
			"id": fmt.Sprintf("del-%c-%02d", c.kind[0], number[c.kind]), "origin": "probe", "kind": c.kind,
			"base_ms": c.base.Milliseconds(), "max_ms": c.max.Milliseconds(), "runs_ms": milliseconds(c.runs),
			"want": map[string]any{"delays_ms": milliseconds(c.delays())},
		}
		if c.kind == "crashloop" {
			fields["reset_ms"] = c.reset.Milliseconds()
		}
		b.WriteString(line(fields))
		if i < len(cases)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

func (c delayCase) delays() []time.Duration {
	if c.kind == "crashloop" {
		return crashLoopDelays(c.base, c.max, c.reset, c.runs)
	}
	return retryDelays(c.base, c.max, c.runs)
}

// crashLoopDelays returns the delay after each run of a container, by client-go's
// Backoff, used and set up as the kubelet does (doBackOff in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go, and crashLoopBackOff in
// pkg/kubelet/kubelet.go).
func crashLoopDelays(base, max, reset time.Duration, runs []time.Duration) (delays []time.Duration) {
	const key = "container"
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	backoff := flowcontrol.NewFakeBackOff(base, max, clock)
	backoff.HasExpiredFunc = func(event, last time.Time, _ time.Duration) bool { return event.Sub(last) > reset }
	for _, run := range runs {
		clock.Step(run)
		finished := clock.Now()
		if backoff.IsInBackOffSince(key, finished) {
			clock.Step(backoff.Get(key))
		}
		if backoff.IsInBackOffSince(key, finished) {
			panic("still in backoff when the delay is over")
		}
		backoff.Next(key, finished)
		delays = append(delays, clock.Since(finished))
	}
	return delays
}

// retryDelays returns the delay after each failed attempt, by client-go's Backoff, used
// as the kubelet does for pulling images (pkg/kubelet/images/image_manager.go).
func retryDelays(base, max time.Duration, attempts []time.Duration) (delays []time.Duration) {
	const key = "image"
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	backoff := flowcontrol.NewFakeBackOff(base, max, clock)
	for _, took := range attempts {
		clock.Step(took)
		failed := clock.Now()
		backoff.Next(key, failed)
		clock.Step(backoff.Get(key))
		if backoff.IsInBackOffSinceUpdate(key, clock.Now()) {
			panic("still in backoff when the delay is over")
		}
		delays = append(delays, clock.Since(failed))
	}
	return delays
}

// milliseconds returns the delays in milliseconds.
func milliseconds(all []time.Duration) []int64 {
	ms := []int64{}
	for _, d := range all {
		ms = append(ms, d.Milliseconds())
	}
	return ms
}
