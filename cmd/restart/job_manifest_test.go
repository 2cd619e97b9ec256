package main

import (
	"fmt"
	"slices"
	"testing"
)

func TestWordsAreThoseOfAShell(t *testing.T) {
	for command, want := range map[string][]string{
		"":                           nil,
		" a\tb\nc ":                  {"a", "b", "c"},
		`sh -c "echo \"a b\""`:       {"sh", "-c", `echo "a b"`},
		`sh -c 'echo "a\nb"'`:        {"sh", "-c", `echo "a\nb"`},
		`"\a\\\$\` + "`" + `" ''`:    {`\a\$` + "`", ""},
		`a\ b\'c d"e f"g`:            {"a b'c", "de fg"},
		"a --b \\\n 3":               {"a", "--b", "3"},
		"a\\\nb \"c\\\nd\" 'e\\\nf'": {"ab", "cd", "e\\\nf"},
		"a \\\n":                     {"a"},
	} {
		if got, err := wordsOf(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", command, got, err, want)
		}
	}
	for command, want := range map[string]string{
		`'a`: "must end with the ' that it begins with", `"a\"`: `must end with the " that it begins with`, `a\`: "must not end with a backslash",
	} {
		if got, err := wordsOf(command); err == nil || err.Error() != want {
			t.Errorf("%s: %q, %v, want %s", command, got, err, want)
		}
	}
}

// A bracket that begins a word begins a list. One that is a word is the program [, unless
// all of the command is JSON.
func TestCommandIsWordsOrAList(t *testing.T) {
	for command, want := range map[string][]string{
		`sh -c "exit 3"`:             {"sh", "-c", "exit 3"},
		`[sh, -c, "exit 3"]`:         {"sh", "-c", "exit 3"},
		` ["sh", "-c", "exit 3"] `:   {"sh", "-c", "exit 3"},
		"[ \"sh\",\n\"-c\", \"a\" ]": {"sh", "-c", "a"},
		`[ -f /etc/passwd ]`:         {"[", "-f", "/etc/passwd", "]"},
		`[ "a" = b ]`:                {"[", "a", "=", "b", "]"},
		"[\t-n x ]":                  {"[", "-n", "x", "]"},
		`- x`:                        {"-", "x"},
		`[`:                          {"["},
	} {
		node, err := commandOf(command)
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		var got []string
		for _, word := range node.List() {
			got = append(got, fmt.Sprint(word.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
