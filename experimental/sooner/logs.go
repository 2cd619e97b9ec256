package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// logName matches the logs whose number the kubelet takes as a restart count.
var logName = regexp.MustCompile(`^(\d+)\.log(\..*)?`)

// logs returns the numbered files of a container's log folder, by name, and
// the restart count that the kubelet derives from them.
func logs(folder string) (numbers map[string]int64, next int64, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, 0, err
	}
	numbers = make(map[string]int64)
	for _, e := range entries {
		m := logName.FindStringSubmatch(e.Name())
		if m == nil || e.IsDir() {
			continue
		}
		n, err := strconv.ParseInt(m[1], 10, strconv.IntSize)
		if err != nil {
			continue // as the kubelet does
		}
		numbers[e.Name()] = n
		next = max(next, n+1)
	}
	return numbers, next, nil
}

// nextCount returns the restart count of a container without records, given the path
// of a log.
func nextCount(path string) int64 {
	_, next, err := logs(filepath.Dir(path))
	if err != nil {
		return 0 // as the kubelet does
	}
	return next
}

// prune removes the logs beside path but those of the newest attempt, whose number is
// the restart count. It returns the number of removed files.
func prune(path, pod, container string) (int, error) {
	folder := filepath.Dir(path)
	if filepath.Base(folder) != container || filepath.Base(filepath.Dir(folder)) != pod {
		return 0, fmt.Errorf("log folder %s: not of container %s of %s", folder, container, pod)
	}
	numbers, next, err := logs(folder)
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for name, number := range numbers {
		if number+1 == next {
			continue
		}
		switch err := os.Remove(filepath.Join(folder, name)); {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}
