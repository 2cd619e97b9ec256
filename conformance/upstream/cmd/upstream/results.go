package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// results are the outcomes of tests and subtests by name, as PASS, FAIL or SKIP.
type results map[string]string

var (
	outcomeLine = regexp.MustCompile(`--- (PASS|FAIL|SKIP): (\S+) \(\d`)
	testName    = regexp.MustCompile(`^Test\w*$`)
)

// run runs the tests of a suite and writes their output to a log in the tree's folder.
func (t *tree) run(ctx context.Context, s suite, o options) (results, error) {
	if s.specs != nil {
		return t.runOnNode(ctx, s, o)
	}
	b, err := t.prepare(ctx, s, o)
	if err != nil {
		return nil, err
	}
	names, err := b.list(ctx, o.only)
	if err != nil {
		return nil, err
	}
	all := results{}
	if !o.baseline {
		for _, name := range s.allLeftOut() {
			if o.only.MatchString(name) {
				all[name] = "FAIL"
			}
		}
	}
	log, err := os.Create(filepath.Join(t.dir, s.name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if !s.apart {
		if len(names) == 0 {
			return all, nil
		}
		output, failed, err := b.test(ctx, log, names)
		if err != nil {
			return nil, err
		}
		all.read(output, names, failed)
		return all, nil
	}
	for i := range names {
		start := time.Now()
		output, failed, err := b.test(ctx, log, names[i:i+1])
		if err != nil {
			return nil, err
		}
		all.read(output, names[i:i+1], failed)
		fmt.Fprintf(o.stderr, "%s %d of %d: %s %s, %v\n", s.name, i+1, len(names), names[i], all[names[i]], time.Since(start).Round(time.Second))
	}
	return all, nil
}

// A testBinary is the compiled tests of a suite, with the environment to run them.
type testBinary struct {
	path string
	dir  string
	etcd string // path of the program, if the tests start etcd
	env  []string
}

// prepare compiles the tests of a suite.
func (t *tree) prepare(ctx context.Context, s suite, o options) (b testBinary, err error) {
	b.dir = filepath.Join(t.dir, s.pkg)
	if b.path, err = t.build(ctx, s); err != nil {
		return b, err
	}
	if !o.baseline {
		b.env = s.env
	}
	if s.etcd {
		programs, err := testenv.Build(ctx, testenv.Options{Log: o.stderr})
		if err != nil {
			return b, err
		}
		b.etcd = programs.Etcd
		// With -trimpath the tests look for their files here.
		b.env = append(slices.Clone(b.env), "TEST_SRCDIR="+filepath.Dir(t.dir), "TEST_WORKSPACE="+filepath.Base(t.dir))
	}
	return b, nil
}

// list returns the top-level tests whose names match.
func (b testBinary) list(ctx context.Context, only *regexp.Regexp) (names []string, err error) {
	listed, err := b.run(ctx, "-test.list=^Test")
	if err != nil {
		return nil, fmt.Errorf("cannot list the tests: %w\n%s", err, listed)
	}
	for line := range strings.Lines(string(listed)) { // among lines of a log
		if name := strings.TrimSpace(line); testName.MatchString(name) && only.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// test runs top-level tests in one process and copies their output to log.
func (b testBinary) test(ctx context.Context, log io.Writer, names []string) (output []byte, failed bool, err error) {
	output, err = b.run(ctx, "-test.v", "-test.timeout=30m", "-test.run=^("+strings.Join(names, "|")+")$")
	log.Write(output)
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	if _, failed = errors.AsType[*exec.ExitError](err); failed {
		err = nil
	}
	return output, failed, err
}

// run runs the binary, with an etcd of its own if necessary. Kubernetes' framework
// would start etcd on a Unix socket, which Debian's etcd rejects.
func (b testBinary) run(ctx context.Context, args ...string) ([]byte, error) {
	env := slices.Clone(b.env)
	if b.etcd != "" {
		url, stop, err := startEtcd(ctx, b.etcd)
		if err != nil {
			return nil, err
		}
		defer stop()
		env = append(env, "KUBE_INTEGRATION_ETCD_URL="+url)
	}
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), env...)
	inGroup(cmd)
	return cmd.CombinedOutput()
}

// inGroup makes the end of the command's context kill the programs that it starts, too.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
}

// read adds the outcomes from a test binary's output.
func (r results) read(output []byte, names []string, failed bool) {
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		for _, m := range outcomeLine.FindAllSubmatch(lines.Bytes(), -1) {
			r[string(m[2])] = string(m[1])
		}
	}
	r.complete(names, failed)
}

// complete adds what the output of a process lacks. A test without an outcome, because
// the process crashed, has failed. If the process failed but no test did, it found a
// problem afterwards, such as leaked goroutines, which complete adds as a test of its
// own.
func (r results) complete(names []string, failed bool) {
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

// leaves returns the tests without subtests, in order.
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
