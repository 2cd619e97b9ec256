package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// expectations are the tests expected to fail, by suite, with reasons. A name ending in
// /* stands for a test and all its subtests.
type expectations map[string]map[string]string

// readExpected reads lines of the form "SUITE TEST REASON". A reason must be a quote
// from the list of differences, regardless of line breaks there.
func readExpected(path, differences string) (expectations, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(differences)
	if err != nil {
		return nil, err
	}
	spaces := regexp.MustCompile(`\s+`)
	known := spaces.ReplaceAllString(string(page), " ")
	e := expectations{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: want SUITE TEST REASON", path, number)
		}
		if _, err := choose(fields[:1]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if !strings.Contains(known, spaces.ReplaceAllString(fields[2], " ")) {
			return nil, fmt.Errorf("%s:%d: %s does not say %q", path, number, differences, fields[2])
		}
		if e[fields[0]] == nil {
			e[fields[0]] = map[string]string{}
		}
		e[fields[0]][fields[1]] = fields[2]
	}
	return e, nil
}

func (e expectations) reason(suite, test string) string {
	if reason := e[suite][test]; reason != "" {
		return reason
	}
	for pattern, reason := range e[suite] {
		if prefix, ok := strings.CutSuffix(pattern, "/*"); ok && (test == prefix || strings.HasPrefix(test, prefix+"/")) {
			return reason
		}
	}
	return ""
}

// compare returns a line for each unexpected failure, and for each expected failure
// that did not occur.
func (e expectations) compare(suite string, r results, only *regexp.Regexp) []string {
	var lines []string
	used := map[string]bool{}
	for _, test := range r.leaves() {
		if r[test] != "FAIL" {
			continue
		}
		if reason := e.reason(suite, test); reason != "" {
			lines = append(lines, fmt.Sprintf("as expected, %s fails: %s", test, reason))
			used[reason+test] = true
		} else {
			lines = append(lines, "UNEXPECTED: "+test+" fails")
		}
	}
	for pattern, reason := range e[suite] {
		prefix, group := strings.CutSuffix(pattern, "/*")
		top, _, _ := strings.Cut(prefix, "/")
		if !only.MatchString(top) {
			continue
		}
		found := false
		for key := range used {
			test := strings.TrimPrefix(key, reason)
			found = found || test == pattern || group && (test == prefix || strings.HasPrefix(test, prefix+"/"))
		}
		if !found {
			lines = append(lines, "UNEXPECTED: "+pattern+" does not fail; take it from expected.txt")
		}
	}
	slices.Sort(lines)
	return lines
}

// specNames are the names of a suite's specs.
type specNames struct {
	run     []string // must neither disappear nor be skipped
	leftOut []string // must not disappear
}

// readSpecNames reads names, one a line. Those of specs that are left out follow a hyphen.
func readSpecNames(path string) (specNames, error) {
	var names specNames
	text, err := os.ReadFile(path)
	if err != nil {
		return names, err
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.ContainsAny(line, " \t") {
			return names, fmt.Errorf("%s:%d: want one name, without blanks", path, number)
		}
		list := &names.run
		name, leftOut := strings.CutPrefix(line, "-")
		if leftOut {
			list = &names.leftOut
		}
		if names.has(name) {
			return names, fmt.Errorf("%s:%d: %s is listed twice", path, number, name)
		}
		*list = append(*list, name)
	}
	return names, nil
}

func (n specNames) has(name string) bool {
	return slices.Contains(n.run, name) || slices.Contains(n.leftOut, name)
}

// compare returns a line for each listed spec that did not run, and for each spec that
// is not listed, unless it failed. The outcome of a spec that is left out is SKIP.
func (n specNames) compare(r results, only *regexp.Regexp) []string {
	var lines []string
	for _, name := range slices.Concat(n.run, n.leftOut) {
		switch {
		case !only.MatchString(name):
		case r[name] == "":
			lines = append(lines, "UNEXPECTED: "+name+" does not exist; take it from the list of names")
		case r[name] == "SKIP" && slices.Contains(n.run, name):
			lines = append(lines, "UNEXPECTED: "+name+" is skipped")
		}
	}
	for _, name := range r.leaves() {
		if !n.has(name) && r[name] != "FAIL" {
			lines = append(lines, "UNEXPECTED: "+name+" is new; add it to the list of names")
		}
	}
	slices.Sort(lines)
	return lines
}
