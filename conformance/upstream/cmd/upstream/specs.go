package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// specLabels leaves out specs of feature gates off by default.
	specLabels = "!Feature: containsAny OffByDefault"
	// specsAtOnce is the number of specs running at once, except for those that Kubernetes
	// marks as serial. Most of their time they wait.
	specsAtOnce = 4
)

// A specBinary is Kubernetes' end-to-end tests, compiled, with Ginkgo's command, which
// runs the specs of a set.
type specBinary struct {
	specSet
	name   string // of the suite
	dir    string
	path   string
	ginkgo string
}

// buildSpecs compiles the specs of a suite and Ginkgo's command.
func (t *tree) buildSpecs(ctx context.Context, s suite) (b specBinary, err error) {
	path := filepath.Join(t.dir, s.pkg, "e2e_test.go")
	if err := rewrite(path, func(f *file) error { f.keepSpecs(s.pkg, s.specs.folder); return nil }); err != nil {
		return b, err
	}
	b.specSet, b.name, b.dir = *s.specs, s.name, t.dir
	if b.path, err = t.build(ctx, s); err != nil {
		return b, err
	}
	mod, err := t.modFile(s.pkg)
	if err != nil {
		return b, err
	}
	b.ginkgo = filepath.Join(t.dir, "ginkgo")
	return b, compile(ctx, "build", "-trimpath", "-o", b.ginkgo, "-mod=mod", "-modfile="+mod, "github.com/onsi/ginkgo/v2/ginkgo")
}

// images returns the names of the images of Kubernetes' tests.
func (b specBinary) images(ctx context.Context) ([]string, error) {
	output, err := exec.CommandContext(ctx, b.path, "-list-images").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the images: %w\n%s", err, output)
	}
	return strings.Fields(string(output)), nil
}

// imagesOf returns the images of repositories, such as busybox, in all registries and
// versions.
func imagesOf(images []string, repositories ...string) []string {
	return slices.DeleteFunc(slices.Clone(images), func(image string) bool {
		name, _, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
		return !slices.Contains(repositories, name)
	})
}

// list returns the names of the specs in the set that match.
func (b specBinary) list(ctx context.Context, only *regexp.Regexp) (names []string, err error) {
	specs, _, err := b.run(ctx, io.Discard, []string{"--dry-run", "--focus=" + b.focusOn(b.focus), "--label-filter=" + specLabels})
	if err != nil {
		return nil, fmt.Errorf("cannot list the specs: %w", err)
	}
	for _, s := range specs {
		if name := s.name(b.prefix); s.outcome() == "PASS" && only.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// test runs specs on a cluster and copies their output to log. failed reports whether
// Ginkgo's command failed.
func (b specBinary) test(ctx context.Context, log io.Writer, kubeconfig string, names []string) (specs []spec, failed bool, err error) {
	return b.run(ctx, log,
		[]string{"-v", "--timeout=1h", fmt.Sprint("--procs=", specsAtOnce), "--focus=" + b.focusOnNames(names), "--label-filter=" + specLabels},
		"-kubeconfig="+kubeconfig, "-provider=skeleton", "-num-nodes=1", "-e2e-output-dir="+b.dir)
}

// run runs Ginkgo's command with flags of its own, and with arguments of the tests.
func (b specBinary) run(ctx context.Context, log io.Writer, flags []string, args ...string) (specs []spec, failed bool, err error) {
	report := filepath.Join(b.dir, b.name+".json")
	if err := os.Remove(report); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, false, err
	}
	flags = append(flags, "--no-color", "--output-dir="+b.dir, "--json-report="+filepath.Base(report), b.path, "--")
	cmd := exec.CommandContext(ctx, b.ginkgo, append(flags, args...)...)
	cmd.Dir = b.dir
	inGroup(cmd)
	output := &tail{limit: 4096}
	cmd.Stdout = io.MultiWriter(log, output)
	cmd.Stderr = cmd.Stdout
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	_, failed = errors.AsType[*exec.ExitError](err)
	if err != nil && !failed {
		return nil, false, err
	}
	text, err := os.ReadFile(report)
	if err != nil { // it ended before the first spec
		return nil, failed, fmt.Errorf("%w\n%s", err, output.text)
	}
	specs, err = readSpecs(text)
	return specs, failed, err
}

// A tail keeps the end of what is written to it.
type tail struct {
	text  []byte
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = bytes.Clone(t.text[max(0, len(t.text)-t.limit):])
	return len(p), nil
}

// A spec is an entry of Ginkgo's report: a spec, or a step before or after all specs.
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	Failure                 struct{ Message string }
}

// readSpecs reads the entries of a report in JSON.
func readSpecs(text []byte) ([]spec, error) {
	var reports []struct{ SpecReports []spec }
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("reading Ginkgo's report: %w", err)
	}
	var specs []spec
	for _, r := range reports {
		specs = append(specs, r.SpecReports...)
	}
	return specs, nil
}

// name returns the text of a spec without a prefix, with underscores for spaces, as Go
// names subtests. A step is named after its type.
func (s spec) name(prefix string) string {
	if s.LeafNodeType != "It" {
		return s.LeafNodeType
	}
	text := strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
	return strings.ReplaceAll(strings.TrimPrefix(text, prefix), " ", "_")
}

// outcome returns PASS, FAIL or SKIP, or "" for a spec that was not selected and for a
// step that passed. A spec that skips itself says why.
func (s spec) outcome() string {
	switch step := s.LeafNodeType != "It"; {
	case s.State == "passed" && !step:
		return "PASS"
	case s.State == "passed", s.State == "skipped" && (step || s.Failure.Message == ""):
		return ""
	case s.State == "skipped", s.State == "pending":
		return "SKIP"
	}
	return "FAIL"
}

// readSpecs adds the outcomes of specs, whose names lack prefix. Like a test, a spec
// without an outcome has failed.
func (r results) readSpecs(specs []spec, prefix string, names []string, failed bool) {
	for _, s := range specs {
		if outcome := s.outcome(); outcome != "" {
			r[s.name(prefix)] = outcome
		}
	}
	r.complete(names, failed)
}
