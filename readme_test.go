package restart_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	// What the programs use: no result of the test is kept when these change.
	_ "github.com/restartkit/restart/backoff"
	_ "github.com/restartkit/restart/indexset"
	_ "github.com/restartkit/restart/jobpolicy"
	_ "github.com/restartkit/restart/pleg"
)

var (
	goSnippet = regexp.MustCompile("(?s)```go\n(.*?)```")
	onlyMain  = regexp.MustCompile(`(?m)^func main\(\) \{$`)
)

// The programs in README.md compile and come to an end, also on a clock so coarse
// that it does not move while they run: that of a synctest bubble. A program that
// waits for ever is a deadlock there, at once.
func TestReadmeProgramsEnd(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	snippets := goSnippet.FindAllStringSubmatch(string(readme), -1)
	if len(snippets) < 4 {
		t.Fatalf("%d programs, less than one for each package", len(snippets))
	}
	args := []string{"test"}
	dir := t.TempDir()
	for i, snippet := range snippets {
		test := fmt.Sprintf("func TestProgram%d(t *testing.T) { synctest.Test(t, func(*testing.T) { program%[1]d() }) }\n", i)
		text := onlyMain.ReplaceAllString(snippet[1], fmt.Sprintf("func program%d() {", i)) + test
		text = strings.Replace(text, "package main\n", "package main\n\nimport (\n\t\"testing\"\n\t\"testing/synctest\"\n)\n", 1)
		file := filepath.Join(dir, fmt.Sprintf("program%d_test.go", i))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	if out, err := exec.Command("go", append(args, "-v")...).CombinedOutput(); err != nil || strings.Count(string(out), "--- PASS") != len(snippets) {
		t.Errorf("%v\n%s", err, out)
	}
}
