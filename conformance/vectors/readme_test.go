package vectors

import (
	"os"
	"regexp"
	"testing"
)

// The page describes every kind, and its change log begins with the present version.
func TestReadmeDescribesEveryKind(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	names, err := Names(Embedded())
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, name := range names {
		cases, err := Read(Embedded(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			kinds[c.FullKind()] = true
		}
	}
	for kind := range kinds {
		if !regexp.MustCompile("(?m)^\\| .*`" + kind + "`.* \\|").Match(page) {
			t.Errorf("no row for the kind %s", kind)
		}
	}
	versions := regexp.MustCompile(`(?m)^### (\S+)$`).FindSubmatch(page)
	if versions == nil || string(versions[1]) != Version() {
		t.Errorf("the change log begins with %q, the version is %s", versions, Version())
	}
}

// The page shows a question as the runner asks it.
func TestReadmeShowsAQuestion(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindSubmatch(page)
	cases, err := Read(Embedded(), "restartdelay")
	if err != nil || shown == nil {
		t.Fatal(err, shown)
	}
	for _, c := range cases {
		question, err := c.Question()
		if err != nil {
			t.Fatal(err)
		}
		if string(question) == string(shown[1]) {
			return
		}
	}
	t.Errorf("no case has the question %s", shown[1])
}
