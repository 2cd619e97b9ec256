// Package restartrules reads the annotation by which a pod asks for restart rules of its
// own. Agents on the pod's node obey it, and other programs can explain it.
//
//	rules, err := restartrules.Parse(pod.Annotations[restartrules.Annotation])
package restartrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/spelling"
)

// Annotation is the name of the annotation. Its value is JSON or YAML.
const Annotation = "restartkit.dev/restart-rules"

// The limits of an annotation. Whoever may create pods can write one, and those who
// read it keep it for every pod.
const (
	MaxBytes  = 64 << 10 // length of its text
	MaxRules  = 20       // as in restartPolicyRules of a container
	maxErrors = 8        // mistakes that an error keeps
	maxText   = 300      // bytes of a syntax error's message
)

// Rules is the policy of a pod that has the annotation. The first rule that matches an
// exit decides about it, else the container's restart policy. If the decision is to
// restart the container, it starts after the rule's Delay, or after Curve if the rule has
// none. Without either, and if the decision is another one, the exit is left to the
// kubelet. The zero value leaves every exit to the kubelet.
type Rules struct {
	Rules []backoff.Rule  `json:"restartPolicyRules,omitempty"` // at most MaxRules, none with the action RestartAllContainers
	Curve *backoff.Policy `json:"curve,omitempty"`              // ResetAfter defaults to that of backoff.CrashLoop
}

// Delay returns the curve of the restart that a rule has decided, by its index, or -1 if
// no rule matched. It is nil if the exit is left to the kubelet. An index beyond the rules, as
// of a decision by other rules, counts as none.
func (r *Rules) Delay(action backoff.Action, rule int) *backoff.Policy {
	if action != backoff.ActionRestart {
		return nil
	}
	if rule >= 0 && rule < len(r.Rules) && r.Rules[rule].Delay != nil {
		return r.Rules[rule].Delay
	}
	return r.Curve
}

// ExitPolicy returns the rules as a policy for a Restarter. Its Delay is nil without a
// Curve, which a Restarter takes for the kubelet's curve, so ask [Rules.Delay] whether to
// follow a decision.
func (r *Rules) ExitPolicy() backoff.ExitPolicy {
	return backoff.ExitPolicy{Rules: r.Rules, Delay: r.Curve}
}

// Parse reads the value of the annotation. It refuses unknown and duplicate fields,
// aliases, and more than MaxBytes or MaxRules. The error wraps field.Errors if fields are
// wrong, and keeps the first few mistakes and the number of the others.
func Parse(text string) (*Rules, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("restartrules: Parse: the text has %d bytes, more than %d", len(text), MaxBytes)
	}
	fields, err := readObject(text)
	if err != nil {
		return nil, fmt.Errorf("restartrules: Parse: %w", err)
	}
	r := &Rules{}
	var errs field.Errors
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch name {
		case "restartPolicyRules":
			r.Rules = readRules(name, fields[name], &errs)
		case "curve":
			r.Curve = readCurve(name, fields[name], &errs)
		default:
			detail := ""
			if meant := spelling.Nearest(name, []string{"restartPolicyRules", "curve"}); meant != "" {
				detail = "did you mean " + meant + "?"
			}
			errs.Add(field.Unknown, name, nil, detail)
		}
	}
	switch n := len(errs) - maxErrors; {
	case len(errs) == 0:
		return r, nil
	case n > 0:
		return nil, fmt.Errorf("%w; and %d more", slices.Clone(errs[:maxErrors]), n)
	}
	return nil, errs
}

// readObject returns the fields of a text that holds an object or nothing.
func readObject(text string) (map[string]json.RawMessage, error) {
	if err := checkForm(text); err != nil {
		return nil, shortened(err)
	}
	encoded, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, shortened(err)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(encoded, &fields) != nil {
		return nil, errors.New("the text must be an object with restartPolicyRules or curve")
	}
	return fields, nil
}

// checkForm returns an error if the text has several documents, or an alias, by which a
// short text could stand for a very long one.
func checkForm(text string) error {
	decoder := yamlnode.NewDecoder(strings.NewReader(text))
	var document, next yamlnode.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	if err := decoder.Decode(&next); err == nil {
		return fmt.Errorf("line %d: another document begins", next.Line)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return checkAliases(&document)
}

func checkAliases(n *yamlnode.Node) error {
	if n.Kind == yamlnode.AliasNode {
		return fmt.Errorf("line %d: an alias is not allowed", n.Line)
	}
	for _, inner := range n.Content {
		if err := checkAliases(inner); err != nil {
			return err
		}
	}
	return nil
}

// shortened returns an error with the message of err on one line, cut off if it is long.
// The YAML library lists all mistakes.
func shortened(err error) error {
	message := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
	if len(message) > maxText {
		message = strings.ToValidUTF8(message[:maxText], "") + "…"
	}
	return errors.New(message)
}

// readRules reads a list of rules, unless it is too long, and adds its mistakes.
func readRules(path string, text json.RawMessage, errs *field.Errors) []backoff.Rule {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		errs.Add(field.Invalid, path, nil, "must be a list of rules")
		return nil
	}
	if len(list) > MaxRules {
		errs.Add(field.TooMany, path, len(list), fmt.Sprintf("must be at most %d", MaxRules))
		return nil
	}
	rules := make([]backoff.Rule, len(list))
	before := len(*errs)
	for i, one := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if bytes.Equal(one, []byte("null")) {
			errs.Add(field.Invalid, at, nil, "must be a rule")
			continue
		}
		addUnder(errs, at, json.Unmarshal(one, &rules[i]))
	}
	if len(*errs) > before {
		return nil // the other mistakes may follow from those
	}
	addUnder(errs, "", backoff.ExitPolicy{Rules: rules}.Validate())
	for i := range rules {
		if rules[i].Action == backoff.ActionRestartAll {
			errs.Add(field.NotSupported, fmt.Sprintf("%s[%d].action", path, i), string(rules[i].Action), "must be Restart or GiveUp")
		}
	}
	return rules
}

// readCurve reads a curve and adds its mistakes.
func readCurve(path string, text json.RawMessage, errs *field.Errors) *backoff.Policy {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	curve := &backoff.Policy{ResetAfter: backoff.CrashLoop().ResetAfter}
	err := json.Unmarshal(text, curve)
	if err == nil {
		// The names of an ExitPolicy's fields are those of the JSON.
		err = backoff.ExitPolicy{Delay: curve}.Validate()
		var of field.Errors
		errors.As(err, &of)
		for i := range of {
			of[i].Field = path + strings.TrimPrefix(of[i].Field, "delay")
		}
		path = ""
	}
	addUnder(errs, path, err)
	return curve
}

// addUnder adds the mistakes of an error, whose paths begin below a path.
func addUnder(errs *field.Errors, path string, err error) {
	var all field.Errors
	switch {
	case err == nil:
		return
	case !errors.As(err, &all):
		errs.Add(field.Invalid, path, nil, err.Error())
	}
	for _, e := range all {
		if path != "" {
			e.Field = strings.TrimSuffix(path+"."+e.Field, ".")
		}
		*errs = append(*errs, e)
	}
}
