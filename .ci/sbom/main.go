// Command sbom prints the bill of materials of a Go program, as CycloneDX JSON: the
// modules that the file says were built into it, with versions and checksums.
//
//	go run ./.ci/sbom FILE >sbom.json
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "Usage: go run ./.ci/sbom FILE >sbom.json\n\nPrints the modules that are built into a Go program, as CycloneDX JSON.")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err == nil {
		err = write(os.Stdout, info)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

// bom is a bill of materials: https://cyclonedx.org/docs/1.6/json/.
type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	URL        string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// write writes the bill of a program. A module that is replaced by a folder has the
// folder's contents: its version is that of the program.
func write(w io.Writer, info *debug.BuildInfo) error {
	program := newComponent("application", info.Path, info.Main.Version, "")
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{program}}
	b.Components = append(b.Components, newComponent("library", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), ""))
	for _, m := range info.Deps {
		if r := m.Replace; r != nil && strings.HasPrefix(r.Path, ".") {
			m = &debug.Module{Path: m.Path, Version: info.Main.Version}
		} else if r != nil {
			m = r
		}
		b.Components = append(b.Components, newComponent("library", m.Path, m.Version, m.Sum))
	}
	all := dependency{Ref: program.Ref, On: []string{}}
	for _, c := range b.Components {
		all.On = append(all.On, c.Ref)
	}
	b.Dependencies = []dependency{all}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

func newComponent(kind, path, version, sum string) component {
	url := "pkg:golang/" + path
	if version == "(devel)" {
		version = ""
	}
	if version != "" {
		url += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	c := component{Type: kind, Ref: url, Name: path, Version: version, URL: url}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}
