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

// MarshalJSON returns the state of all keys as a JSON object, with the key as name
// and its RestarterState as value. It is weakly consistent, as All is. K must have
// both MarshalText and UnmarshalText, or neither and be a string or an integer;
// otherwise the error says so. Where JSON cannot hold a key or a time, the error
// wraps field.Errors with every such one, as in ["key"].last.finished. The Restarter
// must come from NewRestarter.
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

// UnmarshalJSON restores the state of every key in what MarshalJSON returned; other
// keys keep theirs, as when encoding/json reads into a map. Restarts still to come
// take their turns under Rate in their former order. If Restore would refuse the
// state of any key, nothing changes, and the error wraps field.Errors with every
// mistake, as in ["key"].decision.delay. A clock that was set back, if only by a
// nanosecond, is such a reason: then read the text into a map[K]RestarterState, mend
// its times as Restore says, and Restore each key. The Restarter must come from
// NewRestarter.
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
	clockTime, _ := r.clock.now()
	for _, key := range keys {
		for _, e := range states[key].validate(clockTime) {
			e.Field = fmt.Sprintf("[%s].%s", keyText(key), e.Field)
			errs = append(errs, e)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	// PolicyFor is the caller's and may panic, so it is called before anything changes.
	policies := make([]Policy, len(keys))
	for i, key := range keys {
		policies[i], _ = r.policyFor(key, states[key].Last)
	}
	for i, key := range keys {
		r.restore(key, states[key], policies[i])
	}
	return nil
}

// checkJSON returns an error unless r comes from NewRestarter and a K is text in
// both directions.
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

// nameOf returns the name of a key in JSON, which encoding/json reads as the same
// key. Written by encoding/json, a string would go without its MarshalText.
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
	var read map[K]struct{} // without key if it is not valid UTF-8, or its text not its own
	text, err := json.Marshal(map[string]struct{}{name: {}})
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if _, same := read[key]; err == nil && !same {
		err = errors.New("JSON would be read as another key")
	}
	return name, err
}
