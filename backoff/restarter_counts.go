package backoff

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// RuleState is what a Restarter counts of one rule with a Delay or a Limit for one
// key. A RuleState is safe for concurrent use by multiple goroutines while nobody
// writes to it.
type RuleState struct {
	Rule     int           `json:"rule"`               // its index
	Name     string        `json:"name,omitempty"`     // its name; without one the index tells it from others
	Failures int           `json:"failures,omitempty"` // in a row, for its Delay
	Used     int           `json:"used,omitempty"`     // restarts that its Limit counts, if that has no Window
	Recent   []time.Time   `json:"recent,omitempty"`   // when those within its Window were decided, oldest first
	Keep     time.Duration `json:"keep,omitempty"`     // how long after the restart the counts matter
	Reset    time.Duration `json:"reset,omitempty"`    // a longer run ends the row of Failures
}

// ruleCount is a RuleState in steady time.
type ruleCount struct {
	rule     int
	name     string
	failures int
	used     int
	recent   []time.Duration
	keep     time.Duration
	reset    time.Duration
}

// find looks for the rule that the counts are of, which may have moved, and follows
// it. It reports whether they are to be kept.
func (n *ruleCount) find(rules Rules) bool {
	if len(rules) == 0 {
		return true
	}
	if n.name != "" && (n.rule >= len(rules) || rules[n.rule].Name != n.name) {
		n.rule = slices.IndexFunc(rules, func(r Rule) bool { return r.Name == n.name })
	}
	if n.rule < 0 || n.rule >= len(rules) || rules[n.rule].Name != n.name || !rules[n.rule].counts() {
		return false
	}
	n.follow(&rules[n.rule])
	return true
}

// allow counts one more restart against the limit of the rule, or reports that it is
// used up.
func (n *ruleCount) allow(rule *Rule, now time.Duration) bool {
	if rule.Window > 0 {
		n.used = 0
		return allow(&n.recent, min(rule.Limit, maxLimit), rule.Window, now)
	}
	n.recent = nil
	if n.used >= rule.Limit {
		return false
	}
	n.used++
	return true
}

// follow takes from a rule how long its counts can matter, and what ends the row of its
// failures.
func (n *ruleCount) follow(rule *Rule) {
	n.keep, n.reset = max(rule.Window, 0), 0
	if rule.Limit > 0 && rule.Window <= 0 {
		n.keep = math.MaxInt64
	}
	if rule.Delay == nil {
		n.failures = 0
		return
	}
	n.reset = max(rule.Delay.ResetThreshold(), 0)
	n.keep = max(n.keep, addDuration(n.reset, n.reset))
}

// allow counts one more restart against a limit, or reports that it is used up.
func allow(recent *[]time.Duration, limit int, window, now time.Duration) bool {
	if window > 0 {
		*recent = slices.DeleteFunc(*recent, func(at time.Duration) bool { return subtract(now, at) >= window })
	}
	if len(*recent) >= limit {
		return false
	}
	*recent = append(*recent, now)
	return true
}

// ruleStateJSON writes two fields beside the others, which it hides.
type ruleStateJSON struct {
	*ruleStateFields
	Keep  storedDuration `json:"keep,omitzero"`
	Reset storedDuration `json:"reset,omitzero"`
}

// MarshalJSON returns the counts with their durations as texts.
func (s RuleState) MarshalJSON() ([]byte, error) {
	return json.Marshal(ruleStateJSON{(*ruleStateFields)(&s), storedDuration(s.Keep), storedDuration(s.Reset)})
}

// UnmarshalJSON reads what MarshalJSON returns. Unknown fields are ignored.
func (s *RuleState) UnmarshalJSON(text []byte) error {
	j := ruleStateJSON{(*ruleStateFields)(s), storedDuration(s.Keep), storedDuration(s.Reset)}
	err := json.Unmarshal(text, &j)
	s.Keep, s.Reset = time.Duration(j.Keep), time.Duration(j.Reset)
	return err
}

type ruleStateFields RuleState
