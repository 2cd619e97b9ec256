//go:build long

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// brief is a policy with short delays.
const brief = "containers: [{curve: {initial: 30ms, max: 30ms}}]"

// A loop is criwatch -restart within the test.
type loop struct {
	out, log logBuffer
	stop     func() (code int)
}

// startLoop runs criwatch -restart until stop, or the end of the test.
func startLoop(t testing.TB, f *fakeRuntime, policy string, args ...string) *loop {
	t.Helper()
	l := &loop{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	// On a busy machine the runtime may take more than 20ms to open its stream: what it does
	// meanwhile is found by the next full list.
	args = append([]string{"-endpoint", f.endpoint(), "-format", "json", "-relist-period", "20ms", "-evented-period", "2s", "-restart", policyOf(t, policy)}, args...)
	go func() { ended <- criwatch(ctx, args, &l.out, &l.log, false) }()
	code := -1
	l.stop = func() int {
		cancel()
		if code < 0 {
			code = <-ended
		}
		return code
	}
	t.Cleanup(func() {
		l.stop()
		if t.Failed() {
			t.Logf("%s%s", &l.out, &l.log)
		}
	})
	return l
}

// rows returns what was printed of a container.
func (l *loop) rows(t testing.TB, name string) (list []jsonRow) {
	t.Helper()
	for text := range strings.Lines(l.out.String()) {
		var r jsonRow
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			if strings.HasSuffix(text, "\n") {
				t.Fatalf("%q: %v", text, err)
			}
			continue
		}
		if r.Name == name {
			list = append(list, r)
		}
	}
	return list
}

// says waits until the last row of a container has a state.
func (l *loop) says(t testing.TB, name, state string) jsonRow {
	t.Helper()
	var last jsonRow
	programtest.Eventually(t, name+" is "+state, func() bool {
		if rows := l.rows(t, name); len(rows) > 0 {
			last = rows[len(rows)-1]
		}
		return last.State == state
	})
	return last
}

// An exited container is started again: the next attempt in the same sandbox, from the
// old one's configuration, not before its delay. One dead attempt stays.
func TestExitedContainerIsStartedAgain(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	f.run("p", containerConfig("c"))
	l := startLoop(t, f, brief)
	l.says(t, "c", "Running")
	for n := range uint32(4) {
		id, _ := f.attempt("p", "c", n)
		f.exit(id, int32(n))
		exited := time.Unix(0, f.container(id).status.FinishedAt)
		programtest.Eventually(t, "the next attempt runs", func() bool { return f.runs("p", "c", n+1) })
		next, _ := f.attempt("p", "c", n+1)
		if gap := time.Unix(0, f.container(next).status.StartedAt).Sub(exited); gap < 30*time.Millisecond {
			t.Errorf("attempt %d began %v after the exit", n+1, gap)
		}
		want := containerConfig("c")
		want.Metadata.Attempt, want.LogPath, want.Annotations[restartCount] = n+1, fmt.Sprintf("c/%d.log", n+1), fmt.Sprint(n+1)
		if diff := cmp.Diff(want, f.container(next).config, protocmp.Transform()); diff != "" {
			t.Errorf("attempt %d is made from (-want +got):\n%s", n+1, diff)
		}
		programtest.Eventually(t, "one dead attempt stays", func() bool { return slices.Equal(f.all("p", "c"), []uint32{n, n + 1}) })
	}
	if code := l.stop(); code != exitEnded {
		t.Errorf("exit code %d", code)
	}
	var states []string
	for _, r := range l.rows(t, "c") {
		if r.State != "Running" { // which a quick exit may overtake
			states = append(states, fmt.Sprint(r.State, " ", r.Restarts))
		}
	}
	var want []string
	for n := range 4 {
		want = append(want, fmt.Sprint("CrashLoopBackOff ", n))
	}
	if diff := cmp.Diff(want, slices.Compact(states)); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	if list := f.doubled(); list != nil {
		t.Error(list)
	}
}

// startLoopProcess runs criwatch -restart as a process of its own.
func startLoopProcess(t *testing.T, f *fakeRuntime, policy, state string) *programtest.Program {
	t.Helper()
	p := programtest.New(t, "-endpoint", f.endpoint(), "-format", "json", "-relist-period", "20ms", "-evented-period", "2s", "-restart", policy, "-state", state)
	p.Start()
	return p
}

