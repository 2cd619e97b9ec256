package owntests

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// outcomes are PASS, FAIL or SKIP, by the name of a test without subtests.
type outcomes map[string]string

var outcomeLine = regexp.MustCompile(`(?m)--- (PASS|FAIL|SKIP): (\S+) \(\d`)

// readOutcomes reads the verbose output of a top-level test. A test that ended the
// process, or whose parent fails by itself, has failed.
func readOutcomes(output []byte, prefix, top string, failed bool) outcomes {
	all := outcomes{}
	for _, m := range outcomeLine.FindAllSubmatch(output, -1) {
		all[prefix+string(m[2])] = string(m[1])
	}
	fails := func(name string) bool { return all[name] == "FAIL" }
	leaves := outcomes{}
	for name, outcome := range all {
		isChild := func(other string) bool { return strings.HasPrefix(other, name+"/") }
		children := slices.DeleteFunc(slices.Collect(maps.Keys(all)), func(other string) bool { return !isChild(other) })
		if len(children) == 0 || fails(name) && !slices.ContainsFunc(children, fails) {
			leaves[name] = outcome
		}
	}
	if failed && !slices.ContainsFunc(slices.Collect(maps.Keys(leaves)), fails) {
		leaves[prefix+top] = "FAIL"
	}
	return leaves
}

func (o outcomes) add(more outcomes) { maps.Copy(o, more) }

// compare returns a line for each test, and for each expected failure that is missing.
// Lines about a difference begin with UNEXPECTED.
func (o outcomes) compare(expected map[string]string) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		reason, listed := expected[name]
		switch outcome := o[name]; {
		case outcome == "FAIL" && listed:
			lines = append(lines, fmt.Sprintf("FAIL %s, as expected: %s", name, reason))
		case outcome == "FAIL":
			lines = append(lines, "UNEXPECTED: "+name+" fails")
		case listed:
			lines = append(lines, "UNEXPECTED: "+name+" does not fail: "+reason)
		default:
			lines = append(lines, outcome+" "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if o[name] == "" {
			lines = append(lines, "UNEXPECTED: "+name+" is expected to fail, but there is none")
		}
	}
	return lines
}

// readExpected returns the tests that fail, with the reasons.
func readExpected(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	expected := map[string]string{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if reason == "" || expected[name] != "" {
			return nil, fmt.Errorf("%s:%d: want TEST REASON, once for each test", path, number)
		}
		expected[name] = reason
	}
	return expected, nil
}
