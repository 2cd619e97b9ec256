package restart_test

import (
	"os"
	"regexp"
	"testing"
)

// inWalk finds functions with their file, such as "`ask` and `turn` in `pleg/run.go`".
var (
	inWalk   = regexp.MustCompile("((?:`[A-Za-z]+`(?:,|\\s+and)\\s+)*`[A-Za-z]+`)\\s+in\\s+`([a-z]+/[a-z_/]+\\.go)`")
	funcName = regexp.MustCompile("`([A-Za-z]+)`")
)

// The walks in CONTRIBUTING.md name functions with their files, which must have them.
func TestWalksNameWhatIsThere(t *testing.T) {
	guide, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := inWalk.FindAllStringSubmatch(string(guide), -1)
	if len(steps) < 50 {
		t.Errorf("only %d steps were found", len(steps))
	}
	for _, step := range steps {
		text, err := os.ReadFile(step[2])
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range funcName.FindAllStringSubmatch(step[1], -1) {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name[1] + `[\[(]`).Match(text) {
				t.Errorf("%s has no function %s", step[2], name[1])
			}
		}
	}
}
