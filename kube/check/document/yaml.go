package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// mostAliased limits the number of values expanded from aliases, so that a short text
// cannot become a huge document.
const mostAliased = 100_000

// parseYAML returns the value of the document in a text, which is nil if it has none.
// before is the number of lines before the text.
func parseYAML(text []byte, before int) (*Node, *SyntaxError) {
	reader := &lineReader{lines: slices.Collect(bytes.Lines(text))}
	decoder := yaml.NewDecoder(reader)
	var root, next yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, reader.located(err, before)
	}
	switch err := decoder.Decode(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, reader.located(err, before)
	default:
		return nil, &SyntaxError{Line: before + next.Line, Detail: "another document, which needs a line of three dashes before it"}
	}
	if failure := behindDashes(text, before+1); failure != nil {
		return nil, failure
	}
	c := yamlConverter{before: before}
	node, err := c.node(&root, 0)
	var failure *SyntaxError
	if errors.As(err, &failure) {
		return nil, failure
	}
	return node, nil
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
func (r *lineReader) located(err error, before int) *SyntaxError {
	line, message := lineOf(err)
	line = r.noticed(line, message)
	switch {
	case strings.HasSuffix(message, "found character that cannot start any token") && r.hasTab(line):
		message = "a tab cannot indent a line of YAML: use spaces"
	case strings.HasSuffix(message, "found character that cannot start any token"):
		message += ", such as @, ` or %: put the text in quotes"
	}
	if line == len(r.lines) && slices.Contains(unfinished, message) {
		message += ", and the text ends"
	}
	if line > 0 {
		line += before
	}
	return &SyntaxError{Line: line, Detail: message}
}

// unfinished are the errors of the YAML library for a truncated text.
var unfinished = []string{
	"found unexpected end of stream",
	"could not find expected ':'",
	"did not find expected node content",
	"did not find expected ',' or '}'",
	"did not find expected ',' or ']'",
}

// hasTab reports whether a tab indents a line.
func (r *lineReader) hasTab(line int) bool {
	return line > 0 && line <= len(r.lines) && bytes.HasPrefix(bytes.TrimLeft(r.lines[line-1], " "), []byte("\t"))
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
	before  int // lines before the text
	aliases int // number of aliases around the current value
	aliased int // number of values expanded from aliases
}

// node converts a value at the given nesting depth.
func (c *yamlConverter) node(from *yaml.Node, depth int) (*Node, error) {
	if depth > deepest {
		return nil, c.fail(from, "objects and lists are nested too deeply")
	}
	if c.aliases > 0 {
		if c.aliased++; c.aliased > mostAliased {
			return nil, c.fail(from, "aliases stand for more than %d values", mostAliased)
		}
	}
	n := &Node{Line: c.before + from.Line}
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
		n.Value, err = c.scalar(from)
	}
	return n, err
}

// object converts a mapping. The fields of a merge (<<) replace those before it, and are
// replaced by those behind it.
func (c *yamlConverter) object(from *yaml.Node, depth int) (Object, error) {
	fields := builder{object: make(Object, 0, len(from.Content)/2)}
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			if err := c.merge(&fields, value, depth+1); err != nil {
				return nil, err
			}
			continue
		}
		name, err := c.name(key)
		if err != nil {
			return nil, err
		}
		converted, err := c.node(value, depth+1)
		if err != nil {
			return nil, err
		}
		fields.add(name, c.before+key.Line, converted)
	}
	return fields.object, nil
}

// name returns the name of a field. A name that looks like a number or a truth value is
// written as JSON has it.
func (c *yamlConverter) name(key *yaml.Node) (string, error) {
	for key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode {
		return "", c.fail(key, "the name of a field must be a text")
	}
	if key.Style != 0 {
		return key.Value, nil
	}
	value, err := c.scalar(key)
	if err != nil {
		return "", err
	}
	switch value := value.(type) {
	case string:
		return value, nil
	case bool:
		return strconv.FormatBool(value), nil
	case json.Number:
		return value.String(), nil
	}
	return "", c.fail(key, "the name of a field must be a text, not null")
}

// merge sets the fields of a << value, which is an object or a list of objects. Of
// several objects, earlier ones count more. An alias must stand for an object, as for
// kubectl.
func (c *yamlConverter) merge(fields *builder, from *yaml.Node, depth int) error {
	if from.Kind == yaml.AliasNode && from.Alias.Kind != yaml.MappingNode {
		return c.fail(from, "only an object can be merged")
	}
	converted, err := c.node(from, depth)
	if err != nil {
		return err
	}
	objects, isList := converted.Value.([]*Node)
	if !isList {
		objects = []*Node{converted}
	}
	for _, one := range slices.Backward(objects) {
		object, ok := one.Value.(Object)
		if !ok {
			return c.fail(from, "only an object can be merged")
		}
		for _, f := range object {
			fields.merge(f)
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
func (c *yamlConverter) scalar(from *yaml.Node) (any, error) {
	tag := from.ShortTag()
	if value, ok := words[from.Value]; ok && from.Style&^yaml.TaggedStyle == 0 && (from.Style == 0 || tag == "!!bool") {
		return value, nil
	}
	switch tag {
	case "!!null":
		return nil, nil
	case "!!bool", "!!int", "!!float", "!!binary":
	default: // including times, which are texts in JSON
		return from.Value, nil
	}
	var value any
	if err := from.Decode(&value); err != nil {
		return nil, c.fail(from, "%s is not of the type %s", from.Value, tag)
	}
	if text, ok := value.(string); ok {
		if !utf8.ValidString(text) {
			return nil, c.fail(from, "text in JSON must be UTF-8")
		}
		return text, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, c.fail(from, "%s is not a number in JSON", from.Value)
	}
	if _, isBool := value.(bool); isBool {
		return value, nil
	}
	return json.Number(text), nil
}

// fail returns an error with the line of a node.
func (c *yamlConverter) fail(n *yaml.Node, format string, args ...any) error {
	return &SyntaxError{Line: c.before + n.Line, Detail: fmt.Sprintf(format, args...)}
}
