package cmd

import (
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/mod/module"
)

// A module with a file that some system cannot name is refused by every module
// proxy, and with it all of its programs.
func TestModuleCanBeDownloaded(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		if err := module.CheckFilePath(path); err != nil {
			t.Error(err)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files: %v", files, err)
	}
}

// Every program is for every system, or says by a build constraint that it is not.
func TestProgramsSayWhichSystemsTheyNeed(t *testing.T) {
	programs := []string{"./restart", "./criwatch", "./crashcurve", "./playground"}
	for system, refused := range map[string]int{"windows": 0, "darwin": 0} { // the first of the programs
		command := exec.Command("go", append([]string{"list", "-e", "-f", "{{.ImportPath}}:{{range .DepsErrors}} {{.Err}}{{end}}"}, programs...)...)
		command.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := command.Output()
		said := strings.SplitAfter(string(out), "\n")
		if err != nil || len(said) != len(programs)+1 {
			t.Fatalf("%s: %v\n%s", system, err, out)
		}
		for i, program := range programs {
			_, got, _ := strings.Cut(strings.TrimSpace(said[i]), ":")
			if i < refused && !strings.Contains(got, "build constraints exclude all Go files in ") || i >= refused && got != "" {
				t.Errorf("%s on %s: %s", program, system, got)
			}
		}
	}
}
