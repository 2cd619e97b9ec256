package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestLoadsAreListed(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-list", "-run", "KEP|small"}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	want := "KEP-2879           338 Jobs,   3050 pods\nsmall             2000 Jobs,   2000 pods\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if code := run(t.Context(), []string{"-list", "-run", "KEP|large$", "-divide", "10"}, &out, &errs); code != 0 || !strings.Contains(out.String(), " 34 Jobs,    465 pods\n") || !strings.Contains(out.String(), " 1 Jobs,    100 pods\n") {
		t.Errorf("a tenth: exit code %d\n%s", code, out.String())
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"-run", "("}, {"-rounds", "0"}, {"-divide", "0"}, {"more"}, {"-x"}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 || errs.Len() == 0 {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}
