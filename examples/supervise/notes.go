package main

import (
	"cmp"
	"fmt"
	"regexp"
)

// The names that package backoff uses for the node's settings in its notes.
const (
	settingReduce = "ReduceDefault"
	settingMax    = "Max"
	settingGate   = "KubeletCrashLoopBackOffMax"
)

var setting = regexp.MustCompile(`\b(` + settingReduce + `|` + settingMax + `|` + settingGate + `)\b`)

// notes returns what led to the node's curve. They name each setting as the user gave
// it: by its flag, or by its field in the file.
func (o *options) notes() []string {
	var notes []string
	for _, note := range o.resolution.Notes {
		kind := "note"
		if note.Warning {
			kind = "warning"
		}
		text := fmt.Sprintf("%s: %s=%s: %s", kind, note.Field, note.Value, note.Reason)
		notes = append(notes, setting.ReplaceAllStringFunc(text, func(name string) string {
			return cmp.Or(o.called[name], name)
		}))
	}
	return notes
}
