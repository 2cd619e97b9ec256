package backoff

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// RuleState holds a key's counts for one rule with a Delay or a Limit.
type RuleState struct {
	Rule     int           `json:"rule"`               // index of the rule
	Name     string        `json:"name,omitempty"`     // its name
	Failures int           `json:"failures,omitempty"` // failures in a row, for its Delay
	Used     int           `json:"used,omitempty"`     // restarts counted by a Limit without a Window
	Recent   []time.Time   `json:"recent,omitempty"`   // when restarts within its Window were decided, oldest first
	Keep     time.Duration `json:"keep,omitempty"`     // how long the counts matter after the restart
	Reset    time.Duration `json:"reset,omitempty"`    // a longer run starts Failures over
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

// find updates n to the present position and settings of its rule, and reports whether
// to keep the counts.
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

// allow counts one more restart against the rule's limit and reports whether the limit
// allows it.
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

// follow copies from rule how long its counts can matter and which runs start its
// failures over.
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

// allow counts one more restart against a limit and reports whether the limit allows
// it.
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

// ruleStateJSON adds two fields that hide those of the same names.
type ruleStateJSON struct {
	*ruleStateFields
	Keep  durationText `json:"keep,omitzero"`
	Reset durationText `json:"reset,omitzero"`
}

// MarshalJSON encodes durations as strings.
func (s RuleState) MarshalJSON() ([]byte, error) {
	return json.Marshal(ruleStateJSON{(*ruleStateFields)(&s), durationText(s.Keep), durationText(s.Reset)})
}

// UnmarshalJSON ignores unknown fields.
func (s *RuleState) UnmarshalJSON(text []byte) error {
	j := ruleStateJSON{(*ruleStateFields)(s), durationText(s.Keep), durationText(s.Reset)}
	err := json.Unmarshal(text, &j)
	s.Keep, s.Reset = time.Duration(j.Keep), time.Duration(j.Reset)
	return err
}

type ruleStateFields RuleState
