package backoff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/internal/spelling"
)

// durationText is a duration, written in JSON as a string such as "1m30s".
type durationText time.Duration

func (d durationText) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *durationText) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = durationText(parsed)
	return err
}

// MarshalText returns the result of String.
func (r CodeRange) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads two codes separated by a hyphen. ExitPolicy.Validate checks the
// range.
func (r *CodeRange) UnmarshalText(text []byte) error {
	first, last, ok := strings.Cut(string(text), "-")
	if ok {
		a, err1 := strconv.ParseUint(first, 10, 31)
		b, err2 := strconv.ParseUint(last, 10, 31)
		if ok = err1 == nil && err2 == nil; ok {
			r.First, r.Last = int32(a), int32(b)
		}
	}
	if !ok {
		return fmt.Errorf("backoff: CodeRange.UnmarshalText(%s): must be a range such as 128-159", keyText(string(text)))
	}
	return nil
}

// MarshalJSON encodes durations as strings, as in {"initial":"10s","max":"5m0s"}.
func (p Policy) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Initial      durationText `json:"initial"`
		Max          durationText `json:"max"`
		Factor       float64      `json:"factor,omitzero"`
		Jitter       float64      `json:"jitter,omitzero"`
		ResetAfter   durationText `json:"resetAfter,omitzero"`
		FreeFailures int          `json:"freeFailures,omitzero"`
	}{durationText(p.Initial), durationText(p.Max), p.Factor, p.Jitter, durationText(p.ResetAfter), p.FreeFailures})
}

// UnmarshalJSON requires durations to be strings, and refuses unknown fields. The error
// wraps field.Errors listing every mistake by its path, such as initial, and suggests the
// field that may be meant.
func (p *Policy) UnmarshalJSON(text []byte) error {
	o := readObject(text)
	o.read("initial", (*durationText)(&p.Initial))
	o.read("max", (*durationText)(&p.Max))
	o.read("factor", &p.Factor)
	o.read("jitter", &p.Jitter)
	o.read("resetAfter", (*durationText)(&p.ResetAfter))
	o.read("freeFailures", &p.FreeFailures)
	o.refuseOthers()
	return o.err("Policy.UnmarshalJSON")
}

// MarshalJSON encodes durations as strings such as "90s".
func (r Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		*ruleFields
		RanLessThan durationText `json:"ranLessThan,omitzero"`
		RanAtLeast  durationText `json:"ranAtLeast,omitzero"`
		Window      durationText `json:"window,omitzero"`
	}{(*ruleFields)(&r), durationText(r.RanLessThan), durationText(r.RanAtLeast), durationText(r.Window)})
}

// ruleFields is a Rule without its methods, to be embedded beside fields that take the
// place of its own.
type ruleFields Rule

// UnmarshalJSON decodes like [Policy.UnmarshalJSON].
func (r *Rule) UnmarshalJSON(text []byte) error {
	o := readObject(text)
	o.read("name", &r.Name)
	o.read("action", &r.Action)
	o.read("exitCodes", &r.ExitCodes)
	readEach(o, "reasons", &r.Reasons)
	readEach(o, "signals", &r.Signals)
	o.read("ranLessThan", (*durationText)(&r.RanLessThan))
	o.read("ranAtLeast", (*durationText)(&r.RanAtLeast))
	o.read("minFailures", &r.MinFailures)
	o.read("uncounted", &r.Uncounted)
	o.read("delay", &r.Delay)
	o.read("limit", &r.Limit)
	o.read("window", (*durationText)(&r.Window))
	o.refuseOthers()
	return o.err("Rule.UnmarshalJSON")
}

// UnmarshalJSON decodes like [Policy.UnmarshalJSON].
func (c *ExitCodes) UnmarshalJSON(text []byte) error {
	o := readObject(text)
	o.read("operator", &c.Operator)
	readEach(o, "values", &c.Values)
	readEach(o, "ranges", &c.Ranges)
	o.refuseOthers()
	return o.err("ExitCodes.UnmarshalJSON")
}

// MarshalJSON encodes durations as strings such as "1h0m0s".
func (p ExitPolicy) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		*exitPolicyFields
		Window    durationText `json:"window,omitzero"`
		GiveUpFor durationText `json:"giveUpFor,omitzero"`
	}{(*exitPolicyFields)(&p), durationText(p.Window), durationText(p.GiveUpFor)})
}

