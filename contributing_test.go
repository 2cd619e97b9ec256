package restart_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var inWalk = regexp.MustCompile("`([a-z]+/[a-z_]+\\.go): ([A-Za-z, ]+)`")

// CONTRIBUTING.md leads a reader from function to function, each named with its
// file, which ought to be where it says.
func TestWalksNameWhatIsThere(t *testing.T) {
	guide, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := inWalk.FindAllStringSubmatch(string(guide), -1)
	if len(steps) < 30 {
		t.Errorf("only %d steps were found", len(steps))
	}
	for _, step := range steps {
		text, err := os.ReadFile(step[1])
		if err != nil {
			t.Error(err)
			continue
		}
		for name := range strings.SplitSeq(step[2], ", ") {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `[\[(]`).Match(text) {
				t.Errorf("%s has no function %s", step[1], name)
			}
		}
	}
}
