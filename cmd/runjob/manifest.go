package main

import (
	"fmt"
	"io"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/field"
)

// manifest is a valid Job, ready to run.
type manifest struct {
	*jobfile.Manifest
	config config // values for its variables
}

// reading holds the options of readManifest.
type reading struct {
	jobfile.Reading
	envFiles envFiles
}

// readManifest reads the Job from a file, or from standard input if the name is "-".
// The field.Errors of the Job are returned as Mistakes.
func readManifest(name string, how reading) (*manifest, error) {
	documents, err := document.ReadAll(name)
	if err != nil {
		return nil, err
	}
	return decodeManifest(documents, how)
}

// decodeManifest returns the Job of a file, ready to run, or all its mistakes.
func decodeManifest(documents []*document.Node, how reading) (*manifest, error) {
	how.Processes = true
	read, err := jobfile.Decode(documents, how.Reading)
	if err != nil {
		return nil, err
	}
	m := &manifest{read, newConfig(read.Job.Namespace, how.envFiles)}
	for _, o := range read.Config {
		if err := m.config.add(o); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// complain prints the mistakes of a manifest, one per line.
func complain(w io.Writer, manifest string, err error) {
	var lines []string
	switch err := err.(type) {
	case document.Mistakes:
		for _, one := range err {
			lines = append(lines, one.String())
		}
	case field.Errors:
		for i := range err {
			lines = append(lines, err[i].Error())
		}
	default:
		fmt.Fprintf(w, "runjob: %s\n", terminal.Escape(fmt.Sprintf("%s: %v", manifest, err)))
		return
	}
	fmt.Fprintf(w, "runjob: %s: nothing was started:\n", terminal.Escape(manifest))
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", terminal.Escape(line))
	}
}
