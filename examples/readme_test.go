package examples_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	// The packages of the programs: no result of the test is kept when these change.
	_ "github.com/restartkit/restart/backoff"
	_ "github.com/restartkit/restart/indexset"
	_ "github.com/restartkit/restart/jobpolicy"
	_ "github.com/restartkit/restart/pleg"
	_ "github.com/restartkit/restart/pleg/statuscache"
	_ "github.com/restartkit/restart/supervise"
)

var (
	goSnippet = regexp.MustCompile("(?s)```go\n(.*?)```(?:\n\n```\n(.*?)```)?")
	ended     = regexp.MustCompile(`(?s)<begin (\w+)>\n(.*?)\n<end \w+>`)
)

// The programs in README.md are those of examples/, with their output below them.
func TestReadmeProgramsPrintWhatStandsBelow(t *testing.T) {
	t.Chdir("..")
	outputs := map[string]string{} // by program
	for _, file := range exampleFiles(t) {
		comment, source, _ := strings.Cut(readText(t, file), "\npackage main\n")
		outputs["package main\n"+source] = shownOutput(comment)
	}
	found := 0
	for _, snippet := range goSnippet.FindAllStringSubmatch(readText(t, "README.md"), -1) {
		found++
		want, ok := outputs[snippet[1]]
		switch got := strings.TrimSpace(snippet[2]); {
		case !ok:
			t.Errorf("this program is not in examples/:\n%s", snippet[1])
		case got != want:
			t.Errorf("below a program stands\n%s\nand it prints\n%s", got, want)
		}
	}
	if found < 2 {
		t.Errorf("%d programs", found)
	}
}

// Every example prints the output in its comment.
//
// A single test program runs all of them, each in a synctest bubble. There no wait takes
// time, a program that waits forever is a deadlock at once, and the clock is as coarse as
// can be: it does not move while a program runs.
func TestExamplesPrintWhatTheySay(t *testing.T) {
	t.Chdir("..")
	want := map[string]string{} // by name
	files := map[string]string{}
	for _, file := range exampleFiles(t) {
		name := filepath.Base(filepath.Dir(file))
		comment, source, _ := strings.Cut(readText(t, file), "\npackage main\n")
		want[name] = shownOutput(comment)
		files[name] = "package program\n" + strings.Replace(source, "\nfunc main() {", "\nfunc Main() {", 1)
	}
	got := runPrograms(t, files)
	for name, want := range want {
		if got := got[name]; want == "" || got != want {
			t.Errorf("%s prints\n%s\nand says\n%s", name, got, want)
		}
	}
}

// shownOutput returns the indented lines of a program's comment, which are its output.
func shownOutput(comment string) string {
	var shown strings.Builder
	for line := range strings.Lines(comment) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			shown.WriteString(text)
		}
	}
	return strings.TrimSpace(shown.String())
}

// runPrograms calls Main of packages with these sources, and returns the output of each.
//
// The packages and their test are files of an overlay: the go command takes them for
// files in a folder of this module, which does not exist.
func runPrograms(t *testing.T, sources map[string]string) (printed map[string]string) {
	const folder, module = "internal/programs", "github.com/restartkit/restart/"
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	add := func(name, text string) {
		place, err := filepath.Abs(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[place] = file
	}
	imports, calls := "", ""
	for name, source := range sources {
		add(name+"/main.go", source)
		imports += fmt.Sprintf("program_%s %q\n", name, module+folder+"/"+name)
		calls += fmt.Sprintf("run(%q, program_%[1]s.Main)\n", name)
	}
	add("programs_test.go", fmt.Sprintf(`package programs

import (
	"fmt"
	"testing"
	"testing/synctest"

	%s
)

func TestPrograms(t *testing.T) {
	run := func(name string, program func()) {
		fmt.Printf("<begin %%s>\n", name)
		synctest.Test(t, func(*testing.T) { program() })
		fmt.Printf("\n<end %%s>\n", name)
	}
	%s
}
`, imports, calls))
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "programs.exe")
	if out, err := exec.Command("go", "test", "-c", "-o", program, "-vet=off", "-overlay", list, "./"+folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(program, "-test.v")
	run.Dir = t.TempDir() // where programs may keep their files
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed = map[string]string{}
	for _, m := range ended.FindAllStringSubmatch(string(out), -1) {
		printed[m[1]] = strings.TrimSpace(m[2])
	}
	return printed
}

// exampleFiles returns the main file of each example without tests of its own.
func exampleFiles(t *testing.T) []string {
	files, err := filepath.Glob("examples/*/main.go")
	files = slices.DeleteFunc(files, func(file string) bool {
		tests, _ := filepath.Glob(filepath.Dir(file) + "/*_test.go")
		return len(tests) > 0
	})
	if err != nil || len(files) < 6 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	return files
}

// readText returns the text of a file with the line ends that it has in the repository.
func readText(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