// criwatch is killed with -9 before and after each of its calls and each write of its
// state. The next one acts once on each exit.
func TestKilledAtAnyStepActsOnceOnEachExit(t *testing.T) {
	for _, when := range []string{
		"before CreateContainer", "after CreateContainer", "before StartContainer", "after StartContainer",
		"before RemoveContainer", "before ListContainers", "before PodSandboxStatus", "before ContainerStatus",
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.runPod("p")
			f.run("p", containerConfig("c"))
			policy, state := policyOf(t, brief), filepath.Join(t.TempDir(), "state")
			call := strings.Fields(when)[1]
			for n := range uint32(3) { // the third removes one
				p := startLoopProcess(t, f, policy, state)
				programtest.Eventually(t, "it looks", func() bool { return strings.Contains(p.Out.String(), `"name":"c"`) })
				killed := make(chan struct{})
				kill := func() {
					f.with(func() { delete(f.hooks, call); delete(f.after, call) })
					p.Kill()
					close(killed)
				}
				f.with(func() {
					if strings.HasPrefix(when, "before") {
						f.hooks[call] = kill
					} else {
						f.after[call] = kill
					}
				})
				id, _ := f.attempt("p", "c", n)
				f.exit(id, 1)
				if n < 2 && call == "RemoveContainer" { // there is nothing to remove yet
					programtest.Eventually(t, "the next attempt runs", func() bool { return f.runs("p", "c", n+1) })
					f.with(func() { delete(f.hooks, call) })
					p.Kill()
					continue
				}
				<-killed
				p = startLoopProcess(t, f, policy, state)
				programtest.Eventually(t, "the next attempt runs", func() bool { return f.runs("p", "c", n+1) })
				p.Kill()
			}
			if list := f.doubled(); list != nil {
				t.Error(list)
			}
			if id, _ := f.attempt("p", "c", 4); id != "" {
				t.Error("there is one attempt too many")
			}
		})
	}
}

// criwatch restarts containers that exited while it was away, once, after the rest of
// their wait, and continues their failures in a row.
func TestStateGoesOnAfterAKill(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	for _, name := range []string{"waits", "away"} {
		f.run("p", containerConfig(name))
	}
	policy := policyOf(t, "containers: [{curve: {initial: 400ms, max: 60s}}]")
	state := filepath.Join(t.TempDir(), "state")
	p := startLoopProcess(t, f, policy, state)
	p.Eventually("it looks", func() bool { return strings.Contains(p.Out.String(), `"name":"waits"`) })
	id, _ := f.attempt("p", "waits", 0)
	f.exit(id, 1)
	p.Eventually("the decision is saved", func() bool {
		text, err := os.ReadFile(filepath.Join(state, "criwatch.json"))
		return err == nil && bytes.Contains(text, []byte(`"ns/name-p/uid-p/waits"`))
	})
	p.Kill()
	away, _ := f.attempt("p", "away", 0)
	f.exit(away, 1)
	exits := map[string]time.Time{"waits": time.Unix(0, f.container(id).status.FinishedAt), "away": time.Unix(0, f.container(away).status.FinishedAt)}
	p = startLoopProcess(t, f, policy, state)
	for name, exited := range exits {
		p.Eventually("the next attempt of "+name+" runs", func() bool { return f.runs("p", name, 1) })
		next, _ := f.attempt("p", name, 1)
		if gap := time.Unix(0, f.container(next).status.StartedAt).Sub(exited); gap < 400*time.Millisecond {
			t.Errorf("%s began %v after the exit", name, gap)
		}
	}
	next, _ := f.attempt("p", "waits", 1)
	f.exit(next, 1)
	p.Eventually("the failures go on", func() bool { return strings.Contains(p.Out.String(), `"failures":2`) })
	p.Signal(syscall.SIGTERM)
	p.Done(exitEnded)
	if list := f.doubled(); list != nil {
		t.Error(list)
	}
}

