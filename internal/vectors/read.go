package vectors

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files returns the folder of the files: VECTORS_DIR or, without it, testdata/vectors in the
// root of the repository, which is above the folder of every test.
func Files() fs.FS {
	if dir := os.Getenv("VECTORS_DIR"); dir != "" {
		return os.DirFS(dir)
	}
	dir := filepath.Join("testdata", "vectors")
	for range 16 {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Join("..", dir)
	}
	return os.DirFS(dir)
}

// read returns the cases of a file, named without .json.
func read(files fs.FS, name string) ([]*Case, error) {
	file := name + ".json"
	data, err := fs.ReadFile(files, file)
	if err != nil {
		return nil, fmt.Errorf("%w, in VECTORS_DIR or testdata/vectors", err)
	}
	var doc struct {
		Count *int              `json:"count"`
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	cases := make([]*Case, 0, len(doc.Cases))
	seen := map[string]bool{}
	for i, raw := range doc.Cases {
		c, err := readCase(name, raw)
		if err == nil && seen[c.ID] {
			err = fmt.Errorf("id %q is there twice", c.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: case %d: %w", file, i, err)
		}
		seen[c.ID] = true
		cases = append(cases, c)
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
