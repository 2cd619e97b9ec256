package backoff

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
// integer type with neither. If JSON cannot represent a key, the error wraps field.Errors
// listing all such keys.
func (r *Restarter[K]) MarshalJSON() ([]byte, error) {
	text, err := marshalKeys(r.All())
	if err != nil {
		return nil, fmt.Errorf("backoff: Restarter.MarshalJSON: %w", err)
	}
	return text, nil
}

// UnmarshalJSON restores the keys in the output of MarshalJSON, each as Restore does;
// other keys keep their state. Starts to come take their turns under Rate in their former
// order. It fails unless r comes from NewRestarter. If the JSON is malformed, nothing
// changes, and the error names the key.
func (r *Restarter[K]) UnmarshalJSON(text []byte) error {
	if r == nil || r.options.Clock == nil {
		return errors.New("backoff: Restarter.UnmarshalJSON: the Restarter was not made by NewRestarter")
	}
	states, err := unmarshalKeys[K, State](text)
	if err != nil {
		return fmt.Errorf("backoff: Restarter.UnmarshalJSON: %w", err)
	}
	turn := func(key K) time.Time { return later(states[key].NotBefore, states[key].Turn) }
	keys := slices.SortedFunc(maps.Keys(states), func(a, b K) int {
		if c := turn(a).Compare(turn(b)); c != 0 {
			return c
		}
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	for _, key := range keys {
		r.Restore(key, states[key])
	}
	return nil
}

// MarshalJSON is like [Restarter.MarshalJSON].
func (t *Tracker[K]) MarshalJSON() ([]byte, error) {
	text, err := marshalKeys(t.All())
	if err != nil {
		return nil, fmt.Errorf("backoff: Tracker.MarshalJSON: %w", err)
	}
	return text, nil
}

// UnmarshalJSON restores the keys in the output of MarshalJSON, each as Restore does;
// other keys keep their state. It fails unless t comes from NewTracker. If the JSON is
// malformed or Restore would refuse a state, nothing changes, and the error names the key.
func (t *Tracker[K]) UnmarshalJSON(text []byte) error {
	if t == nil || t.scale.clock == nil {
		return errors.New("backoff: Tracker.UnmarshalJSON: the Tracker was not made by NewTracker")
	}
	states, err := unmarshalKeys[K, TrackerState](text)
	if err != nil {
		return fmt.Errorf("backoff: Tracker.UnmarshalJSON: %w", err)
	}
	var errs field.Errors
	entries := make(map[K]tracked, len(states))
	for key, s := range states {
		e, mistakes := t.accept(s)
		entries[key] = e
		for _, one := range mistakes {
			one.Field = fmt.Sprintf("[%s].%s", keyText(key), one.Field)
			errs = append(errs, one)
		}
	}
	slices.SortFunc(errs, func(a, b field.Error) int { return strings.Compare(a.Field, b.Field) })
	if err := errs.Err(); err != nil {
		return fmt.Errorf("backoff: Tracker.UnmarshalJSON: %w", err)
	}
	for key, e := range entries {
		t.set(key, e)
	}
	return nil
}

// marshalKeys returns a JSON object of states by key.
func marshalKeys[K comparable, S any](all iter.Seq2[K, S]) ([]byte, error) {
	if err := checkKeys[K](); err != nil {
		return nil, err
	}
	var errs field.Errors
	states := make(map[string]S)
	for key, s := range all {
		name, err := nameOf(key)
		if err != nil {
			errs.Add(field.Invalid, "["+keyText(key)+"]", nil, err.Error())
			continue
		}
		states[name] = s
	}
	slices.SortFunc(errs, func(a, b field.Error) int { return strings.Compare(a.Field, b.Field) })
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(states)
}

// unmarshalKeys is the inverse of marshalKeys. Its error names the key with a malformed
// state.
func unmarshalKeys[K comparable, S any](text []byte) (map[K]S, error) {
	if err := checkKeys[K](); err != nil {
		return nil, err
	}
	var raw map[K]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	states := make(map[K]S, len(raw))
	for key, text := range raw {
		var s S
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, fmt.Errorf("[%s]: %w", keyText(key), err)
		}
		states[key] = s
	}
	return states, nil
}

// checkKeys returns an error unless K converts to text and back.
func checkKeys[K comparable]() error {
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
