package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/restartkit/restart/kube/testenv"
)

// results are the outcomes of tests and subtests by name: PASS, FAIL or SKIP.
type results map[string]string

var (
	outcomeLine = regexp.MustCompile(`--- (PASS|FAIL|SKIP): (\S+) \(\d`)
	testName    = regexp.MustCompile(`^Test\w*$`)
)

// run runs the tests of a suite. Their output goes to a log in the tree's folder.
func (t *tree) run(ctx context.Context, s suite, o options) (results, error) {
	binary, err := t.build(ctx, s)
	if err != nil {
		return nil, err
	}
	var env []string
	if !o.baseline {
		env = s.env
	}
	var etcd string
	if s.etcd {
		programs, err := testenv.Build(ctx, o.stderr)
		if err != nil {
			return nil, err
		}
		etcd = programs.Etcd
		// With -trimpath the tests look for their files here.
		env = append(env, "TEST_SRCDIR="+filepath.Dir(t.dir), "TEST_WORKSPACE="+filepath.Base(t.dir))
	}
	dir := filepath.Join(t.dir, s.pkg)
	listed, err := runTests(ctx, binary, dir, etcd, env, "-test.list=^Test")
	if err != nil {
		return nil, fmt.Errorf("cannot list the tests: %w\n%s", err, listed)
	}
	var names []string
	for line := range strings.Lines(string(listed)) { // between lines of a log
		if name := strings.TrimSpace(line); testName.MatchString(name) && o.only.MatchString(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return results{}, nil
	}
	runs := [][]string{names}
	if s.apart {
		runs = nil
		for _, name := range names {
			runs = append(runs, []string{name})
		}
	}
	log, err := os.Create(filepath.Join(t.dir, s.name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	all := results{}
	for i, names := range runs {
		start := time.Now()
		output, err := runTests(ctx, binary, dir, etcd, env, "-test.v", "-test.timeout=30m", "-test.run=^("+strings.Join(names, "|")+")$")
		log.Write(output)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		_, failed := errors.AsType[*exec.ExitError](err)
		if err != nil && !failed {
			return nil, err
		}
		all.read(output, names, failed)
		if s.apart {
			fmt.Fprintf(o.stderr, "%s %d of %d: %s %s, %v\n", s.name, i+1, len(runs), names[0], all[names[0]], time.Since(start).Round(time.Second))
		}
	}
	return all, nil
}

// runTests runs a test binary, with an etcd of its own if there is a path of one.
// Kubernetes' framework would start etcd on a Unix socket, which Debian's refuses.
func runTests(ctx context.Context, binary, dir, etcd string, env []string, args ...string) ([]byte, error) {
	if etcd != "" {
		url, stop, err := startEtcd(ctx, etcd)
		if err != nil {
			return nil, err
		}
		defer stop()
		env = append(slices.Clone(env), "KUBE_INTEGRATION_ETCD_URL="+url)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with the programs that the tests start
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd.CombinedOutput()
}

// read takes the outcomes from a test binary's output. A test that has none, because
// the binary crashed, has failed. A binary that fails although no test does has found
// something once they were over, such as goroutines that are left; that is a test of
// its own here.
func (r results) read(output []byte, names []string, failed bool) {
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		for _, m := range outcomeLine.FindAllSubmatch(lines.Bytes(), -1) {
			r[string(m[2])] = string(m[1])
		}
	}
	for _, name := range names {
		if r[name] == "" {
			r[name] = "FAIL"
		}
	}
	if failed && !slices.ContainsFunc(names, func(name string) bool { return r[name] == "FAIL" }) {
		end := "end of the process"
		if len(names) == 1 {
			end = names[0] + "/" + end
		}
		r[end] = "FAIL"
	}
}

// leaves returns the tests that have no subtests, in order.
func (r results) leaves() []string {
	parents := map[string]bool{}
	for name := range r {
		for i := range name {
			if name[i] == '/' {
				parents[name[:i]] = true
			}
		}
	}
	var leaves []string
	for name, outcome := range r {
		// A test may fail although its subtests pass.
		if !parents[name] || outcome == "FAIL" && !r.childFails(name) {
			leaves = append(leaves, name)
		}
	}
	slices.Sort(leaves)
	return leaves
}

func (r results) childFails(name string) bool {
	for child, outcome := range r {
		if outcome == "FAIL" && strings.HasPrefix(child, name+"/") {
			return true
		}
	}
	return false
}

func (r results) count() (pass, fail, skip int) {
	for _, name := range r.leaves() {
		switch r[name] {
		case "PASS":
			pass++
		case "FAIL":
			fail++
		default:
			skip++
		}
	}
	return
}
