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
	const refused = "build constraints exclude all Go files in "
	for _, tt := range []struct{ system, program, want string }{
		{"windows", "runjob", refused}, {"windows", "supervise", refused}, {"windows", "criwatch", refused}, {"windows", "crashcurve", ""}, {"windows", "playground", ""},
		{"darwin", "runjob", ""}, {"darwin", "supervise", ""}, {"darwin", "criwatch", ""}, {"darwin", "crashcurve", ""}, {"darwin", "playground", ""},
	} {
		command := exec.Command("go", "list", "-e", "-f", "{{range .DepsErrors}}{{.Err}}\n{{end}}", "./"+tt.program)
		command.Env = append(os.Environ(), "GOOS="+tt.system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := command.Output()
		if got := strings.TrimSpace(string(out)); err != nil || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s on %s: %v\n%s", tt.program, tt.system, err, got)
		}
	}
}
