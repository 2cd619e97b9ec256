package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestEnvFileLinesAreReadOrRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"\ufeffA=1\r\n# comment\n\nB=2": "A=1 B=2",
		"export A = x y \nB==\nC=":      "A=x y B== C=",
		`A='$x\n'` + "\n" + `B="a\"b"`:  `A=$x\n B=a"b`,
		"A=1\nA=2":                      "A=2",
		"A=x#y":                         "A=x#y",
		"A":                             "! line 1: must be NAME=VALUE",
		"A=1\n=2":                       "! line 2: must be NAME=VALUE",
		"export\tA=1":                   "A=1",
		"A B=1":                         "! line 1: must be NAME=VALUE",
		"export A B=1":                  "! line 1: must be NAME=VALUE",
		`A="x`:                          "! line 1: the value of A must end with the \" that it begins with",
		"A='":                           "! line 1: the value of A must end with the ' that it begins with",
		`A="x" # y`:                     "! line 1: the value of A must end with the \" that it begins with",
		`A="x"y"`:                       `! line 1: the value of A must have a \ before each " and \ in it`,
		"A=x\x00":                       "! line 1: must not have a NUL character",
	} {
		values, err := parseEnvFile(text)
		got := ""
		if err != nil {
			got = "! " + err.Error()
		} else {
			var lines []string
			for _, name := range slices.Sorted(maps.Keys(values)) {
				lines = append(lines, name+"="+values[name])
			}
			got = strings.Join(lines, " ")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
