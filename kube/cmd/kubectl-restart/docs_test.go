package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var recorded = regexp.MustCompile("(?s)```\n(\\$ kubectl restart .*?)```")

// Each output in the documentation is a recorded one.
func TestDocumentedOutputIsRecorded(t *testing.T) {
	page, err := os.ReadFile("../../../docs/kubectl-restart.md")
	if os.IsNotExist(err) {
		t.Skip("the rest of the repository is not there")
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("internal/explain/testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		all.WriteString("\n")
	}
	outputs := recorded.FindAllStringSubmatch(string(page), -1)
	for _, m := range outputs {
		if !strings.Contains(all.String(), m[1]) {
			t.Errorf("this is in no file of internal/explain/testdata:\n%s", m[1])
		}
	}
	if len(outputs) < 6 {
		t.Errorf("only %d outputs were found", len(outputs))
	}
}
