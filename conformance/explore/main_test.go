package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// called runs the command and returns its exit code and output.
func called(ctx context.Context, args ...string) (code int, out, progress string) {
	var o, p bytes.Buffer
	code = command.Run(ctx, args, &o, &p)
	return code, o.String(), p.String()
}

// Without faults every Job of the table is clean, and its rows say so.
func TestTable(t *testing.T) {
	code, out, progress := called(context.Background(), "-faults", "0")
	want := len(command.Shapes)
	if rows := strings.Count(out, "| clean |\n"); code != 0 || rows != want {
		t.Errorf("exit code %d, %d clean rows of %d:\n%s", code, rows, want, out)
	}
	if !strings.HasPrefix(progress, "1 of ") || strings.Count(progress, "\n") != want {
		t.Errorf("progress:\n%s", progress)
	}
}

func TestSlice(t *testing.T) {
	states := func(args ...string) int {
		code, out, _ := called(t.Context(), append(args, "-faults", "1", "-only", "replaceEnded")...)
		sum := regexp.MustCompile(`\| 2 Jobs \| (\d+) \|`).FindStringSubmatch(out)
		if code != 0 || sum == nil {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
		n, _ := strconv.Atoi(sum[1])
		return n
	}
	all, fewer := states(), states("-without", "crash,refuse")
	if all < 10_000 || fewer >= all || fewer < all/2 {
		t.Errorf("%d states, and %d with fewer faults", all, fewer)
	}
	if code, _, said := called(context.Background(), "-without", "crush"); code != 2 || !strings.Contains(said, `"crush" is none of the faults: fail=2 `) {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, out, _ := called(context.Background(), "-job", "fail=1 total=1", "-states", "20"); code != 0 || !strings.Contains(out, "| clean so far |") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// A cancelled run prints the table so far.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	code, out, _ := called(ctx)
	if code != 0 || !strings.Contains(out, "\n| 0 Jobs | 0 |") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestReplay(t *testing.T) {
	file := filepath.Join("jobworld", "testdata", "counted-late.story")
	if code, out, progress := called(context.Background(), "-story", file); code != 0 || out != file+": 18 steps break no invariant\n" {
		t.Errorf("exit code %d: %s%s", code, out, progress)
	}
	impossible := filepath.Join(t.TempDir(), "impossible.story")
	if err := os.WriteFile(impossible, []byte("job\npod 1 fails with 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, progress := called(context.Background(), "-story", impossible); code != 2 || !strings.Contains(progress, "is not possible") {
		t.Errorf("exit code %d: %s", code, progress)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"-workers", "0"}, {"-job", "fail=1"}, {"-job", "pods=1"}, {"-job", "fail=1 total=1", "-faults", "1"}, {"-story", "none"}, {"more"}, {"-x"}} {
		want := 2
		if args[1%len(args)] == "fail=1" {
			want = 0
		}
		if code, _, progress := called(context.Background(), args...); code != want {
			t.Errorf("%q: exit code %d: %s", args, code, progress)
		}
	}
	if code, _, progress := called(context.Background(), "-h"); code != 0 || !strings.Contains(progress, "-story") {
		t.Errorf("-h: exit code %d: %s", code, progress)
	}
}

// The Jobs of kubernetes/testdata, under whose faults Kubernetes breaks an
// invariant, keep to all of them.
func TestFaultsOfKubernetesAreAbsent(t *testing.T) {
	for _, job := range []string{
		"indexed watchOnly perIndex=1 total=1 unanswered=1",
		"watchOnly total=1 suspend=1",
		"watchOnly completions=2 total=1 takeover=1",
		"indexed watchOnly perIndex=0 total=2 delete=1 refuse=1",
		"watchOnly backoffLimit=1 total=2 delete=1 refuse=1",
		"indexed watchOnly parallelism=2 completions=2 success=1 total=1 unanswered=1",
		"watchOnly backoffLimit=1 total=2 delete=1 unanswered=1",
		"starts watchOnly total=2 vanish=1 suspend=1",
		"indexed watchOnly completions=2 total=2 vanish=1 unanswered=1",
	} {
		if code, out, _ := called(t.Context(), "-job", job); code != 0 {
			t.Error(out)
		}
	}
}
