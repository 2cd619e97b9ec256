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
	now     time.Time
	buf     []byte
	visited map[unsafe.Pointer]int
	serials []uint64
}

// forgettable are the fields that influence neither the Generator's later steps nor a
// check.
var forgettable = map[string]bool{
	"Generator.runtime": true, "Generator.stream": true, "Generator.cache": true, "Generator.writer": true, "Generator.o": true,
	"Generator.stats": true, "Generator.changed": true, "Generator.now": true, "scheduler.o": true, "publisher.merged": true,
	"formerContainers.removals": true, "formerContainer.until": true,
}

// encode returns a checksum of all of w that later steps and checks depend on.
func (e *encoder) encode(w *podWorld) []byte {
	clear(e.visited)
	e.now, e.buf, e.serials = w.now, e.buf[:0], e.serials[:0]
	e.value(reflect.ValueOf(w.g).Elem())
	e.ranks()
	e.bools(w.g.stats.Relists > 0)

	entry := w.cache.Get(exploredPod)
	e.bools(entry.Present, entry.Err != nil)
	e.view(entry.Status)
	e.time(entry.Modified)
	e.time(w.cache.Get("none").Modified) // the global time
	e.ints(w.g.writer.Counts().Tombstones)
	e.runtime(w, entry.Modified)
	e.observed(w)
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
	e.ints(len(w.versions)-first, w.shown-first, len(w.calls), len(w.events))
	for _, v := range w.versions[first:] {
		e.view(v.is)
		if v.until.Before(modified) {
			v.until = time.Time{}
		}
		e.time(v.until)
	}
	for _, f := range w.calls {
		e.bools(f.question.list)
		e.ints(f.from - first)
		e.time(f.question.start)
	}
	for _, x := range w.events {
		e.string(x.Container)
		e.ints(int(x.Type))
	}
	for _, p := range w.pending {
		e.ints(p.c, int(p.to))
	}
	e.time(w.finished[1])
	e.time(w.model.made)
	e.bools(w.streaming, w.waits)
	if w.waits {
		e.time(w.waitMin)
		e.time(w.asked)
	}
}

// observed encodes the judge's memory.
func (e *encoder) observed(w *podWorld) {
	o := w.observed
	e.ints(o.ticksLeft, o.faultsLeft)
	e.bools(o.syncOwed, o.resumed, o.closed, o.lied, o.model.Full)
	if o.closed {
		e.string(fmt.Sprint(w.exits.Position()))
	}
	for c, id := range exploredIDs {
		e.bools(o.inCache[c], o.left[c], o.known[c], o.reported[c], o.model.owed[id], o.model.past[id], o.model.perhaps[id], o.model.listed[id])
		e.ints(o.started[c], o.died[c], o.removed[c], o.yielded[c], int(o.seen[c]))
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

var encodedFields sync.Map // from reflect.Type to []int

// encoded returns the fields of a struct to encode.
func (e *encoder) encoded(t reflect.Type) (list []int) {
	if list, ok := encodedFields.Load(t); ok {
		return list.([]int)
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	for i := range t.NumField() {
		if !forgettable[name+"."+t.Field(i).Name] {
			list = append(list, i)
		}
	}
	encodedFields.Store(t, list)
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
