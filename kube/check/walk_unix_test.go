//go:build unix

package check

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestSources(t *testing.T) {
	root := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, name := range []string{"b.yaml", "a.yml", "sub/c.json", "sub/D.YAML", "sub/e.txt", ".git/f.yaml", "g"} {
		file(name)
	}
	for name, target := range map[string]string{"sub/up": "..", "sub/link.yaml": "../b.yaml", "loop1.yaml": "loop2.yaml", "loop2.yaml": "loop1.yaml", "folder.yaml": "sub"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"a.yml", "b.yaml", "loop1.yaml too many levels of symbolic links", "loop2.yaml too many levels of symbolic links", "sub/D.YAML", "sub/c.json", "sub/link.yaml"}
	names := func(sources []Source, of string) (all []string) {
		for _, s := range sources {
			name, err := filepath.Rel(of, s.Name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Err != nil {
				name += " " + s.Err.Error()
				if f := s.File(); len(f.Findings) != 1 || f.Findings[0].Severity != Error {
					t.Errorf("%s: %v", name, f.Findings)
				}
			}
			if s.Named {
				name += ", named"
			}
			all = append(all, name)
		}
		return all
	}
	if got := names(Sources(true, root), root); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := names(Sources(true, filepath.Join(root, "sub/up")), filepath.Join(root, "sub/up")); !slices.Equal(got, want) {
		t.Errorf("through a link: got %q, want %q", got, want)
	}
	if got, want := names(Sources(false, root), root), want[:4]; !slices.Equal(got, want) {
		t.Errorf("of the folder alone: got %q, want %q", got, want)
	}
	if got := names(Sources(true, filepath.Join(root, ".git")), root); !slices.Equal(got, []string{".git/f.yaml"}) {
		t.Errorf("of a named folder .git: got %q", got)
	}
	got := names(Sources(true, filepath.Join(root, "g"), filepath.Join(root, "missing")), root)
	if want := []string{"g, named", "missing no such file or directory, named"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