// exitPolicyFields is an ExitPolicy without its methods.
type exitPolicyFields ExitPolicy

// UnmarshalJSON decodes like [Policy.UnmarshalJSON], and gives mistakes a path such as
// restartPolicyRules[1].window. The text may be a whole container, so UnmarshalJSON
// ignores fields that ExitPolicy does not have. It refuses one whose name looks like a
// misspelled field of ExitPolicy.
func (p *ExitPolicy) UnmarshalJSON(text []byte) error {
	o := readObject(text)
	o.read("restartPolicy", &p.RestartPolicy)
	readEach(o, "restartPolicyRules", &p.Rules)
	o.read("delay", &p.Delay)
	o.read("limit", &p.Limit)
	o.read("window", (*durationText)(&p.Window))
	o.read("retries", &p.Retries)
	o.read("giveUpFor", (*durationText)(&p.GiveUpFor))
	o.refuseMisspelled()
	return o.err("ExitPolicy.UnmarshalJSON")
}

// object is a JSON object being read. Unlike encoding/json but like Kubernetes, it
// distinguishes names that differ only in case.
type object struct {
	fields map[string]json.RawMessage // not read yet
	known  []string                   // names that were read
	errs   field.Errors
}

func readObject(text []byte) *object {
	o := &object{}
	if err := json.Unmarshal(text, &o.fields); err != nil {
		o.refuse("", text, "must be an object")
	}
	return o
}

func (o *object) err(call string) error {
	if len(o.errs) == 0 {
		return nil
	}
	return fmt.Errorf("backoff: %s: %w", call, o.errs)
}

// read decodes a field, if present. A null is like an absent field.
func (o *object) read(name string, into any) {
	o.known = append(o.known, name)
	if text, ok := o.fields[name]; ok {
		delete(o.fields, name)
		o.readValue(text, name, into)
	}
}

// readEach reads a list, each element by itself.
func readEach[E any](o *object, name string, into *[]E) {
	var list []json.RawMessage
	o.read(name, &list)
	if list == nil {
		return
	}
	*into = make([]E, len(list))
	for i, text := range list {
		o.readValue(text, fmt.Sprintf("%s[%d]", name, i), &(*into)[i])
	}
}

func (o *object) readValue(text []byte, path string, into any) {
	err := json.Unmarshal(text, into)
	if err == nil {
		return
	}
	var inner field.Errors
	if errors.As(err, &inner) {
		for _, one := range inner {
			one.Field = strings.TrimSuffix(path+"."+one.Field, ".")
			o.errs = append(o.errs, one)
		}
		return
	}
	o.refuse(path, text, formOf(into))
}

// refuse adds the mistake of a malformed value.
func (o *object) refuse(path string, text []byte, detail string) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		value = nil
	}
	switch value.(type) {
	case map[string]any, []any:
		value = nil
	}
	o.errs.Add(field.Invalid, path, value, detail)
}

// refuseOthers adds a mistake for each unread field.
func (o *object) refuseOthers() {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		o.refuseUnknown(name, spelling.Nearest(name, o.known))
	}
}

// refuseMisspelled adds a mistake for each unread field that differs in at most two
// letters from a field that was read. The fields of a core/v1 container differ in more.
func (o *object) refuseMisspelled() {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		if meant := spelling.Within(2, name, o.known); meant != "" {
			o.refuseUnknown(name, meant)
		}
	}
}

func (o *object) refuseUnknown(name, meant string) {
	detail := ""
	if meant != "" {
		detail = "did you mean " + meant + "?"
	}
	o.errs.Add(field.Unknown, nameText(name), nil, detail)
}

// nameText prints the name of an unknown field in a path, in quotes if it is unusual.
func nameText(name string) string {
	const most = 63
	usual := func(c rune) bool {
		return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if name == "" || len(name) > most || strings.ContainsFunc(name, func(c rune) bool { return !usual(c) }) {
		return quote.Text(name)
	}
	return name
}

// formOf describes the expected JSON of a value.
func formOf(into any) string {
	switch into.(type) {
	case *durationText:
		return `must be a duration in quotes, such as "90s"`
	case *CodeRange:
		return `must be a range in quotes, such as "128-159"`
	case *int32, *int:
		return "must be an integer"
	case *float64:
		return "must be a number"
	case *bool:
		return "must be true or false"
	case *[]json.RawMessage:
		return "must be a list"
	}
	return "must be a string"
}
