package jobpolicy

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// comparePods orders pods by index, UID and name. It orders pods equal in all three,
// which should not occur, by their content, so that the result never depends on the
// input order.
func comparePods(a, b *podView) int {
	if c := cmp.Compare(a.index, b.index); c != 0 {
		return c
	}
	if c := cmp.Or(strings.Compare(a.UID, b.UID), strings.Compare(a.Name, b.Name)); c != 0 || a.Pod == b.Pod {
		return c
	}
	return bytes.Compare(podText(a.Pod), podText(b.Pod))
}

// cutIndex splits off the pods with the index of the first one.
func cutIndex(pods []*podView) (same, rest []*podView) {
	n := 1
	for n < len(pods) && pods[n].index == pods[0].index {
		n++
	}
	return pods[:n], pods[n:]
}

// podText returns a text of the pod's entire content, equal only for equal pods.
func podText(pod *batch.Pod) []byte { return appendText(nil, reflect.ValueOf(pod)) }

// appendText appends a unique text for the value. Unlike JSON, it supports every time.
func appendText(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, '-')
		}
		return appendText(append(b, '*'), v.Elem())
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			zone, offset := t.Zone()
			return fmt.Appendf(b, "%d.%d%s%d;", t.Unix(), t.Nanosecond(), zone, offset)
		}
		for i := range v.NumField() {
			b = appendText(b, v.Field(i))
		}
		return b
	case reflect.Slice:
		b = fmt.Appendf(b, "%d:", v.Len())
		for i := range v.Len() {
			b = appendText(b, v.Index(i))
		}
		return b
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		b = fmt.Appendf(b, "%d:", len(keys))
		for _, key := range keys {
			b = appendText(appendText(b, key), v.MapIndex(key))
		}
		return b
	case reflect.String:
		return strconv.AppendQuote(b, v.String())
	}
	return fmt.Appendf(b, "%v;", v.Interface())
}
