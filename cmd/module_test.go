package cmd

import (
	"io/fs"
	"os"
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
