package backoff

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/field"
)

// MarshalJSON returns a JSON object that maps the keys that All yields to their states.
// It fails unless K implements both MarshalText and UnmarshalText, or is a string or
// integer type with neither. If JSON cannot represent a key or a time, the error wraps
// field.Errors listing all such values by path, such as ["key"].last.finished.
func (r *Restarter[K]) MarshalJSON() ([]byte, error) {
	text, err := r.marshalAll()
	if err != nil {
		return nil, fmt.Errorf("backoff: Restarter.MarshalJSON: %w", err)
	}
	return text, nil
}

func (r *Restarter[K]) marshalAll() ([]byte, error) {
	if err := r.checkJSON(); err != nil {
		return nil, err
	}
	var errs field.Errors
	states := make(map[string]RestarterState)
	for key, s := range r.All() {
		path := "[" + keyText(key) + "]"
		name, err := nameOf(key)
		if err != nil {
			errs.Add(field.Invalid, path, nil, err.Error())
			continue
		}
		check := func(name string, at time.Time) {
			if _, err := at.MarshalText(); err != nil {
				errs.Add(field.Invalid, path+name, at, err.Error())
			}
		}
		outcome := func(exit, decision string, o ExitRecord) {
			check(exit+".started", o.Exit.Started)
			check(exit+".finished", o.Exit.Finished)
			check(decision+".notBefore", o.Decision.NotBefore)
		}
		outcome(".last", ".decision", ExitRecord{s.Last, s.Decision})
		check(".finished", s.Finished)
		for i, at := range s.Recent {
			check(fmt.Sprintf(".recent[%d]", i), at)
		}
		for i, rule := range s.Rules {
			for k, at := range rule.Recent {
				check(fmt.Sprintf(".rules[%d].recent[%d]", i, k), at)
			}
		}
		for i, o := range s.History {
			path := fmt.Sprintf(".history[%d].", i)
			outcome(path+"exit", path+"decision", o)
		}
		states[name] = s
	}
	slices.SortFunc(errs, func(a, b field.Error) int { return strings.Compare(a.Field, b.Field) })
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(states)
}

// UnmarshalJSON restores the keys in the output of MarshalJSON; other keys keep their
// state. Pending restarts take their turns under Rate in their former order. It fails
// unless r comes from NewRestarter.
//
// Times later than the clock are treated as by Restore. If Restore would reject the
// state of any key, nothing changes, and the error wraps field.Errors listing every
// mistake by its path, such as ["key"].decision.delay.
func (r *Restarter[K]) UnmarshalJSON(text []byte) error {
	if err := r.restoreAll(text); err != nil {
		return fmt.Errorf("backoff: Restarter.UnmarshalJSON: %w", err)
	}
	return nil
}

func (r *Restarter[K]) restoreAll(text []byte) error {
	if err := r.checkJSON(); err != nil {
		return err
	}
	var states map[K]RestarterState
	if err := json.Unmarshal(text, &states); err != nil {
		return err
	}
	keys := slices.SortedFunc(maps.Keys(states), func(a, b K) int {
		if c := states[a].Decision.NotBefore.Compare(states[b].Decision.NotBefore); c != 0 {
			return c
		}
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	var errs field.Errors
	lowered := 0
	for _, key := range keys {
		s, n, mistakes := r.accept(states[key])
		states[key] = s
		lowered += n
		for _, e := range mistakes {
			e.Field = fmt.Sprintf("[%s].%s", keyText(key), e.Field)
			errs = append(errs, e)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	// PolicyFor may panic, so call it before changing anything.
	policies := make([]Policy, len(keys))
	for i, key := range keys {
		policies[i], _ = r.policyFor(key, states[key].Last)
	}
	for i, key := range keys {
		r.restore(key, states[key], policies[i])
	}
	r.lowered.Add(int64(lowered))
	return nil
}

// checkJSON returns an error unless r comes from NewRestarter and K converts to text
// and back.
func (r *Restarter[K]) checkJSON() error {
	if r == nil || r.clock == nil {
		return errors.New("the Restarter was not made by NewRestarter")
	}
	_, writes := any(new(K)).(encoding.TextMarshaler)
	_, reads := any(new(K)).(encoding.TextUnmarshaler)
	k := reflect.TypeFor[K]()
	switch kind := k.Kind(); {
	case writes != reads:
		return fmt.Errorf("keys of type %v have only one of MarshalText and UnmarshalText", k)
	case writes, kind == reflect.String, kind >= reflect.Int && kind <= reflect.Uintptr:
		return nil
	}
	return fmt.Errorf("keys of type %v are not text", k)
}

// nameOf returns the JSON name of a key, from which encoding/json reads the same key.
// When writing, encoding/json would ignore the MarshalText of a string.
func nameOf[K comparable](key K) (name string, err error) {
	v := reflect.ValueOf(&key).Elem()
	if k, ok := any(&key).(encoding.TextMarshaler); ok {
		text, err := k.MarshalText()
		if err != nil {
			return "", err
		}
		name = string(text)
	} else if v.CanInt() {
		name = strconv.FormatInt(v.Int(), 10)
	} else if v.CanUint() {
		name = strconv.FormatUint(v.Uint(), 10)
	} else {
		name = v.String()
	}
	var read map[K]struct{} // lacks key if its text is not valid UTF-8 or belongs to another key
	text, err := json.Marshal(map[string]struct{}{name: {}})
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if _, same := read[key]; err == nil && !same {
		err = errors.New("JSON would be read as another key")
	}
	return name, err
}
