package examples_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fenced      = regexp.MustCompile("(?s)```.*?```")
	mdLink      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// The links between documents lead to files and headings that exist.
func TestLinksResolve(t *testing.T) {
	t.Chdir("..")
	if !exists("cmd/go.mod") {
		t.Skip("the other modules of the repository, which documents link to, are missing")
	}
	links := 0
	for _, page := range documents(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mdLink.FindAllSubmatch(fenced.ReplaceAll(text, nil), -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			links++
			if !resolves(t, page, target) {
				t.Errorf("%s: dead link %s", page, target)
			}
		}
	}
	if links == 0 {
		t.Error("no links were found")
	}
}

// documents returns the paths of the repository's Markdown files.
func documents(t *testing.T) (pages []string) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || entry.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md"):
			pages = append(pages, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// resolves reports whether the target of a link in page exists, with its heading.
func resolves(t *testing.T, page, target string) bool {
	file, anchor, _ := strings.Cut(target, "#")
	if file == "" {
		file = path.Base(page)
	}
	file = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	if anchor == "" || !exists(file) {
		return exists(file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mdHeading.FindAllSubmatch(text, -1) {
		heading := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(string(m[1]))), "")
		if strings.ReplaceAll(heading, " ", "-") == anchor {
			return true
		}
	}
	return false
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
