package jobworld

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/internal/search"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"pgregory.net/rapid"
)

const every = " fail=2 fail9=1 evict=1 delete=1 vanish=1 suspend=1 refuse=1 unanswered=1 crash=1 oldState=1 loseState=1 takeover=1 total=4"

func newWorld(t interface{ Fatal(...any) }, job string, alter func(Controller) Controller) *World {
	j, err := ParseJob(job)
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(j, func() Controller {
		c := Controller(&Planner{Engine: jobpolicy.Engine{MaxDelay: 2 * Unit}})
		if alter != nil {
			c = alter(c)
		}
		return c
	}, 2*Unit)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var someJobs = []string{
	"backoffLimit=1 starts", "completions=2 parallelism=2 watchOnly", "indexed completions=2 parallelism=2 perIndex=1",
	"indexed completions=2 parallelism=2 success=1", "indexed completions=2 parallelism=2 perIndex=1 maxFailed=0 rule=FailIndex:code",
	"completions=2 parallelism=2 rule=Ignore:disruption",
}

// On random histories decode is the inverse of encode, the order of pods does not
// matter, and no invariant breaks.
func TestEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, rapid.SampledFrom(someJobs).Draw(t, "job")+every, nil)
		k := w.newWalker()
		s := w.start()
		for range rapid.IntRange(0, 60).Draw(t, "length") {
			text := s.encode(nil)
			var decoded state
			decoded.decode(text)
			if d := cmp.Diff(decoded, s.nameless(), cmp.AllowUnexported(state{}, pod{}, job{})); d != "" {
				t.Fatal(d)
			}
			if !s.passing {
				mixed := s
				for i := mixed.n - 1; i > 0; i-- {
					j := rapid.IntRange(0, i).Draw(t, "place")
					mixed.pods[i], mixed.pods[j] = mixed.pods[j], mixed.pods[i]
				}
				if again := mixed.encode(nil); string(again) != string(text) {
					t.Fatalf("pods in another order are another state:\n%x\n%x", text, again)
				}
			}
			steps, pass, end := k.steps(&s)
			if len(steps) == 0 {
				if !end {
					t.Fatal("a state without steps is no end")
				}
				return
			}
			step := rapid.SampledFrom(steps).Draw(t, "step")
			if err := k.take(&s, step, &pass); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The controller of package jobpolicy keeps every invariant.
func TestPlannerIsClean(t *testing.T) {
	for _, job := range []string{
		"backoffLimit=1 fail=2 delete=1 unanswered=1 crash=1 total=2",
		"completions=2 parallelism=2 backoffLimit=1 fail=2 refuse=1 crash=1 oldState=1 takeover=1 total=1",
		"indexed completions=2 parallelism=2 perIndex=0 fail=1 evict=1 vanish=1 loseState=1 suspend=1 total=1",
	} {
		w := newWorld(t, job, nil)
		r := search.Run(context.Background(), w, search.Options{Workers: 2})
		if !r.Complete || r.Ends == 0 || r.States < 500 {
			t.Errorf("%s: %+v", job, r)
		}
		if r.Broken != nil {
			t.Errorf("%s:\n%s", job, w.Tell(r))
		}
	}
}

// altered is a controller whose requests are changed before they are sent.
type altered struct {
	Controller
	// alter changes a request, or returns false to leave it out as if it were done.
	alter func(m Memory, v View, r *Request) bool
}

func (c altered) Pass(m Memory, v View, answers []Answer) Pass {
	var given []Answer // left out ones included
	for {
		p := c.Controller.Pass(m, v, given)
		if p.Request == nil {
			return p
		}
		r := *p.Request
		switch {
		case !c.alter(m, v, &r):
			given = append(given, Answer{Pod: int8(r.Pod)})
		case len(answers) == 0:
			p.Request = &r
			return p
		default:
			given, answers = append(given, answers[0]), answers[1:]
		}
	}
}

// Each invariant is broken by some controller, and the story of that replays.
func TestBrokenControllers(t *testing.T) {
	for _, tt := range []struct {
		want, job string
		alter     func(m Memory, v View, r *Request) bool
	}{
		{"a finalizer is removed before the end stands in the status", "fail=1 total=1", func(_ Memory, _ View, r *Request) bool {
			return r.Kind != WriteStatus || len(r.Status.UncountedTerminatedPods.Failed) == 0
		}},
		{"the Job ends while a pod has its finalizer", "", func(_ Memory, _ View, r *Request) bool { return r.Kind != RemoveFinalizer }},
		{"a run without further faults does not end", "", func(_ Memory, _ View, r *Request) bool {
			return r.Kind == CreatePod || r.Kind == WriteStatus && !r.Status.HasCondition("SuccessCriteriaMet")
		}},
		{"the status counts 1 failures, not 0", "", func(_ Memory, _ View, r *Request) bool {
			if r.Kind == WriteStatus {
				next := *r.Status
				next.Failed++
				r.Status = &next
			}
			return true
		}},
		{"the API server rejects the status: status.active: invalid value -1", "", func(_ Memory, _ View, r *Request) bool {
			if r.Kind == WriteStatus {
				next := *r.Status
				next.Active = -1
				r.Status = &next
			}
			return true
		}},
		{"the status changes or loses the condition FailureTarget", "backoffLimit=0 fail=1 total=1", func(_ Memory, _ View, r *Request) bool {
			if r.Kind == WriteStatus && r.Status.HasCondition("Failed") {
				next := *r.Status
				next.Conditions = nil
				r.Status = &next
			}
			return true
		}},
		{"a pod is created with 0 failures of its index, which has 1", "indexed replaceEnded perIndex=1 fail=1 total=1", func(_ Memory, _ View, r *Request) bool {
			r.Failures = 0
			return true
		}},
		{"a pod is created beside an active one of its index", "indexed completions=2 parallelism=2", func(_ Memory, _ View, r *Request) bool {
			r.Index = 0
			return true
		}},
	} {
		w := newWorld(t, tt.job, func(c Controller) Controller { return altered{c, tt.alter} })
		r := search.Run(context.Background(), w, search.Options{Workers: 2})
		if r.Broken == nil || !strings.Contains(r.Broken.Error(), tt.want) {
			t.Errorf("%q: %v, want %s\n%s", tt.job, r.Broken, tt.want, w.Tell(r))
			continue
		}
		story := w.Tell(r)
		read, err := ParseStory(story.String())
		if d := cmp.Diff(story, read); err != nil || d != "" {
			t.Errorf("%v\n%s", err, d)
		}
		if taken, broken, err := w.Replay(read); err != nil || taken != len(story.Steps) || broken == nil || broken.Error() != r.Broken.Error() {
			t.Errorf("%d steps break %v (%v) when replayed:\n%s", taken, broken, err, story)
		}
	}
}

// A search goes on beyond a breach at which histories stop, and finds the next one.
func TestStopAt(t *testing.T) {
	const first, second = "the status counts 1 failures", "the status counts 2 failures"
	w := newWorld(t, "backoffLimit=2 fail=1 total=1", func(c Controller) Controller {
		return altered{c, func(_ Memory, v View, r *Request) bool {
			if r.Kind == WriteStatus && len(v.Pods) > 0 {
				next := *r.Status
				next.Failed = map[batch.PodPhase]int32{batch.PodSucceeded: 1, batch.PodFailed: 2}[v.Pods[0].Status.Phase]
				r.Status = &next
			}
			return true
		}}
	})
	for _, tt := range []struct{ stop, want string }{{"", first}, {first, second}} {
		if tt.stop != "" {
			w.StopAt(tt.stop)
		}
		if r := search.Run(context.Background(), w, search.Options{}); r.Broken == nil || !strings.Contains(r.Broken.Error(), tt.want) {
			t.Errorf("%v, want %s", r.Broken, tt.want)
		}
	}
	w.StopAt("the status counts")
	if r := search.Run(context.Background(), w, search.Options{}); r.Broken != nil || !r.Complete || r.Ends == 0 {
		t.Errorf("%+v", r)
	}
}

// A request about a missing pod says so only if it asks for that.
func TestMissingPod(t *testing.T) {
	for _, must := range []bool{false, true} {
		gone := false
		w := newWorld(t, "vanish=1 total=1", func(c Controller) Controller {
			return altered{listening{c, func(a Answer) { gone = gone || a.Gone }}, func(_ Memory, _ View, r *Request) bool {
				r.MustExist = must && r.Kind == RemoveFinalizer
				return true
			}}
		})
		if r := search.Run(context.Background(), w, search.Options{}); r.Broken != nil || gone != must {
			t.Errorf("%t: %t, %v", must, gone, r.Broken)
		}
	}
}

// listening is a controller whose answers are heard.
type listening struct {
	Controller
	hear func(Answer)
}

func (c listening) Pass(m Memory, v View, given []Answer) Pass {
	for _, a := range given {
		c.hear(a)
	}
	return c.Controller.Pass(m, v, given)
}
