package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"

	"github.com/restartkit/restart/cmd/internal/human"
)

// readEnvFiles returns the lines of the files of --env-file, of which later ones win. It
// is nil without a file.
func readEnvFiles(names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	values := make(map[string]string)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usageError("--env-file: %w", err)
		}
		lines, err := parseEnvFile(string(text))
		if err != nil {
			return nil, usageError("--env-file %s: %s", human.Escape(name), human.Escape(err.Error()))
		}
		maps.Copy(values, lines)
	}
	return values, nil
}

// parseEnvFile reads lines of the form NAME=VALUE or export NAME=VALUE. A value in
// single quotes is literal, and one in double quotes may have escapes such as \n. An
// unquoted value is the rest of the line. Empty lines and lines that begin with # are
// ignored.
func parseEnvFile(text string) (map[string]string, error) {
	values := make(map[string]string)
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		words := strings.Fields(name)
		if len(words) == 2 && words[0] == "export" {
			words = words[1:]
		}
		if !ok || len(words) != 1 {
			return nil, fmt.Errorf("line %d: must be NAME=VALUE", n)
		}
		name = words[0]
		value, err := unquote(strings.TrimSpace(value))
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: the value of %s %w", n, name, err)
		case strings.ContainsRune(name+value, 0):
			return nil, fmt.Errorf("line %d: must not have a NUL character", n)
		}
		values[name] = value
	}
	return values, nil
}

// unquote removes the quotes of a quoted text.
func unquote(text string) (string, error) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return text, nil
	}
	if len(text) < 2 || text[len(text)-1] != text[0] {
		return "", fmt.Errorf("must end with the %c that it begins with", text[0])
	}
	if text[0] == '\'' {
		return text[1 : len(text)-1], nil
	}
	value, err := strconv.Unquote(text)
	if err != nil {
		return "", errors.New(`must have a \ before each " and \ in it`)
	}
	return value, nil
}
