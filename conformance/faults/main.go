// The faults command runs every command of docs/faults.md and prints its result. A test
// that is missing or skipped counts as failed. Start it in the root of the repository.
//
//	go run ./conformance/faults
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// page is the list of faults.
const page = "docs/faults.md"

// commandText is a command of the page. Each runs one test.
var commandText = regexp.MustCompile("`go (?:-C (\\S+) )?test (\\S+) -run '\\^(\\w+)\\$'`")

// A command runs one test.
type command struct{ module, pkg, test string }

// row is a line of a table, with the commands in it.
type row struct {
	text     string
	commands []command
}

// read returns the rows of all tables.
func read(text []byte) (rows []row) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	before := ""
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "| ") && strings.HasPrefix(before, "|") { // not the head of a table
			r := row{text: line}
			for _, m := range commandText.FindAllStringSubmatch(line, -1) {
				c := command{m[1], m[2], m[3]}
				if c.module == "" {
					c.module = "."
				}
				r.commands = append(r.commands, c)
			}
			rows = append(rows, r)
		}
		before = line
	}
	return rows
}

func main() {
	text, err := os.ReadFile(page)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !run(read(text)) {
		os.Exit(1)
	}
}

// run runs the tests of each package together, and reports whether all passed.
func run(rows []row) bool {
	tests := map[command][]string{} // by module and package
	var packages []command
	for _, r := range rows {
		for _, c := range r.commands {
			test := c.test
			if c.test = ""; tests[c] == nil {
				packages = append(packages, c)
			}
			if !slices.Contains(tests[c], test) {
				tests[c] = append(tests[c], test)
			}
		}
	}
	passed, failed := 0, 0
	for _, p := range packages {
		output, err := exec.Command("go", "-C", p.module, "test", "-tags", "long", "-count=1", "-v", "-run", "^("+strings.Join(tests[p], "|")+")$", p.pkg).CombinedOutput()
		bad := false
		for _, test := range tests[p] {
			result := "passed"
			if passed++; !bytes.Contains(output, []byte("--- PASS: "+test+" ")) {
				result, bad = "FAILED", true
				passed--
				failed++
			}
			fmt.Printf("%-22s %-30s %-50s %s\n", p.module, p.pkg, test, result)
		}
		if bad || err != nil {
			fmt.Printf("%v\n%s\n", err, output)
		}
	}
	fmt.Printf("%d tests: %d passed, %d failed\n", passed+failed, passed, failed)
	return failed == 0
}