// A container that somebody else has restarted is left alone until it exits again.
func TestRestartByOthersIsNotDoubled(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.runPod("p")
	f.run("p", containerConfig("c"))
	l := startLoop(t, f, "containers: [{curve: {initial: 3s, max: 3s}}]")
	l.says(t, "c", "Running")
	id, _ := f.attempt("p", "c", 0)
	f.exit(id, 1)
	l.says(t, "c", "CrashLoopBackOff")
	f.run("p", nextConfig(f.container(id).config))
	if r := l.says(t, "c", "Running"); r.Restarts != 1 {
		t.Errorf("%+v", r)
	}
	next, _ := f.attempt("p", "c", 1)
	time.Sleep(3200 * time.Millisecond) // the wait of the first attempt is over
	if got := f.all("p", "c"); !slices.Equal(got, []uint32{0, 1}) {
		t.Errorf("attempts %v", got)
	}
	f.exit(next, 1)
	programtest.Eventually(t, "the next attempt runs", func() bool { return f.runs("p", "c", 2) })
}

// The runtime is away for a while, and containers exit meanwhile. criwatch keeps
// trying, and restarts all of them when it is back.
func TestRuntimeThatWasAwayMissesNoExit(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.runPod("p")
	names := []string{"before", "during", "stays"}
	for _, name := range names {
		f.run("p", containerConfig(name))
	}
	l := startLoop(t, f, "containers: [{curve: {initial: 3s, max: 3s}}]")
	l.says(t, "stays", "Running")
	id, _ := f.attempt("p", "before", 0)
	f.exit(id, 1)
	l.says(t, "before", "CrashLoopBackOff")
	f.down()
	id, _ = f.attempt("p", "during", 0)
	f.exitQuietly(id, 1)
	l.says(t, "before", "RuntimeUnavailable")
	time.Sleep(time.Second)
	f.up()
	for _, name := range names[:2] {
		programtest.Eventually(t, "the next attempt runs", func() bool { return f.runs("p", name, 1) })
	}
	if list := f.doubled(); list != nil || l.stop() != exitEnded || !f.runs("p", "stays", 0) {
		t.Error(list)
	}
}

