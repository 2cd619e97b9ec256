package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// With -reach, the methods of these types report their calls. Constructors do not,
// because a test that only creates a value does not test it.
var reachable = []struct {
	dir   string // from the folder of this module
	types []string
}{
	{"../../backoff", []string{"Tracker"}},
	{"../../pleg", []string{"Generator"}},
	{"../../pleg/statuscache", []string{"Cache"}},
	{"../../kube/jobcontroller", []string{"Controller"}},
}

// reachMark is the line they print among the output of the tests.
const reachMark = "\x16reached"

// reachOverlay writes the file for go's -overlay that replaces the reachable types'
// files with versions that print reachMark. It returns the file's path.
func (t *tree) reachOverlay() (string, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	dir := filepath.Join(t.dir, "reach")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, r := range reachable {
		files, err := filepath.Glob(filepath.Join(r.dir, "*.go"))
		if err != nil {
			return "", err
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			marked := filepath.Join(dir, filepath.Base(r.dir)+"_"+filepath.Base(path))
			if err := os.WriteFile(marked, text, 0o644); err != nil {
				return "", err
			}
			if err := rewrite(marked, func(f *file) error {
				f.startOfMethods(r.types, "print("+strconv.Quote("\n"+reachMark+"\n")+")")
				return nil
			}); err != nil {
				return "", err
			}
			if path, err = filepath.Abs(path); err != nil {
				return "", err
			}
			overlay.Replace[path] = marked
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o644)
}

// nowRuns matches lines that name the running test.
var nowRuns = regexp.MustCompile(`=== (RUN|CONT|NAME|PAUSE) +(\S+)`)

// readReached adds the tests during which a test binary printed reachMark. Only one
// test may run at a time. The output does not show where a subtest ends, so later calls
// by its parent count for the subtest.
func readReached(reached map[string]bool, output []byte) {
	current := ""
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		line := lines.Bytes()
		if m := nowRuns.FindSubmatch(line); m != nil {
			if current = string(m[2]); string(m[1]) == "PAUSE" {
				current = current[:max(0, strings.LastIndex(current, "/"))]
			}
		}
		if bytes.Contains(line, []byte(reachMark)) && current != "" {
			reached[current] = true
		}
		if outcomeLine.Match(line) {
			current = ""
		}
	}
}

// reaches reports whether a test or one of its parents was reached. A parent runs the
// code that its subtests share.
func reaches(reached map[string]bool, test string) bool {
	for i := range test {
		if test[i] == '/' && reached[test[:i]] {
			return true
		}
	}
	return reached[test]
}

// countReached counts the leaves of r that were reached, and writes their names to a
// file beside the suite's log.
func (t *tree) countReached(s suite, r results, reached map[string]bool) (int, error) {
	leaves := slices.DeleteFunc(r.leaves(), func(name string) bool { return !reaches(reached, name) })
	text := strings.Join(leaves, "\n") + "\n"
	return len(leaves), os.WriteFile(filepath.Join(t.dir, s.name+".reached"), []byte(text), 0o644)
}
