package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
)

// output is the form of -o json and -o yaml.
type output struct {
	metav1.TypeMeta `json:",inline"`
	Items           any `json:"items"`
}

// outputVersion is the apiVersion of an output.
const outputVersion = "backoff.restartkit.dev/v1alpha1"

// DeepCopyObject returns the output itself, which nobody changes.
func (o *output) DeepCopyObject() runtime.Object { return o }

// print prints items in the form of --output. text prints them for a person.
func (p *program) print(kind string, items any, names []string, text func(*explain.Printer)) error {
	out := bufio.NewWriter(p.Out)
	object := &output{TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: kind}, Items: items}
	var err error
	switch p.output {
	case "json":
		err = (&printers.JSONPrinter{}).PrintObj(object, out)
	case "yaml":
		err = (&printers.YAMLPrinter{}).PrintObj(object, out)
	case "name":
		for _, name := range names {
			fmt.Fprintln(out, name)
		}
	default:
		text(&explain.Printer{W: out, Options: p.options(), Colour: colours(p.Out), Namespaces: p.manyNamespaces()})
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("writing the output: %w", err)}
	}
	return nil
}

// manyNamespaces reports whether the objects may be of several namespaces.
func (p *program) manyNamespaces() bool { return p.allNamespaces || len(p.files) > 0 }

// terminal returns the terminal behind w, or nil if w is none.
func terminal(w io.Writer) *os.File {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return f
}

// colours reports whether w is a terminal whose user wants colours.
func colours(w io.Writer) bool { return terminal(w) != nil && os.Getenv("NO_COLOR") == "" }