// Exits as a runtime should not report them are exits all the same.
func TestOddExitsAreDecidedOn(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	odd := map[string]func(*cri.ContainerStatus){
		"no-time": func(s *cri.ContainerStatus) { s.FinishedAt, s.StartedAt = 0, 0 },
		"future":  func(s *cri.ContainerStatus) { s.FinishedAt = time.Now().Add(24 * time.Hour).UnixNano() },
		"seconds": func(s *cri.ContainerStatus) { s.FinishedAt = time.Now().Unix() },
		"oom":     func(s *cri.ContainerStatus) { s.ExitCode, s.Reason = 0, "OOMKilled" },
	}
	for name := range odd {
		f.run("p", containerConfig(name))
	}
	l := startLoop(t, f, "containers: [{curve: {initial: 100ms, max: 100ms}, restartPolicy: OnFailure}]")
	for name := range odd {
		l.says(t, name, "Running")
	}
	begun := time.Now()
	for name, change := range odd {
		id, _ := f.attempt("p", name, 0)
		f.exitQuietly(id, 1, change)
		f.send("p", id, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
	}
	for name := range odd {
		if name == "oom" { // as for a kubelet, the exit code decides
			if r := l.says(t, name, "OOMKilled"); r.Exit == nil || r.Exit.Code != 0 || !r.Next.IsZero() {
				t.Errorf("%+v", r)
			}
			continue
		}
		programtest.Eventually(t, name+" runs again", func() bool { return f.runs("p", name, 1) })
	}
	for _, name := range []string{"no-time", "future"} {
		next, _ := f.attempt("p", name, 1)
		if gap := time.Unix(0, f.container(next).status.StartedAt).Sub(begun); gap < 100*time.Millisecond {
			t.Errorf("%s began again after %v", name, gap)
		}
	}
	if f.runs("p", "oom", 1) {
		t.Error("a success was restarted under OnFailure")
	}
}

// A container of which the runtime has lost sight is stopped before its next attempt
// begins, before its exit is known and after that.
func TestContainerInAnUnknownStateIsStoppedFirst(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.runPod("p")
	unknown := func(s *cri.ContainerStatus) { s.State = cri.ContainerState_CONTAINER_UNKNOWN }
	for _, name := range []string{"runs", "ended"} {
		f.run("p", containerConfig(name))
	}
	l := startLoop(t, f, "containers: [{curve: {initial: 3s, max: 3s}}]", "-poll")
	l.says(t, "ended", "Running")
	f.change("p-runs-0", unknown)
	f.exit("p-ended-0", 1)
	l.says(t, "ended", "CrashLoopBackOff")
	f.change("p-ended-0", unknown)
	for _, name := range []string{"runs", "ended"} {
		programtest.Eventually(t, name+" runs again", func() bool { return f.runs("p", name, 1) })
		if _, state := f.attempt("p", name, 0); state != cri.ContainerState_CONTAINER_EXITED {
			t.Errorf("%s: the attempt before is %v", name, state)
		}
	}
	time.Sleep(100 * time.Millisecond)
	if n := f.count("StopContainer"); n != 2 || f.doubled() != nil || !f.runs("p", "runs", 1) {
		t.Errorf("%d were stopped, %v", n, f.doubled())
	}
}

// A container that cannot be restarted is reported once, and tried again if that may
// help.
func TestContainerThatCannotBeStartedIsReported(t *testing.T) {
	f := newFake(t)
	for _, pod := range []string{"lost", "gone", "bad"} {
		f.runPod(pod)
		f.run(pod, containerConfig(pod))
	}
	l := startLoop(t, f, brief)
	for _, pod := range []string{"lost", "gone", "bad"} {
		l.says(t, pod, "Running")
	}
	f.with(func() { f.sandboxes["lost"].State = cri.PodSandboxState_SANDBOX_NOTREADY })
	f.exit("lost-lost-0", 1)
	l.says(t, "lost", "SandboxNotReady")
	f.with(func() { f.sandboxes["lost"].State = cri.PodSandboxState_SANDBOX_READY })
	programtest.Eventually(t, "the next attempt runs", func() bool { return f.runs("lost", "lost", 1) })
	f.removePod("gone")
	l.says(t, "gone", "Removed")
	f.with(func() { f.failing["CreateContainer"] = grpcstatus.Error(codes.NotFound, "no such image") })
	f.exit("bad-bad-0", 1)
	l.says(t, "bad", "CreateContainerError")
	programtest.Eventually(t, "it tries again", func() bool { return f.count("CreateContainer") > 5 })
	if n := l.log.count("no such image"); n != 1 {
		t.Errorf("the reason was logged %d times", n)
	}
	f.with(func() { delete(f.failing, "CreateContainer") })
	programtest.Eventually(t, "the next attempt runs", func() bool { return f.runs("bad", "bad", 1) })

	f.with(func() { f.secretive = true })
	f.exit("bad-bad-1", 1)
	l.says(t, "bad", "NoConfig")
}

// With -explain standard error says after each exit what follows from it and why, once,
// also when criwatch begins again.
func TestExitsOfContainersAreExplained(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	f.run("p", containerConfig("c"))
	policy := `
containers:
- restartPolicy: Never
  restartPolicyRules:
  - {name: busy, action: Restart, exitCodes: {operator: In, values: [75]}, delay: {initial: 1h, max: 1h}}
  - {action: Restart, exitCodes: {operator: In, values: [42]}}
  curve: {initial: 10ms, max: 10ms}
`
	dir := filepath.Join(t.TempDir(), "state")
	l := startLoop(t, f, policy, "-explain", "-state", dir)
	l.says(t, "c", "Running")
	f.exit("p-c-0", 42)
	programtest.Eventually(t, "c runs again", func() bool { return f.runs("p", "c", 1) })
	l.says(t, "c", "Running")
	f.exit("p-c-1", 75)
	l.says(t, "c", "CrashLoopBackOff")
	l.stop()
	for _, line := range []string{
		"exit code 42 (Error) is In [42] of restartPolicyRules[1]: restarted after 10ms (failure 1 in a row)",
		"  rule 0 busy (Restart): no match: exit code 42 is not in [75]",
		"  rule 1 (Restart): matched: exit code 42 is in [42]",
		"exit code 75 (Error) meets rule busy: restarted after 1h0m0s (the rule's failure 1 in a row)",
		"  rule 0 busy (Restart): matched: exit code 75 is in [75]",
		"  rule 1 (Restart): no match: not reached, rule busy decided",
	} {
		if n := l.log.count("\ncriwatch: ns/name-p/c: " + line + "\n"); n != 1 {
			t.Errorf("%d times: %s", n, line)
		}
	}
	if n := l.log.count("criwatch: "); n != 6 {
		t.Errorf("%d lines", n)
	}
	l = startLoop(t, f, policy, "-explain", "-state", dir)
	l.says(t, "c", "CrashLoopBackOff")
	if l.stop(); l.log.count("exit code") > 0 {
		t.Errorf("printed again\n%s", &l.log)
	}
}

// Containers restart even while the output and the log are unread, as in a pager. When
// the reader is gone, criwatch ends.
func TestUnreadOutputStopsNoRestart(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	f.run("p", containerConfig("c"))
	p := programtest.New(t, "-endpoint", f.endpoint(), "-format", "json", "-relist-period", "20ms", "-evented-period", "2s", "-explain", "-restart", policyOf(t, "containers: [{curve: {initial: 1ms, max: 1ms}}]"))
	unread := p.Pipe()
	p.Start()
	const exits = 150 // each some 700 bytes: more than a pipe takes
	for n := range uint32(exits) {
		programtest.Eventually(t, fmt.Sprintf("attempt %d runs", n), func() bool { return f.runs("p", "c", n) })
		id, _ := f.attempt("p", "c", n)
		f.exit(id, 1)
	}
	unread.Close()
	p.Done(exitUnwritten)
	if list := f.doubled(); list != nil {
		t.Error(list)
	}
}

// A limit ends the restarts; a policy decides for the containers that it matches, the
// others are left alone.
func TestPolicyDecidesWhatIsRestarted(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	for _, name := range []string{"web-1", "job-1", "rule", "other"} {
		f.run("p", containerConfig(name))
	}
	l := startLoop(t, f, `
limit: 2
window: 1h
containers:
- {namespace: "n?", name: web-*, curve: {initial: 10ms, max: 10ms}}
- {name: job-*, restartPolicy: Never}
- name: rule
  restartPolicy: Never
  restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
  curve: {initial: 10ms, max: 10ms}
`)
	l.says(t, "rule", "Running")
	for n := range uint32(3) {
		programtest.Eventually(t, "web-1 runs", func() bool { return f.runs("p", "web-1", n) })
		id, _ := f.attempt("p", "web-1", n)
		f.exit(id, 1)
	}
	l.says(t, "web-1", "GivenUp")
	f.exit("p-job-1-0", 3)
	if r := l.says(t, "job-1", "Error"); r.Exit.Code != 3 {
		t.Errorf("%+v", r)
	}
	f.exit("p-rule-0", 42)
	programtest.Eventually(t, "rule runs", func() bool { return f.runs("p", "rule", 1) })
	f.exit("p-rule-1", 41)
	l.says(t, "rule", "Error")
	f.exit("p-other-0", 1)
	l.stop()
	if rows := l.rows(t, "other"); rows != nil {
		t.Errorf("%+v", rows)
	}
}

// Starts keep to the rate where all turns were missed while the runtime was stuck, and
// when criwatch ends in the middle of them and begins again.
func TestRateHoldsWhateverDelaysTheStarts(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.runPod("p")
	const containers, rate, burst = 40, 40, 2
	var names []string
	for i := range containers {
		names = append(names, fmt.Sprint("c", i))
		f.run("p", containerConfig(names[i]))
	}
	policy := fmt.Sprintf("rate: %d\nburst: %d\ncontainers: [{curve: {initial: 5s, max: 5s}}]", rate, burst)
	state := filepath.Join(t.TempDir(), "state")
	l := startLoop(t, f, policy, "-state", state)
	l.says(t, "c0", "Running")
	for _, name := range names {
		f.exit("p-"+name+"-0", 1)
	}
	l.says(t, names[containers-1], "CrashLoopBackOff")
	var starts []time.Time
	free := make(chan struct{})
	f.with(func() {
		f.hooks["ListContainers"] = func() { <-free }
		f.hooks["StartContainer"] = func() { f.with(func() { starts = append(starts, time.Now()) }) }
	})
	time.Sleep(6500 * time.Millisecond) // every wait and every turn is over
	begun := time.Now()
	close(free)
	programtest.Eventually(t, "half of them run", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(starts) > containers/2
	})
	l.stop()
	startLoop(t, f, policy, "-state", state)
	for _, name := range names {
		programtest.Eventually(t, name+" runs", func() bool { return f.runs("p", name, 1) })
	}
	all := len(starts)
	starts = slices.DeleteFunc(starts, func(at time.Time) bool { return at.Before(begun) }) // before it was stuck
	for i, at := range starts {
		if took, least := at.Sub(begun), time.Duration(i+1-burst)*time.Second/rate; took < least {
			t.Errorf("start %d came after %v, must not before %v", i+1, took, least)
		}
	}
	if all > containers || f.doubled() != nil {
		t.Errorf("%d starts, %v", all, f.doubled())
	}
}

