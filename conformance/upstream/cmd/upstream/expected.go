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
// from DEVIATIONS.md, regardless of line breaks there.
func readExpected(path, deviations string) (expectations, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(deviations)
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
			return nil, fmt.Errorf("%s:%d: DEVIATIONS.md does not say %q", path, number, fields[2])
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

// readNames reads the names of a suite's tests, one a line.
func readNames(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var names []string
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.ContainsAny(line, " \t") {
			return nil, fmt.Errorf("%s:%d: want one name, without blanks", path, number)
		}
		if slices.Contains(names, line) {
			return nil, fmt.Errorf("%s:%d: %s is listed twice", path, number, line)
		}
		names = append(names, line)
	}
	return names, nil
}

// compareNames returns a line for each listed test that did not run, and for each test
// that is not listed.
func compareNames(names []string, r results, only *regexp.Regexp) []string {
	var lines []string
	for _, name := range names {
		switch {
		case !only.MatchString(name):
		case r[name] == "":
			lines = append(lines, "UNEXPECTED: "+name+" does not exist; take it from the list of names")
		case r[name] == "SKIP":
			lines = append(lines, "UNEXPECTED: "+name+" is skipped")
		}
	}
	for _, name := range r.leaves() {
		if !slices.Contains(names, name) {
			lines = append(lines, "UNEXPECTED: "+name+" is new; add it to the list of names")
		}
	}
	slices.Sort(lines)
	return lines
}
