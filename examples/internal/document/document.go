// Package document reads the one document of a YAML or JSON file.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// largest is what an API server takes as one request, and far more than anyone
// writes.
const largest = 3 << 20

// ErrEmpty says that there is no document.
var ErrEmpty = errors.New("empty: there is no document")

// Read returns the document of a file, or of standard input if the name is -. The
// errors do not name the file.
func Read(name string) (any, error) {
	text, err := readText(name)
	var failure *fs.PathError
	switch {
	case errors.As(err, &failure):
		return nil, failure.Err
	case err != nil:
		return nil, err
	case len(text) > largest:
		return nil, fmt.Errorf("larger than %d bytes", largest)
	}
	return Parse(text)
}

func readText(name string) ([]byte, error) {
	file := os.Stdin
	if name != "-" {
		var err error
		if file, err = os.Open(name); err != nil {
			return nil, err
		}
		defer file.Close()
	}
	return io.ReadAll(io.LimitReader(file, largest+1))
}

// Parse returns the document of a YAML or JSON text as encoding/json has it, with
// numbers as json.Number. Empty documents of a YAML text do not count. A key that
// stands twice in an object is an error.
func Parse(text []byte) (any, error) {
	documents, err := parseJSON(text)
	if err != nil {
		documents, err = parseYAML(text) // even if it was meant as JSON: the error names the line
	}
	switch {
	case err != nil:
		// Several of these errors stand below each other, behind one that says so.
		reason := strings.ReplaceAll(strings.ReplaceAll(err.Error(), "yaml: unmarshal errors:\n  ", ""), "\n ", ",")
		return nil, fmt.Errorf("not a YAML or JSON document: %s", strings.TrimPrefix(reason, "yaml: "))
	case len(documents) == 0:
		return nil, ErrEmpty
	case len(documents) > 1:
		return nil, fmt.Errorf("%d documents, must be one", len(documents))
	}
	return documents[0], nil
}

// parseJSON returns the values of a JSON text.
func parseJSON(text []byte) (documents []any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // as it is written: the type of the field decides
	for {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return documents, unique(json.NewDecoder(bytes.NewReader(text)), len(documents))
		case err != nil:
			return nil, err
		}
		documents = append(documents, document)
	}
}

// unique reads n values, which are known to be well formed, and reports a key that
// stands twice in an object.
func unique(decoder *json.Decoder, n int) error {
	for range n {
		token, _ := decoder.Token()
		open, nested := token.(json.Delim)
		if !nested {
			continue
		}
		keys := make(map[json.Token]bool)
		for decoder.More() {
			if open == '{' {
				key, _ := decoder.Token()
				if keys[key] {
					return fmt.Errorf("key %q already set in map", key)
				}
				keys[key] = true
			}
			if err := unique(decoder, 1); err != nil {
				return err
			}
		}
		_, _ = decoder.Token() // the end of the object or list
	}
	return nil
}

// parseYAML returns the documents of a YAML stream, without empty ones.
func parseYAML(text []byte) (documents []any, err error) {
	for _, part := range splitDocuments(text) {
		converted, err := yaml.YAMLToJSONStrict(part.text)
		if err != nil {
			// Once more, as far down as in the stream: the error names the line.
			_, err = yaml.YAMLToJSONStrict(append(bytes.Repeat([]byte("\n"), part.line), part.text...))
			return nil, err
		}
		document, err := parseJSON(converted)
		if err != nil {
			return nil, err
		}
		if document[0] != nil {
			documents = append(documents, document[0])
		}
	}
	return documents, nil
}

// part is a document of a YAML stream and how many lines stand before it.
type part struct {
	text []byte
	line int
}

// splitDocuments cuts a YAML stream at the lines that begin (---) and end (...)
// documents, since the YAML library reads only the first one.
func splitDocuments(text []byte) []part {
	var parts []part
	begin, line := 0, 0 // of the present part
	at, lines := 0, 0
	cut := func(next int) {
		parts = append(parts, part{text[begin:at], line})
		begin, line = next, lines
	}
	for content := range bytes.Lines(text) {
		if isMarker(content, "---") {
			cut(at)
		}
		lines++
		if isMarker(content, "...") {
			cut(at + len(content))
		}
		at += len(content)
	}
	cut(len(text))
	return parts
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}