// A state of another runtime, or one that no criwatch has written, is refused with
// its reason, and left as it is.
func TestForeignStateIsRefused(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	f.run("p", containerConfig("c"))
	dir := filepath.Join(t.TempDir(), "state")
	l := startLoop(t, f, "containers: [{curve: {initial: 1h, max: 1h}}]", "-state", dir)
	l.says(t, "c", "Running")
	f.exit("p-c-0", 1)
	l.says(t, "c", "CrashLoopBackOff")
	if code := l.stop(); code != exitEnded {
		t.Fatalf("exit code %d", code)
	}
	file := filepath.Join(dir, "criwatch.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var sealed struct{ State json.RawMessage }
	if err := json.Unmarshal(text, &sealed); err != nil {
		t.Fatal(err)
	}
	good := `{"version":1,` + string(sealed.State[1:]) // which has no checksum
	for _, x := range []struct{ old, new, want string }{
		{`"runtime":"fake"`, `"runtime":"other"`, "it belongs to other on machine "},
		{`"version":1`, `"version":3`, "version is 3, this release reads up to 2"},
		{`"version":1`, `"version":2,"crc32":"0","state":{}`, "damaged or edited"},
		{`"position":{`, `"posture":{`, "position: must be given"},
		{`"run":1,`, `"run":0,`, "containers.ns/name-p/c.backoff.last.run is 0"},
		{`"failures":1,"rule"`, `"failures":-1,"rule"`, "containers.ns/name-p/c.backoff.decision.failures"},
		{`"ns/name-p/uid-p/c"`, `"c"`, "names no container"},
		{`"live":`, `"live":["x","x"],"livid":`, "position.pods[0].live[1]"},
		{`{`, `[`, "invalid character"},
	} {
		text := strings.Replace(good, x.old, x.new, 1)
		if text == good && x.old != `"live":` {
			t.Fatalf("no %s in %s", x.old, good)
		}
		if x.old == `"live":` {
			text = strings.Replace(good, `"ended":`, `"live":["x","x"],"ended":`, 1)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		code := criwatch(t.Context(), []string{"-endpoint", f.endpoint(), "-restart", policyOf(t, "{}"), "-state", dir, "-for", "1m"}, &out, &errs, false)
		if code != exitBad || !strings.Contains(errs.String(), x.want) || !strings.Contains(errs.String(), file) || out.Len() > 0 {
			t.Errorf("%s: exit code %d\n%s%s", x.new, code, &out, &errs)
		}
		if now, _ := os.ReadFile(file); string(now) != text {
			t.Errorf("%s: the state was changed", x.new)
		}
	}
}

// A state that can no longer be written is an error of its own; containers are
// restarted all the same.
func TestUnwrittenStateIsAnErrorAtTheEnd(t *testing.T) {
	f := newFake(t)
	f.runPod("p")
	f.run("p", containerConfig("c"))
	dir := filepath.Join(t.TempDir(), "state")
	l := startLoop(t, f, brief, "-state", dir)
	l.says(t, "c", "Running")
	// criwatch may be writing its first state into it.
	programtest.Eventually(t, "the folder is gone", func() bool { return os.RemoveAll(dir) == nil })
	f.exit("p-c-0", 1)
	programtest.Eventually(t, "the next attempt runs", func() bool { return f.runs("p", "c", 1) })
	l.says(t, "c", "Running")
	if code := l.stop(); code != exitUnwritten || l.log.count("level=WARN msg=-state") != 1 {
		t.Errorf("exit code %d", code)
	}
}
