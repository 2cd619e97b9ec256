package picture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Ending returns a path's extension in lower case, or an error unless it is one of
// endings, such as ".svg".
func Ending(path string, endings ...string) (string, error) {
	ending := strings.ToLower(filepath.Ext(path))
	if slices.Contains(endings, ending) {
		return ending, nil
	}
	text := "must end in " + strings.Join(endings, " or ")
	if ending == ".png" {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		text += fmt.Sprintf("; a browser or rsvg-convert -z 2 %s.svg > %[1]s.png makes a PNG", name)
	}
	return "", errors.New(text)
}

// Write writes a file and returns its absolute path.
func Write(path string, text []byte) (whole string, err error) {
	if whole, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return whole, os.WriteFile(whole, text, 0o644)
}
