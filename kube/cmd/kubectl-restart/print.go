package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/kube/cmd/kubectl-restart/internal/explain"
)

// print prints a value as JSON or YAML, or as the text that the function prints.
func (p *program) print(value any, text func(*explain.Printer)) error {
	out := bufio.NewWriter(p.stdout)
	switch p.o.output {
	case "json":
		encoded, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", encoded)
	case "yaml":
		encoded, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		out.Write(encoded)
	default:
		text(&explain.Printer{W: out, Options: p.facts(), Colour: colours(p.stdout)})
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

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
