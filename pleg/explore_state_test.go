package pleg

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// State implements search.World.
func (w *podWorld) State() []byte {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	return e.encode(w)
}

var encoders = sync.Pool{New: func() any { return &encoder{visited: map[unsafe.Pointer]int{}} }}

// An encoder computes the state of a world from all fields of its Generator but the
// forgettable ones. Times count from now, and serial numbers only by their order.
type encoder struct {
	now      time.Time
	buf      []byte
	visited  map[unsafe.Pointer]int
	serials  []uint64
	timeless bool // exits and their positions need no times
}

// forgettable are the fields that influence neither the Generator's later steps nor a
// check.
var forgettable = map[string]bool{
	"relister.o": true, "relister.store": true, "relister.stats": true, "relister.lastStart": true, "core.changed": true,
	"eventQueue.mu": true, "eventQueue.received": true, "eventQueue.merged": true, "eventQueue.latency": true,
	"tracked.mark": true, "todo.mark": true, // compared only with newer ones
}

// encode returns a checksum of all of w that later steps and checks depend on.
func (e *encoder) encode(w *podWorld) []byte {
	clear(e.visited)
	e.now, e.buf, e.serials = w.now, e.buf[:0], e.serials[:0]
	e.timeless = !strings.ContainsRune(w.kinds, faultProgram)
	e.value(reflect.ValueOf(&w.g.core).Elem())
	e.value(reflect.ValueOf(&w.g.events).Elem())
	e.ranks()
	s := w.g.core.stats
	e.bools(s.Relists > 0)
	e.ints(int(s.Transitions - s.ReportedEvents - s.MissedEvents))

	entry := w.cache.Get(exploredPod)
	e.bools(entry.Present, entry.Err != nil)
	e.view(entry.Status)
	e.time(entry.Modified)
	e.time(w.cache.Get("none").Modified) // the global time
	e.ints(w.cache.Counts().Tombstones)
	e.runtime(w, entry.Modified)
	e.observed(w.observed)
	sum := sha256.Sum256(e.buf)
	return sum[:16]
}

// runtime encodes the part of w outside the Generator. modified is the time of the
// cache's entry.
func (e *encoder) runtime(w *podWorld, modified time.Time) {
	first := w.shown // no answer or check goes back further than this and the calls
	for _, f := range w.calls {
		first = min(first, f.from)
	}
	e.ints(len(w.versions)-first, w.shown-first, len(w.calls), len(w.events), int(w.ahead))
	for _, v := range w.versions[first:] {
		e.view(v.is)
		if v.until.Before(modified) {
			v.until = time.Time{}
		}
		e.time(v.until)
	}
	for _, f := range w.calls {
		e.ints(int(f.call.kind), f.from-first)
		e.time(f.call.start)
	}
	for _, x := range w.events {
		e.string(x.Container)
		e.ints(int(x.Type))
		e.time(x.At)
		e.view(x.Seen.Status)
	}
	e.bools(w.streaming, w.waits)
	if w.waits {
		e.time(w.waitMin)
		e.time(w.asked)
	}
}

// observed encodes the judge's memory.
func (e *encoder) observed(o observed) {
	e.ints(o.ticksLeft, o.faultsLeft)
	e.bools(o.syncOwed, o.resumed)
	for c := range exploredIDs {
		e.bools(o.inCache[c], o.left[c], o.known[c], o.told[c], o.due[c])
		e.ints(o.started[c], o.died[c], o.removed[c], o.yielded[c])
	}
}

func (e *encoder) ints(list ...int) {
	for _, i := range list {
		e.buf = binary.AppendVarint(e.buf, int64(i))
	}
}

func (e *encoder) bools(list ...bool) {
	for _, b := range list {
		if b {
			e.ints(1)
		} else {
			e.ints(0)
		}
	}
}

func (e *encoder) string(s string) {
	e.ints(len(s))
	e.buf = append(e.buf, s...)
}

func (e *encoder) view(v podView) { e.buf = append(e.buf, byte(v[0]), byte(v[1])) }

func (e *encoder) time(t time.Time) {
	e.bools(t.IsZero())
	if !t.IsZero() {
		e.ints(int(t.Sub(e.now)))
	}
}

// value encodes an addressable value, following pointers.
func (e *encoder) value(v reflect.Value) {
	t := v.Type()
	v = reflect.NewAt(t, unsafe.Pointer(v.UnsafeAddr())).Elem() // also of unexported fields
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		e.time(*x)
		return
	case *sync.Mutex:
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		e.bools(v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		e.ints(int(v.Int()))
	case reflect.Uint8:
		e.ints(int(v.Uint()))
	case reflect.Uint64:
		e.serials = append(e.serials, v.Uint())
	case reflect.String:
		e.string(v.String())
	case reflect.Chan:
	case reflect.Pointer:
		e.pointer(v)
	case reflect.Slice:
		e.ints(v.Len())
		for i := range v.Len() {
			e.value(v.Index(i))
		}
	case reflect.Map:
		e.mapping(v)
	case reflect.Struct:
		for _, i := range e.encoded(t) {
			e.value(v.Field(i))
		}
	default:
		panic(fmt.Sprintf("%v has no encoding", t))
	}
}

// A fieldsOf are the fields of a struct to encode.
type fieldsOf struct {
	t        reflect.Type
	timeless bool
}

var encodedFields sync.Map // from fieldsOf to []int

// encoded returns the fields of a struct to encode.
func (e *encoder) encoded(t reflect.Type) (list []int) {
	key := fieldsOf{t, e.timeless}
	if list, ok := encodedFields.Load(key); ok {
		return list.([]int)
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	for i := range t.NumField() {
		f := name + "." + t.Field(i).Name
		if !forgettable[f] && !(e.timeless && f == "exitNote.told") {
			list = append(list, i)
		}
	}
	encodedFields.Store(key, list)
	return list
}

func (e *encoder) pointer(v reflect.Value) {
	place, visited := e.visited[v.UnsafePointer()]
	switch {
	case v.IsNil():
		e.ints(-1)
	case visited:
		e.ints(place)
	default:
		e.visited[v.UnsafePointer()] = len(e.visited)
		e.ints(-2)
		e.value(v.Elem())
	}
}

// mapping encodes a map in the order of its encoded keys, of which pointers must be
// alone.
func (e *encoder) mapping(v reflect.Value) {
	type entry struct {
		key   string
		value reflect.Value
	}
	var list []entry
	e.ints(v.Len())
	for i := v.MapRange(); i.Next(); {
		start := len(e.buf)
		e.value(addressable(i.Key()))
		list = append(list, entry{string(e.buf[start:]), addressable(i.Value())})
		e.buf = e.buf[:start]
		if i.Key().Kind() == reflect.Pointer {
			e.buf = append(e.buf, list[len(list)-1].key...)
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	for _, x := range list {
		e.string(x.key)
		e.value(x.value)
	}
}

func addressable(v reflect.Value) reflect.Value {
	a := reflect.New(v.Type()).Elem()
	a.Set(v)
	return a
}

// ranks encodes the serial numbers by their order.
func (e *encoder) ranks() {
	order := append(slices.Clone(e.serials), 0)
	slices.Sort(order)
	order = slices.Compact(order)
	for _, s := range e.serials {
		rank, _ := slices.BinarySearch(order, s)
		e.ints(rank)
	}
}
