package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/restartkit/restart/conformance/vectors"
)

// choice selects cases. Empty fields select all.
type choice struct {
	files, kinds string // separated by commas
	only         string // a regular expression for ids
}

// choose reads the selected cases of a folder, in the order of the files' names.
func (o choice) choose(files fs.FS) ([]*vectors.Case, error) {
	names, err := vectors.Names(files)
	if err != nil {
		return nil, err
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	if o.files != "" {
		chosen := strings.Split(o.files, ",")
		for _, name := range chosen {
			if !slices.Contains(names, name) {
				return nil, fmt.Errorf("-file %s: no such file; there are %s", name, strings.Join(names, ", "))
			}
		}
		names = chosen
	}
	kinds := map[string]bool{}
	var cases []*vectors.Case
	for _, name := range names {
		read, err := vectors.Read(files, name)
		if err != nil {
			return nil, err
		}
		for _, c := range read {
			kinds[c.FullKind()] = true
		}
		cases = append(cases, read...)
	}
	if o.kinds != "" {
		chosen := strings.Split(o.kinds, ",")
		for _, kind := range chosen {
			if !kinds[kind] {
				return nil, fmt.Errorf("-kind %s: no such kind; there are %s", kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
			}
		}
		cases = slices.DeleteFunc(cases, func(c *vectors.Case) bool { return !slices.Contains(chosen, c.FullKind()) })
	}
	cases = slices.DeleteFunc(cases, func(c *vectors.Case) bool { return !only.MatchString(c.FullID()) })
	if len(cases) == 0 {
		return nil, errors.New("no case is left to ask")
	}
	return cases, nil
}

// readKnown reads a list of known differences, by id. Each line is an id, a colon and
// the reason; empty lines and those that begin with # are comments. No file is an empty
// list.
func readKnown(path string) (map[string]string, error) {
	known := map[string]string{}
	if path == "" {
		return known, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("-known: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		id, reason, ok := strings.Cut(text, ": ")
		if reason = strings.TrimSpace(reason); !ok || reason == "" {
			return nil, fmt.Errorf("-known %s:%d: want \"id: reason\"", path, n)
		}
		if _, twice := known[id]; twice {
			return nil, fmt.Errorf("-known %s:%d: %s is there twice", path, n, id)
		}
		known[id] = reason
	}
	return known, lines.Err()
}
