package check

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Source is a file to read.
type Source struct {
	Name  string
	Named bool  // the caller named it, rather than a folder that it is in
	Err   error // why it cannot be read; nil if it can be tried
}

// File reads the source.
func (s Source) File() *File {
	if s.Err != nil {
		return unreadable(s.Name, s.Err)
	}
	return ReadFile(s.Name)
}

// Sources returns the files that paths name, and those in the folders that they name,
// which end with .yaml, .yml or .json, in the order of their names. It looks into the
// folders in those folders only if recursive is set. It follows a link to a file, and no
// link to a folder unless the caller names it. It passes over folders named .git and
// files that are no regular ones, unless the caller names them.
func Sources(recursive bool, paths ...string) []Source {
	var all []Source
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			all = append(all, Source{Name: path, Named: true, Err: plainError(err)})
		case info.IsDir():
			all = append(all, inFolder(withSlash(path), recursive)...)
		default:
			all = append(all, Source{Name: path, Named: true})
		}
	}
	return all
}

// inFolder returns the files in a folder. A slash at the end of root makes a link to a
// folder the folder.
func inFolder(root string, recursive bool) (found []Source) {
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			found = append(found, Source{Name: path, Err: plainError(err)})
			return fs.SkipDir
		case entry.IsDir() && path != root && (!recursive || entry.Name() == ".git"):
			return fs.SkipDir
		case entry.IsDir() || !isManifest(path):
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() || err != nil {
				found = append(found, Source{Name: path, Err: plainError(err)})
			}
		case entry.Type().IsRegular():
			found = append(found, Source{Name: path})
		}
		return nil
	})
	return found
}

func withSlash(path string) string {
	if strings.HasSuffix(path, string(filepath.Separator)) {
		return path
	}
	return path + string(filepath.Separator)
}

// isManifest reports whether a file's name is that of a manifest.
func isManifest(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// plainError returns an error without the path that a Source names.
func plainError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
