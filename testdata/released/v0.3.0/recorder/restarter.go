package main

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/restartkit/restart/backoff"
)

// A restarting records a Restarter that is saved between two groups of exits.
type restarting struct {
	name   string
	limits limits
	policy string // the backoff.ContainerPolicy or backoff.ExitPolicy of every exit, as JSON
	before []exit
	saved  time.Duration
	after  []exit
}

// limits are the options of the Restarter.
type limits struct {
	Limit   int     `json:"limit,omitempty"`
	Window  string  `json:"window,omitempty"`
	Rate    float64 `json:"rate,omitempty"`
	Burst   int     `json:"burst,omitempty"`
	History int     `json:"history,omitempty"`
}

// exit is an exit of a key at a time after start, after a run of that length.
type exit struct {
	at     time.Duration
	key    string
	run    int64
	code   int32
	reason string
	ran    time.Duration
}

func (e exit) exit() backoff.Exit {
	at := start.Add(e.at)
	return backoff.Exit{Run: e.run, Code: e.code, Reason: e.reason, Started: at.Add(-e.ran), Finished: at}
}

const second = time.Second

var restartings = []restarting{
	{
		name: "restarter", limits: limits{Limit: 4, Window: "1h0m0s"},
		policy: `{"restartPolicy":"OnFailure","restartPolicyRules":[{"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[42]}}]}`,
		before: []exit{
			{10 * second, "default/web", 1, 1, "Error", 5 * second},
			{12 * second, "default/job", 1, 0, "Completed", 12 * second},
			{25 * second, "default/web", 2, 1, "Error", 5 * second},
			{30 * second, "default/all", 1, 42, "Error", 30 * second},
			{50 * second, "default/web", 3, 137, "OOMKilled", 5 * second},
			{60 * second, "größe \"7\"", 1, 1, "Error", 0},
		},
		saved: 61 * second,
		after: []exit{
			{61 * second, "default/web", 3, 137, "OOMKilled", 5 * second}, // the same exit again
			{62 * second, "default/job", 1, 0, "Completed", 12 * second},
			{95 * second, "default/web", 4, 1, "Error", 5 * second},
			{100 * second, "default/all", 2, 42, "Error", 60 * second},
			{180 * second, "default/web", 5, 1, "Error", 5 * second},   // beyond the limit
			{900 * second, "größe \"7\"", 2, 1, "Error", 700 * second}, // the curve starts over
			{910 * second, "default/new", 1, 1, "Error", 1 * second},
		},
	},
	{
		name: "restarter-rate", limits: limits{Rate: 0.1, Burst: 1},
		policy: `{"restartPolicy":"Always"}`,
		before: []exit{
			{1 * second, "a", 1, 1, "Error", second},
			{1 * second, "b", 1, 1, "Error", second},
			{1 * second, "c", 1, 1, "Error", second},
			{2 * second, "d", 1, 0, "Completed", second},
		},
		saved: 3 * second,
		after: []exit{
			{3 * second, "c", 1, 1, "Error", second},
			{4 * second, "e", 1, 1, "Error", second},
			{60 * second, "a", 2, 1, "Error", 20 * second},
		},
	},
	{
		name: "restarter-rules", limits: limits{History: 2},
		policy: `{"restartPolicy":"OnFailure","restartPolicyRules":[
			{"name":"memory","action":"Restart","reasons":["OOMKilled"],"delay":{"initial":"30s","max":"2m0s"},"limit":3,"window":"1h0m0s"},
			{"name":"early","action":"Restart","exitCodes":{"operator":"In","values":[1]},"ranLess":"10s","delay":{"initial":"1s","max":"4s"}},
			{"name":"hopeless","action":"GiveUp","exitCodes":{"operator":"In","values":[2]},"attempts":3}]}`,
		before: []exit{
			{10 * second, "p/memory", 1, 137, "OOMKilled", 10 * second},
			{50 * second, "p/memory", 2, 137, "OOMKilled", 10 * second},
			{51 * second, "p/early", 1, 1, "Error", 2 * second},
			{55 * second, "p/early", 2, 1, "Error", 2 * second},
			{56 * second, "p/two", 1, 2, "Error", 20 * second},
			{90 * second, "p/two", 2, 2, "Error", 20 * second},
		},
		saved: 92 * second,
		after: []exit{
			{92 * second, "p/memory", 2, 137, "OOMKilled", 10 * second},
			{100 * second, "p/early", 3, 1, "Error", 2 * second},
			{140 * second, "p/two", 3, 2, "Error", 20 * second}, // hopeless
			{150 * second, "p/memory", 3, 137, "OOMKilled", 10 * second},
			{400 * second, "p/memory", 4, 137, "OOMKilled", 10 * second}, // beyond the rule's limit
			{500 * second, "p/early", 4, 1, "Error", 300 * second},
		},
	},
}

// decided is an exit reported to the Restarter, and its answers.
type decided struct {
	At        time.Time    `json:"at"`
	Key       string       `json:"key"`
	Exit      backoff.Exit `json:"exit"`
	Action    string       `json:"action"`
	Delay     string       `json:"delay"`
	NotBefore time.Time    `json:"notBefore,omitzero"`
	Failures  int          `json:"failures"`
	Rule      int          `json:"rule"`
	Remaining string       `json:"remaining"`
}

func recordRestarters(folder string) {
	for _, s := range restartings {
		s.record(folder)
	}
}

func (s restarting) record(folder string) {
	clock := newClock(start)
	r := s.restarter(clock)
	for _, e := range s.before {
		s.report(r, clock, e)
	}
	clock.set(s.saved)
	saved := maps.Collect(r.All())
	text, err := json.Marshal(saved)
	must(err)
	write(folder, s.name+".json", json.RawMessage(text))

	r = s.restarter(clock) // the next run of the program
	var states map[string]backoff.RestarterState
	must(json.Unmarshal(text, &states))
	must(restore(r, states))
	waits := make(map[string]string)
	for key := range states {
		waits[key] = r.Remaining(key).String()
	}
	var steps []decided
	for _, e := range s.after {
		steps = append(steps, s.report(r, clock, e))
	}
	write(folder, s.name+".expected.json", map[string]any{
		"options": s.limits, "policy": json.RawMessage(s.policy), "saved": start.Add(s.saved), "waits": waits, "steps": steps,
	})
}

// report reports an exit at its time.
func (s restarting) report(r *backoff.Restarter[string], clock *clock, e exit) decided {
	at := clock.set(e.at)
	d := r.Exited(e.key, s.exitPolicy(), e.exit())
	return decided{at, e.key, e.exit(), string(d.Action), d.Delay.String(), d.NotBefore, d.Failures, d.Rule, r.Remaining(e.key).String()}
}

func (s restarting) exitPolicy() (p backoff.ExitPolicy) {
	must(json.Unmarshal([]byte(s.policy), &p))
	return p
}

func (s restarting) restarter(clock *clock) *backoff.Restarter[string] {
	window := time.Duration(0)
	if s.limits.Window != "" {
		var err error
		window, err = time.ParseDuration(s.limits.Window)
		must(err)
	}
	r, err := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[string]{
		Clock: clock, Limit: s.limits.Limit, Window: window, Rate: s.limits.Rate, Burst: s.limits.Burst, History: s.limits.History,
	})
	must(err)
	return r
}

func restore(r *backoff.Restarter[string], states map[string]backoff.RestarterState) error {
	text, err := json.Marshal(states)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, r)
}
