package restart_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fenced      = regexp.MustCompile("(?s)```.*?```")
	mdLink      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
	testName    = regexp.MustCompile("`(?:internal/[a-z/]+: )?((?:Test|Fuzz|Example)[A-Z_]\\w*)(…?)")
	testFunc    = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)
	runFlag     = regexp.MustCompile(`-run '?\^?([A-Z]\w+)`)
	folderOf    = regexp.MustCompile(`go -C (\S+)`)
	scriptOf    = regexp.MustCompile(`(\.ci/\w[\w/-]*)`)
	filePath    = regexp.MustCompile("`((?:[\\w.-]+/)*[\\w.-]+\\.(?:go|md|yaml|story|txt|sh|mod|svg))`")
)

// What the documents name is there: links and their headings, tests, folders and scripts
// of commands, files. Files of Kubernetes are told by their path, which begins with pkg/.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	if _, err := os.Stat("conformance/peers/go.mod"); err != nil {
		t.Skip("other modules of the repository are not there")
	}
	pages, files, tests := repository(t)
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		wrong := func(what, name string) {
			if !strings.Contains(name, "PACKAGE") { // stands for one
				t.Errorf("%s names a %s that is not there: %s", page, what, name)
			}
		}
		for _, m := range mdLink.FindAllSubmatch(fenced.ReplaceAll(text, nil), -1) {
			if target := string(m[1]); !strings.Contains(target, "://") && !linked(t, page, target) {
				wrong("link", target)
			}
			checked++
		}
		if page == "CHANGELOG.md" { // names what was, too
			continue
		}
		for _, m := range testName.FindAllSubmatch(text, -1) {
			name, begins := string(m[1]), len(m[2]) > 0
			if !slices.ContainsFunc(tests, func(f string) bool { return f == name || begins && strings.HasPrefix(f, name) }) {
				wrong("test", name)
			}
			checked++
		}
		for _, m := range runFlag.FindAllSubmatch(text, -1) {
			if name := string(m[1]); !slices.ContainsFunc(tests, func(f string) bool { return strings.Contains(f, name) }) {
				wrong("test to run", name)
			}
			checked++
		}
		for _, m := range folderOf.FindAllSubmatch(text, -1) {
			if name := string(m[1]); name != "restart/cmd" && !exists(filepath.Join(name, "go.mod")) {
				wrong("module", name)
			}
			checked++
		}
		for _, m := range scriptOf.FindAllSubmatch(text, -1) {
			if name := string(m[1]); !exists(name) {
				wrong("script", name)
			}
			checked++
		}
		for _, m := range filePath.FindAllSubmatch(text, -1) {
			name := string(m[1])
			if !strings.HasPrefix(name, "pkg/") && !strings.HasPrefix(name, "util/") && !slices.ContainsFunc(files, func(f string) bool { return f == name || strings.HasSuffix(f, "/"+name) }) {
				wrong("file", name)
			}
			checked++
		}
	}
	if checked < 400 {
		t.Errorf("only %d names were found", checked)
	}
}

// The excerpts in KUBERNETES.md are from the file that was named last before them in their
// section.
func TestExcerptsAreFromTheirFiles(t *testing.T) {
	text, err := os.ReadFile("KUBERNETES.md")
	if err != nil {
		t.Fatal(err)
	}
	if !exists("conformance/upstream/go.mod") {
		t.Skip("other modules of the repository are not there")
	}
	excerpts := 0
	for section := range strings.SplitSeq(string(text), "\n## ") {
		source := ""
		for _, m := range regexp.MustCompile("(?s)From\\s`([^`]*)`:|```\n(.*?)```").FindAllStringSubmatch(section, -1) {
			if m[1] != "" {
				file, err := os.ReadFile(m[1])
				if err != nil {
					t.Fatal(err)
				}
				source = string(file)
				continue
			}
			if source == "" {
				continue
			}
			excerpts++
			for part := range strings.SplitSeq(strings.ReplaceAll(m[2], "\r\n", "\n"), "\n\nfunc ") {
				if !strings.Contains(strings.ReplaceAll(source, "\r\n", "\n"), part) {
					t.Errorf("not in the file named before it:\n%s", part)
				}
			}
		}
	}
	if excerpts < 11 {
		t.Errorf("only %d excerpts were found", excerpts)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// linked reports whether the target of a link in page is there, with its heading.
func linked(t *testing.T, page, target string) bool {
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

// repository returns the paths of documents and of all files, and the names of all tests.
func repository(t *testing.T) (pages, files, tests []string) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == ".git" || name == "conformance/peers/bench/testdata" {
				return fs.SkipDir
			}
			return nil
		}
		files = append(files, name)
		switch {
		case strings.HasSuffix(name, ".md"):
			pages = append(pages, name)
		case strings.HasSuffix(name, "_test.go"):
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for _, m := range testFunc.FindAllSubmatch(text, -1) {
				tests = append(tests, string(m[1]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 12 || len(tests) < 500 {
		t.Errorf("only %d documents and %d tests were found", len(pages), len(tests))
	}
	return pages, files, tests
}
