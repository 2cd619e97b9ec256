package backoff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/restartkit/restart/field"
)

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

// policyFields is the JSON of a Policy.
type policyFields struct {
	Initial      durationText `json:"initial"`
	Max          durationText `json:"max"`
	Factor       float64      `json:"factor,omitzero"`
	Jitter       float64      `json:"jitter,omitzero"`
	ResetAfter   durationText `json:"resetAfter,omitzero"`
	FreeFailures int          `json:"free,omitzero"`
}

// MarshalJSON encodes durations as strings, as in {"initial":"10s","max":"5m0s"}, and
// includes the fields in Unknown.
func (p Policy) MarshalJSON() ([]byte, error) {
	return marshalWith(policyFields{durationText(p.Initial), durationText(p.Max), p.Factor, p.Jitter, durationText(p.ResetAfter), p.FreeFailures}, p.Unknown)
}

// UnmarshalJSON requires durations to be strings and keeps unknown fields in Unknown.
// The error wraps field.Errors listing every malformed value by its path, such as
// initial.
func (p *Policy) UnmarshalJSON(text []byte) error {
	fields, errs := objectFields(text)
	errs.read(fields, "", "initial", (*durationText)(&p.Initial))
	errs.read(fields, "", "max", (*durationText)(&p.Max))
	errs.read(fields, "", "factor", &p.Factor)
	errs.read(fields, "", "jitter", &p.Jitter)
	errs.read(fields, "", "resetAfter", (*durationText)(&p.ResetAfter))
	errs.read(fields, "", "free", &p.FreeFailures)
	p.Unknown = unknownFields(fields)
	return errs.wrap("Policy.UnmarshalJSON")
}

// ruleFields is the JSON of a Rule.
type ruleFields struct {
	Name        string       `json:"name,omitempty"`
	Action      Action       `json:"action,omitempty"`
	ExitCodes   *ExitCodes   `json:"exitCodes,omitempty"`
	Reasons     []string     `json:"reasons,omitempty"`
	Signals     []string     `json:"signals,omitempty"`
	RanLessThan durationText `json:"ranLess,omitzero"`
	RanAtLeast  durationText `json:"ranAtLeast,omitzero"`
	MinFailures int          `json:"attempts,omitempty"`
	Delay       *Policy      `json:"delay,omitempty"`
	Limit       int          `json:"limit,omitempty"`
	Window      durationText `json:"window,omitzero"`
}

// MarshalJSON encodes durations as strings such as "90s", and includes the fields in
// Unknown.
func (r Rule) MarshalJSON() ([]byte, error) {
	return marshalWith(ruleFields{r.Name, r.Action, r.ExitCodes, r.Reasons, r.Signals, durationText(r.RanLessThan), durationText(r.RanAtLeast),
		r.MinFailures, r.Delay, r.Limit, durationText(r.Window)}, r.Unknown)
}

// UnmarshalJSON decodes like [Policy.UnmarshalJSON].
func (r *Rule) UnmarshalJSON(text []byte) error {
	return r.read(text, "").wrap("Rule.UnmarshalJSON")
}

// UnmarshalJSON decodes like [Policy.UnmarshalJSON], with paths such as
// restartPolicyRules[1].ranLess.
func (r *Rules) UnmarshalJSON(text []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	var errs formErrors
	rules := make(Rules, len(list))
	for i := range list {
		errs = append(errs, rules[i].read(list[i], fmt.Sprintf("restartPolicyRules[%d].", i))...)
	}
	if *r = rules; list == nil {
		*r = nil
	}
	return errs.wrap("Rules.UnmarshalJSON")
}

func (r *Rule) read(text []byte, path string) formErrors {
	fields, errs := objectFields(text)
	for i := range errs {
		errs[i].Field = strings.TrimSuffix(path, ".")
	}
	errs.read(fields, path, "name", &r.Name)
	errs.read(fields, path, "action", &r.Action)
	errs.read(fields, path, "exitCodes", &r.ExitCodes)
	readEach(&errs, fields, path, "reasons", &r.Reasons)
	readEach(&errs, fields, path, "signals", &r.Signals)
	errs.read(fields, path, "ranLess", (*durationText)(&r.RanLessThan))
	errs.read(fields, path, "ranAtLeast", (*durationText)(&r.RanAtLeast))
	errs.read(fields, path, "attempts", &r.MinFailures)
	errs.read(fields, path, "delay", &r.Delay)
	errs.read(fields, path, "limit", &r.Limit)
	errs.read(fields, path, "window", (*durationText)(&r.Window))
	r.Unknown = unknownFields(fields)
	return errs
}

// codesFields is the JSON of an ExitCodes.
type codesFields struct {
	Operator Operator    `json:"operator,omitempty"`
	Values   []int32     `json:"values,omitempty"`
	Ranges   []CodeRange `json:"ranges,omitempty"`
}

// MarshalJSON includes the fields in Unknown.
func (c ExitCodes) MarshalJSON() ([]byte, error) {
	return marshalWith(codesFields{c.Operator, c.Values, c.Ranges}, c.Unknown)
}

// UnmarshalJSON decodes like [Policy.UnmarshalJSON].
func (c *ExitCodes) UnmarshalJSON(text []byte) error {
	fields, errs := objectFields(text)
	errs.read(fields, "", "operator", &c.Operator)
	readEach(&errs, fields, "", "values", &c.Values)
	readEach(&errs, fields, "", "ranges", &c.Ranges)
	c.Unknown = unknownFields(fields)
	return errs.wrap("ExitCodes.UnmarshalJSON")
}

// formErrors lists the malformed values of a JSON object.
type formErrors field.Errors

// objectFields returns the fields of an object. Unlike encoding/json but like
// Kubernetes, it distinguishes names that differ only in case.
func objectFields(text []byte) (fields map[string]json.RawMessage, errs formErrors) {
	if err := json.Unmarshal(text, &fields); err != nil {
		errs.add("", text, "must be an object")
	}
	return fields, errs
}

func (e *formErrors) add(path string, text []byte, detail string) {
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
	*e = append(*e, field.Error{Field: path, Type: field.Invalid, Value: value, Detail: detail})
}

func (e formErrors) wrap(call string) error {
	if len(e) == 0 {
		return nil
	}
	return fmt.Errorf("backoff: %s: %w", call, field.Errors(e))
}

// read takes a field, if present, out of fields. A null is like an absent field.
func (e *formErrors) read(fields map[string]json.RawMessage, path, name string, into any) {
	if text, ok := fields[name]; ok {
		delete(fields, name)
		e.readValue(text, path+name, into)
	}
}

func (e *formErrors) readValue(text []byte, path string, into any) {
	err := json.Unmarshal(text, into)
	if err == nil {
		return
	}
	var inner field.Errors
	if errors.As(err, &inner) {
		for _, one := range inner {
			one.Field = strings.TrimSuffix(path+"."+one.Field, ".")
			*e = append(*e, one)
		}
		return
	}
	e.add(path, text, formOf(into))
}

// readEach reads a list, each element by itself.
func readEach[E any](e *formErrors, fields map[string]json.RawMessage, path, name string, into *[]E) {
	var list []json.RawMessage
	e.read(fields, path, name, &list)
	if list == nil {
		return
	}
	*into = make([]E, len(list))
	for i, text := range list {
		e.readValue(text, fmt.Sprintf("%s%s[%d]", path, name, i), &(*into)[i])
	}
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
	case *[]json.RawMessage:
		return "must be a list"
	}
	return "must be a string"
}
