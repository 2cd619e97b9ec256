package scenario

import (
	"fmt"
	"strings"
)

// Story is a parsed story file.
type Story struct {
	Cases []Case
	Rest  []string // prose after the last case
}

const separator = "----"

// Parse reads a story. [Story.String] restores the text except for trailing white space
// and blank lines.
func Parse(text string) (Story, error) {
	var (
		s     Story
		prose []string
		rows  = lines(strings.ReplaceAll(text, "\r\n", "\n"))
	)
	for i := 0; i < len(rows); {
		row := strings.TrimSpace(rows[i])
		if row == "" || strings.HasPrefix(row, "#") {
			if row != "" || len(prose) > 0 && prose[len(prose)-1] != "" {
				prose = append(prose, row)
			}
			i++
			continue
		}
		if row == separator {
			return Story{}, fmt.Errorf("scenario: Parse(): %s without a command (line %d)", separator, i+1)
		}
		c := Case{Line: i + 1, Prose: prose, Command: row}
		prose = nil
		i++
		start := i
		for ; i < len(rows) && strings.TrimSpace(rows[i]) != separator; i++ {
			if strings.TrimSpace(rows[i]) == "" {
				break
			}
		}
		if i == len(rows) || strings.TrimSpace(rows[i]) == "" {
			return Story{}, fmt.Errorf("scenario: Parse(): command %q has no %s (line %d)", c.Command, separator, c.Line)
		}
		c.Input = trimRight(rows[start:i])
		i++
		start = i
		for i < len(rows) && strings.TrimSpace(rows[i]) != "" {
			i++
		}
		c.Want = trimRight(rows[start:i])
		if err := checkBody(c.Want); err != nil {
			return Story{}, fmt.Errorf("scenario: Parse(): %v (case of line %d)", err, c.Line)
		}
		s.Cases = append(s.Cases, c)
	}
	s.Rest = prose
	for len(s.Rest) > 0 && s.Rest[len(s.Rest)-1] == "" {
		s.Rest = s.Rest[:len(s.Rest)-1]
	}
	return s, nil
}

// String returns the text of s.
func (s Story) String() string {
	var b strings.Builder
	for i, c := range s.Cases {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeLines(&b, c.Prose)
		writeLines(&b, []string{c.Command})
		writeLines(&b, c.Input)
		writeLines(&b, []string{separator})
		writeLines(&b, c.Want)
	}
	if len(s.Rest) > 0 {
		if len(s.Cases) > 0 {
			b.WriteByte('\n')
		}
		writeLines(&b, s.Rest)
	}
	return b.String()
}

func writeLines(b *strings.Builder, rows []string) {
	for _, row := range rows {
		b.WriteString(row)
		b.WriteByte('\n')
	}
}

// lines splits text at its newlines; a final newline starts no line.
func lines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return trimRight(strings.Split(text, "\n"))
}

// trimRight removes white space at the ends of rows.
func trimRight(rows []string) []string {
	var out []string
	for _, row := range rows {
		out = append(out, strings.TrimRight(row, " \t\r"))
	}
	return out
}

// checkBody rejects an output that could not be read back.
func checkBody(rows []string) error {
	for i, row := range rows {
		if strings.TrimSpace(row) == "" {
			return fmt.Errorf("line %d of the output is blank", i+1)
		}
		if strings.TrimSpace(row) == separator {
			return fmt.Errorf("line %d of the output is %s", i+1, separator)
		}
	}
	return nil
}
