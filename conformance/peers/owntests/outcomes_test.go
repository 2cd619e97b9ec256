package owntests

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutcomesAreThoseOfLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		failed bool
		want   outcomes
	}{
		"subtests": {"--- FAIL: TestA (0.01s)\n    --- PASS: TestA/x (0.00s)\n    --- FAIL: TestA/y (0.00s)\nFAIL\n", true,
			outcomes{"p/TestA/x": "PASS", "p/TestA/y": "FAIL"}},
		"parent": {"--- FAIL: TestA (0.01s)\n    --- PASS: TestA/x (0.00s)\nFAIL\n", true,
			outcomes{"p/TestA/x": "PASS", "p/TestA": "FAIL"}},
		"crash":   {"=== RUN   TestA\npanic: x\n", true, outcomes{"p/TestA": "FAIL"}},
		"skipped": {"--- SKIP: TestA (0.00s)\nPASS\n", false, outcomes{"p/TestA": "SKIP"}},
	} {
		if diff := cmp.Diff(c.want, readOutcomes([]byte(c.output), "p/", "TestA", c.failed)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEveryDifferenceIsUnexpected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "expected.txt")
	write := func(text string) map[string]string {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		expected, err := readExpected(path)
		if err != nil {
			t.Log(err)
			return nil
		}
		return expected
	}
	expected := write("# comment\n\nTestA because of a\nTestB b\nTestC c\n")
	want := []string{
		"FAIL TestA, as expected: because of a",
		"UNEXPECTED: TestB does not fail: b",
		"UNEXPECTED: TestD fails",
		"SKIP TestE",
		"UNEXPECTED: TestC is expected to fail, but there is none",
	}
	got := outcomes{"TestA": "FAIL", "TestB": "PASS", "TestD": "FAIL", "TestE": "SKIP"}.compare(expected)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"TestA\n", "TestA a\nTestA b\n"} {
		if write(bad) != nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
