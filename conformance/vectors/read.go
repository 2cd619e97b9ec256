package vectors

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

//go:embed testdata
var testdata embed.FS

//go:embed VERSION
var version string

// Version returns the version of this package's cases, such as "1.1.0". README.md has
// the change log.
func Version() string { return strings.TrimSpace(version) }

// Embedded returns this package's folder of files.
func Embedded() fs.FS {
	files, err := fs.Sub(testdata, "testdata")
	if err != nil {
		panic(err) // the name above is valid
	}
	return files
}

// Files returns the folder of the files.
func Files() fs.FS {
	if dir := os.Getenv("VECTORS_DIR"); dir != "" {
		return os.DirFS(dir)
	}
	return Embedded()
}

// Names returns the names of a folder's files of cases, in order and without .json.
func Names(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "*.json")
	for i, name := range names {
		names[i] = strings.TrimSuffix(path.Base(name), ".json")
	}
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no files named *.json")
	}
	return names, err
}

// Read returns the cases of a file, named without .json.
func Read(files fs.FS, name string) ([]*Case, error) {
	file := name + ".json"
	data, err := fs.ReadFile(files, file)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Count  *int              `json:"count"`
		Cases  []json.RawMessage `json:"cases"`
		Runs   []json.RawMessage `json:"runs"`
		Timing []json.RawMessage `json:"backoffTiming"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	cases := make([]*Case, 0, len(doc.Cases)+len(doc.Runs)+len(doc.Timing))
	seen := map[string]bool{}
	for _, list := range []struct {
		raw  []json.RawMessage
		read func(raw json.RawMessage) (*Case, error)
	}{
		{doc.Cases, func(raw json.RawMessage) (*Case, error) { return readCase(name, raw) }},
		{doc.Runs, func(raw json.RawMessage) (*Case, error) { return readRun(name, "run", raw) }},
		{doc.Timing, func(raw json.RawMessage) (*Case, error) { return readRun(name, "timing", raw) }},
	} {
		for _, raw := range list.raw {
			c, err := list.read(raw)
			if err == nil && seen[c.ID] {
				err = fmt.Errorf("id %q is there twice", c.ID)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: case %d: %w", file, len(cases), err)
			}
			seen[c.ID] = true
			cases = append(cases, c)
		}
	}
	switch {
	case len(cases) == 0:
		return nil, fmt.Errorf("%s: no cases", file)
	case doc.Count != nil && *doc.Count != len(cases):
		return nil, fmt.Errorf("%s: %d cases, but it says it has %d", file, len(cases), *doc.Count)
	}
	return cases, nil
}

func readCase(file string, raw json.RawMessage) (*Case, error) {
	c := &Case{File: file, raw: raw}
	tree, err := Tree(raw)
	if err != nil {
		return nil, err
	}
	fields, _ := tree.(map[string]any)
	c.ID, _ = fields["id"].(string)
	c.Kind, _ = fields["kind"].(string)
	if c.ID == "" {
		return nil, fmt.Errorf("no id: %s", raw)
	}
	wants := map[string]any{}
	for name, value := range fields {
		if strings.HasPrefix(name, "want") {
			wants[name] = value
		}
	}
	if len(wants) == 0 {
		return nil, fmt.Errorf("%s: nothing wanted", c.ID)
	}
	c.Want = wants
	if want, ok := wants["want"]; ok && len(wants) == 1 {
		c.Want = want
	}
	return c, nil
}
