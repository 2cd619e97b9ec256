package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// mostAliased limits the number of values expanded from aliases, so that a short text
// cannot become a huge document.
const mostAliased = 100_000

var errDeep = errors.New("objects and lists are nested too deeply")

// parseYAML returns the non-empty documents of a YAML stream.
func parseYAML(text []byte) (documents []*Node, err error) {
	reader := &lineReader{lines: slices.Collect(bytes.Lines(text))}
	decoder := yaml.NewDecoder(reader)
	var c yamlConverter
	for {
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, reader.located(err)
		}
		document, err := c.node(&root, 0)
		if err != nil {
			return nil, err
		}
		if document.Value != nil {
			documents = append(documents, document)
		}
	}
}

// lineReader reads a text line by line and counts the lines.
type lineReader struct {
	lines [][]byte
	begun int
	rest  []byte // of the current line
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.begun == len(r.lines) {
			return 0, io.EOF
		}
		r.rest = r.lines[r.begun]
		r.begun++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// located returns an error of the YAML library with the line where a reader notices it.
func (r *lineReader) located(err error) error {
	line, message := lineOf(err)
	line = r.noticed(line, message)
	if strings.HasSuffix(message, "found character that cannot start any token") {
		message += ", such as a tab, @ or %"
	}
	if line > 0 {
		message = fmt.Sprintf("line %d: %s", line, message)
	}
	return errors.New(message)
}

// lineOf splits an error of the YAML library into its line, or 0 if it has none, and
// its message.
func lineOf(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if _, scan := fmt.Sscanf(message, "line %d: ", &line); scan == nil {
		_, message, _ = strings.Cut(message, ": ")
	}
	return line, message
}

// noticed returns the first line up to which the text causes the error, since the
// library reports the first line of the enclosing list or object. A truncated text can
// cause the same error, so the error must remain with different continuations. Only the
// last lines read by the library are tried, so the cost is that of a few readings of
// the text.
func (r *lineReader) noticed(named int, message string) int {
	const readAhead = 2 // lines the library may read ahead
	for n := max(named, r.begun-readAhead, 1); n <= r.begun; n++ {
		differs := func(tail string) bool { return !fails(r.lines[:n], tail, message) }
		if n == len(r.lines) || !slices.ContainsFunc([]string{"", ",", "x"}, differs) {
			return n
		}
	}
	return named
}

// fails reports whether parsing a text fails with the given message.
func fails(lines [][]byte, tail, message string) bool {
	decoder := yaml.NewDecoder(io.MultiReader(&lineReader{lines: lines}, strings.NewReader(tail)))
	var err error
	for err == nil {
		err = decoder.Decode(new(yaml.Node))
	}
	_, got := lineOf(err)
	return got == message
}

// yamlConverter converts the YAML library's nodes.
type yamlConverter struct {
	aliases int // number of aliases around the current value
	aliased int // number of values expanded from aliases
}

// node converts a value at the given nesting depth.
func (c *yamlConverter) node(from *yaml.Node, depth int) (*Node, error) {
	if depth > deepest {
		return nil, at(from, "%w", errDeep)
	}
	if c.aliases > 0 {
		if c.aliased++; c.aliased > mostAliased {
			return nil, at(from, "aliases stand for more than %d values", mostAliased)
		}
	}
	n := &Node{Line: from.Line}
	var err error
	switch from.Kind {
	case yaml.DocumentNode:
		return c.node(from.Content[0], depth)
	case yaml.AliasNode:
		c.aliases++
		defer func() { c.aliases-- }()
		return c.node(from.Alias, depth+1)
	case yaml.MappingNode:
		n.Value, err = c.object(from, depth)
	case yaml.SequenceNode:
		list := make([]*Node, len(from.Content))
		for i := 0; i < len(list) && err == nil; i++ {
			list[i], err = c.node(from.Content[i], depth+1)
		}
		n.Value = list
	default:
		n.Value, err = scalar(from)
	}
	return n, err
}

// object converts a mapping. Merged fields (<<) follow its own fields and do not
// replace them.
func (c *yamlConverter) object(from *yaml.Node, depth int) (Object, error) {
	var fields builder
	var merged []*yaml.Node
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, at(key, "the name of a field must be a text")
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
			continue
		}
		converted, err := c.node(value, depth+1)
		if err != nil {
			return nil, err
		}
		fields.add(key.Value, key.Line, converted)
	}
	for _, value := range merged {
		if err := c.merge(&fields, value, depth+1); err != nil {
			return nil, err
		}
	}
	return fields.object, nil
}

// merge adds the missing fields from a << value, which is an object or a list of
// objects.
func (c *yamlConverter) merge(fields *builder, from *yaml.Node, depth int) error {
	converted, err := c.node(from, depth)
	if err != nil {
		return err
	}
	objects, isList := converted.Value.([]*Node)
	if !isList {
		objects = []*Node{converted}
	}
	for _, one := range objects {
		object, ok := one.Value.(Object)
		if !ok {
			return at(from, "only an object can be merged")
		}
		for _, f := range object {
			if _, found := fields.at[f.Name]; !found {
				fields.add(f.Name, f.Line, f.Value)
			}
		}
	}
	return nil
}

// words are the plain texts that YAML 1.1 and kubectl parse as true or false. YAML 1.2
// and the library accept only true and false.
var words = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// scalar returns the value of a text.
func scalar(from *yaml.Node) (any, error) {
	if value, ok := words[from.Value]; ok && from.Style == 0 {
		return value, nil
	}
	switch from.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool", "!!int", "!!float", "!!binary":
	default: // including times, which are texts in JSON
		return from.Value, nil
	}
	var value any
	if err := from.Decode(&value); err != nil {
		return nil, at(from, "%s is not of the type %s", from.Value, from.ShortTag())
	}
	if text, ok := value.(string); ok {
		if !utf8.ValidString(text) {
			return nil, at(from, "text in JSON must be UTF-8")
		}
		return text, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, at(from, "%s is not a number in JSON", from.Value)
	}
	if _, isBool := value.(bool); isBool {
		return value, nil
	}
	return json.Number(text), nil
}

// at returns an error with the line of a node.
func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", n.Line, fmt.Errorf(format, args...))
}
