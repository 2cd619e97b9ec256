package statefile

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// checkSaved returns an error if encoding/json would write {} for a struct because all
// of its fields are unexported. It looks at the types in state, and does not follow
// interfaces.
func checkSaved(state any) error {
	if state == nil {
		return nil
	}
	c := checker{seen: make(map[typeUse]bool)}
	return c.check(reflect.TypeOf(state), false)
}

// checker remembers the types that it has checked, because types can refer to themselves.
type checker struct{ seen map[typeUse]bool }

// typeUse is a type, and whether its values are addressable. encoding/json calls methods
// with a pointer receiver only on addressable values.
type typeUse struct {
	t           reflect.Type
	addressable bool
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// locks are the structs of package sync that have no exported fields and nothing to save.
// A sync.Map is none of them, because it holds data.
var locks = []reflect.Type{
	reflect.TypeFor[sync.Mutex](), reflect.TypeFor[sync.RWMutex](), reflect.TypeFor[sync.Once](), reflect.TypeFor[sync.WaitGroup](),
}

func (c *checker) check(t reflect.Type, addressable bool) error {
	if c.seen[typeUse{t, addressable}] {
		return nil
	}
	c.seen[typeUse{t, addressable}] = true
	if marshals(t) || addressable && marshals(reflect.PointerTo(t)) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return c.check(t.Elem(), true)
	case reflect.Array:
		return c.check(t.Elem(), addressable)
	case reflect.Map:
		return c.check(t.Elem(), false)
	case reflect.Struct:
		return c.checkStruct(t, addressable)
	}
	return nil
}

func marshals(t reflect.Type) bool {
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler)
}

func (c *checker) checkStruct(t reflect.Type, addressable bool) error {
	if slices.Contains(locks, t) {
		return nil
	}
	if t.NumField() > 0 && !hasExported(t, nil) {
		if marshals(reflect.PointerTo(t)) {
			return fmt.Errorf("nothing of %v would be saved: pass a pointer, which has its methods", t)
		}
		return fmt.Errorf("nothing of %v would be saved: it has no exported fields", t)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Anonymous && embedded(f.Type) != nil && !hasExported(embedded(f.Type), nil) {
			continue // it adds no field to this struct, which has others
		}
		if err := c.check(f.Type, addressable); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// hasExported reports whether a struct has an exported field, its own or one of an
// embedded struct. within are the structs that embed it.
func hasExported(t reflect.Type, within []reflect.Type) bool {
	if slices.Contains(within, t) {
		return false
	}
	within = append(within, t)
	for i := range t.NumField() {
		f := t.Field(i)
		if e := embedded(f.Type); f.Anonymous && e != nil {
			if hasExported(e, within) {
				return true
			}
		} else if f.IsExported() {
			return true
		}
	}
	return false
}

// embedded returns the struct type that t is or points to, or nil if it is none.
func embedded(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		return t
	}
	return nil
}
