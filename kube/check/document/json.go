package document

import (
	"bytes"
	"encoding/json"
)

// deepest is the limit of nested objects and lists.
const deepest = 1000

// parseJSON returns the values of a JSON text. ok reports whether the text is valid
// JSON.
func parseJSON(text []byte) (documents []Document, ok bool) {
	p := jsonParser{text: text, decoder: json.NewDecoder(bytes.NewReader(text)), line: 1}
	p.decoder.UseNumber() // keeps the text, since the type of the field decides
	for p.decoder.More() {
		begin := int(p.decoder.InputOffset())
		root := p.value(0)
		if p.failed {
			return nil, false
		}
		if root.Value != nil {
			documents = append(documents, Document{Line: root.Line, Text: text[begin:p.decoder.InputOffset()], Root: root})
		}
	}
	return documents, len(bytes.TrimSpace(text[p.decoder.InputOffset():])) == 0
}

type jsonParser struct {
	text    []byte
	decoder *json.Decoder
	line    int // of the last token
	counted int // bytes counted in line
	failed  bool
}

// token returns the next token and sets p.line to the line where it ends.
func (p *jsonParser) token() json.Token {
	token, err := p.decoder.Token()
	p.failed = p.failed || err != nil
	at := int(p.decoder.InputOffset())
	p.line += bytes.Count(p.text[p.counted:at], []byte("\n"))
	p.counted = at
	return token
}

// more reports whether the current object or list has another element.
func (p *jsonParser) more() bool { return !p.failed && p.decoder.More() }

// value parses a value at the given nesting depth.
func (p *jsonParser) value(depth int) *Node {
	token := p.token()
	n := &Node{Line: p.line, Value: token}
	p.failed = p.failed || depth > deepest
	switch token {
	case json.Delim('{'):
		var fields builder
		for p.more() {
			name, _ := p.token().(string)
			line := p.line
			fields.add(name, line, p.value(depth+1))
		}
		n.Value = fields.object
		p.token()
	case json.Delim('['):
		list := []*Node{}
		for p.more() {
			list = append(list, p.value(depth+1))
		}
		n.Value = list
		p.token()
	}
	return n
}
