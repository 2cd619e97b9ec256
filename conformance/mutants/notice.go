package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// errBuild says that the tests do not build.
var errBuild = errors.New("does not build")

// boundMemory runs a test binary within 4 GiB of addresses, because a mutant may
// allocate without end.
const boundMemory = `sh -c 'ulimit -v 4194304; exec "$0" "$@"'`

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// timeLimit stands for a failed test if the tests did not end in time.
const timeLimit = "the tests' time limit"

// notice runs go test in the file's module, with the mutated text overlaid on the file.
// It returns the first test that fails, or "", and the output of the tests.
func notice(path string, mutated []byte, limit time.Duration, args ...string) (test string, out []byte, err error) {
	overlayFile, remove, err := overlay(path, mutated)
	if err != nil {
		return "", nil, err
	}
	defer remove()
	args = append([]string{"test", "-vet=off", "-failfast", "-exec", boundMemory, "-overlay", overlayFile, "-timeout", limit.String()}, args...)
	command := exec.Command("go", args...)
	command.Dir = moduleOf(filepath.Dir(path))
	out, err = command.CombinedOutput()
	switch {
	case err == nil:
		return "", out, nil
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return "", out, fmt.Errorf("%w:\n%s", errBuild, out)
	}
	if found := failedTest.FindSubmatch(out); found != nil {
		return string(found[1]), out, nil
	}
	if bytes.Contains(out, []byte("panic: test timed out")) {
		return timeLimit, out, nil
	}
	return "a crash of the tests", out, nil
}

// moduleOf returns the root of the module that contains a folder of the repository.
func moduleOf(folder string) string {
	for folder != "." {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		folder = filepath.Dir(folder)
	}
	return folder
}

// overlay writes the files for the go command's flag -overlay, which replaces the file
// by the mutated text. remove removes them.
func overlay(path string, mutated []byte) (file string, remove func(), err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", nil, err
	}
	scratch, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", nil, err
	}
	mutatedFile, file := filepath.Join(scratch, "mutated.go"), filepath.Join(scratch, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutatedFile}})
	if err = errors.Join(err, os.WriteFile(mutatedFile, mutated, 0o644), os.WriteFile(file, text, 0o644)); err != nil {
		os.RemoveAll(scratch)
		return "", nil, err
	}
	return file, func() { os.RemoveAll(scratch) }, nil
}
