package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// checkDir returns an error if a command cannot run in dir.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return &StartError{Code: CannotStart, text: "working directory " + dir + ": " + reason(err, syscall.ENOTDIR)}
	}
	return nil
}

// lookPath returns the path of a program, found as a shell would find it in the given
// directory and environment.
func lookPath(name, dir string, env []string) (string, error) {
	switch {
	case name == "":
		return "", &StartError{Code: NotFound, text: `"": command not found`}
	case strings.Contains(name, "/"):
		return name, executable(name, dir)
	}
	// A folder that cannot be searched, and an entry that is a folder or cannot be
	// examined, are skipped. A file without execute permission is reported only if no
	// later folder has the program.
	var failure error
	for _, folder := range filepath.SplitList(lookupEnv(env, "PATH")) {
		path := filepath.Join(folder, name)
		if folder == "" {
			path = "./" + name
		}
		info, err := os.Stat(within(dir, path))
		if err != nil || info.IsDir() {
			continue
		}
		if info.Mode()&0o111 != 0 {
			return path, nil
		}
		if failure == nil {
			failure = programError(path, syscall.EACCES)
		}
	}
	if failure != nil {
		return "", failure
	}
	text := name + ": command not found"
	if strings.ContainsAny(name, " \t\n") {
		text += ": the name of the program has spaces; a command line needs sh -c before it"
	}
	return "", &StartError{Code: NotFound, text: text}
}

// executable returns an error if path, relative to dir, is not a program.
func executable(path, dir string) error {
	info, err := os.Stat(within(dir, path))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &StartError{Code: NotFound, text: path + ": " + reason(err, nil)}
	case err != nil:
		return programError(path, err)
	case info.IsDir():
		return programError(path, syscall.EISDIR)
	case info.Mode()&0o111 == 0:
		return programError(path, syscall.EACCES)
	}
	return nil
}

// within returns the path as seen from outside dir.
func within(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// reason returns the innermost text of a file error, without the path.
func reason(err, otherwise error) string {
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		return file.Err.Error()
	case err != nil:
		return err.Error()
	}
	return otherwise.Error()
}

// lookupEnv returns the last value of an environment variable.
func lookupEnv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// startError returns the error of a program that the system did not start. It is a
// *StartError unless this machine lacks memory, processes or files at the moment, or the
// program is being written.
func startError(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT): // of the interpreter in its first line
		return &StartError{Code: NotFound, text: path + ": " + syscall.ENOENT.Error()}
	case slices.ContainsFunc(never, func(n error) bool { return errors.Is(err, n) }):
		return programError(path, err)
	}
	return err
}

var never = []error{
	syscall.EACCES, syscall.EPERM, syscall.ENOEXEC, syscall.E2BIG, syscall.EINVAL, syscall.ELOOP,
	syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR, syscall.EIO,
}
