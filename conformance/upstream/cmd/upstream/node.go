package main

import (
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
	"time"

	"github.com/restartkit/restart/kube/testenv"
)

// runOnNode runs the specs of a suite on a new one-node cluster. Unless it is the
// baseline, the suite's program runs beside them. Specs that are left out count as
// skipped.
func (t *tree) runOnNode(ctx context.Context, s suite, o options) (all results, err error) {
	known, err := readSpecNames(s.specs.names)
	if err != nil {
		return nil, err
	}
	b, err := t.buildSpecs(ctx, s)
	if err != nil {
		return nil, err
	}
	listed, err := b.list(ctx, o.only)
	if err != nil {
		return nil, err
	}
	all = results{}
	var names []string
	for _, name := range listed {
		if slices.Contains(known.leftOut, name) {
			all[name] = "SKIP"
		} else {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	images, err := b.images(ctx)
	if err != nil {
		return nil, err
	}
	env, err := testenv.Start(ctx, b.cluster(o, images))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, env.Stop()) }()
	if o.baseline {
		return all, b.record(ctx, env, names, o, all)
	}
	p, err := t.startBeside(ctx, s, env)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if err := b.record(p.ctx, env, names, o, all); err != nil {
		return nil, err
	}
	p.stop()
	line, err := firstLine(p.log, b.program.refused)
	if line != "" {
		fmt.Fprintf(o.stderr, "%s: %s has the line %s\n", s.name, filepath.Base(p.log), line)
		all[filepath.Base(p.log)] = "FAIL"
	}
	return all, err
}

// record runs specs by name on a cluster and adds their outcomes to all.
func (b specBinary) record(ctx context.Context, env *testenv.Environment, names []string, o options, all results) error {
	log, err := os.Create(filepath.Join(b.dir, b.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	start := time.Now()
	specs, failed, err := b.test(ctx, log, env.Kubeconfig(), names)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.stderr, "%s: %d specs took %v on the node\n", b.name, len(names), time.Since(start).Round(time.Second))
	all.readSpecs(specs, b.prefix, names, failed)
	return nil
}

// cluster returns the options of the cluster on which the specs run.
func (s *specSet) cluster(o options, images []string) testenv.Options {
	want := testenv.Options{
		Node:         true,
		BusyboxNames: imagesOf(images, append([]string{"busybox"}, s.asBusybox...)...),
		PauseNames:   imagesOf(images, append([]string{"pause"}, s.asPause...)...),
		Log:          o.stderr,
	}
	if !o.baseline {
		want.Controllers = s.controllers
	}
	return want
}

// running is a running program.
type running struct {
	ctx  context.Context // ends with the program; the cause quotes the end of its log
	stop func()          // kills the program and waits for its end
	log  string          // path of its log
}

// startBeside compiles a suite's program and starts it. Its log is beside that of the
// suite.
func (t *tree) startBeside(ctx context.Context, s suite, env *testenv.Environment) (*running, error) {
	p := s.specs.program
	name := filepath.Base(p.folder)
	path := filepath.Join(t.dir, name)
	if err := compile(ctx, "build", "-C", p.folder, "-trimpath", "-o", path, "."); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(t.dir, s.name+"-"+name+".log"))
	if err != nil {
		return nil, err
	}
	r, err := startProgram(ctx, log, path, p.args(env)...)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	r.log = log.Name()
	return r, nil
}

// startProgram starts a program that writes to log, and closes log when it ends.
func startProgram(ctx context.Context, log io.WriteCloser, path string, args ...string) (*running, error) {
	killed, kill := context.WithCancel(ctx)
	cmd := exec.CommandContext(killed, path, args...)
	output := &tail{limit: 4096}
	cmd.Stdout = io.MultiWriter(log, output)
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		kill()
		return nil, err
	}
	live, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		err := cmd.Wait()
		end(fmt.Errorf("%s has ended: %w\n%s", filepath.Base(path), err, output.text))
		log.Close()
		close(ended)
	}()
	return &running{ctx: live, stop: func() { kill(); <-ended }}, nil
}

// firstLine returns the first line of a file that matches refused, which may be nil.
func firstLine(path string, refused *regexp.Regexp) (string, error) {
	if refused == nil {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if refused.MatchString(line) {
			return strings.TrimSpace(line), nil
		}
	}
	return "", nil
}
