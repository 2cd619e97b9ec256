package main

import (
	"cmp"
	"fmt"
	"regexp"
)

// What package backoff calls the settings of the node, in its notes.
const (
	settingReduce = "ReduceDefault"
	settingMax    = "Max"
	settingGate   = "KubeletCrashLoopBackOffMax"
)

var setting = regexp.MustCompile(`\b(` + settingReduce + `|` + settingMax + `|` + settingGate + `)\b`)

// notes are what led to the node's curve. They call each setting what the person
// calls it who made it: by a flag, or by a field of the file.
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
