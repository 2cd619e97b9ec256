package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// deepest limits the nesting of objects and lists.
const deepest = 1000

var errDeep = errors.New("objects and lists are nested too deeply")

// parseJSON returns the values of a JSON text.
func parseJSON(text []byte) (documents []*Node, err error) {
	p := jsonParser{text: text, decoder: json.NewDecoder(bytes.NewReader(text)), line: 1}
	p.decoder.UseNumber() // as it is written: the type of the field decides
	for {
		document, err := p.value(0)
		switch {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, err
		}
		documents = append(documents, document)
	}
}

type jsonParser struct {
	text    []byte
	decoder *json.Decoder
	line    int // of the last token
	counted int // bytes of which line knows
}

// token returns the next token, which ends on p.line.
func (p *jsonParser) token() (json.Token, error) {
	token, err := p.decoder.Token()
	at := int(p.decoder.InputOffset())
	p.line += bytes.Count(p.text[p.counted:at], []byte("\n"))
	p.counted = at
	return token, err
}

// value reads a value inside depth others.
func (p *jsonParser) value(depth int) (*Node, error) {
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	if depth > deepest {
		return nil, errDeep
	}
	n := &Node{Line: p.line, Value: token}
	switch token {
	case json.Delim('{'):
		n.Value, err = p.object(depth)
	case json.Delim('['):
		n.Value, err = p.list(depth)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (p *jsonParser) object(depth int) (Object, error) {
	var fields builder
	for p.decoder.More() {
		name, err := p.token()
		if err != nil {
			return nil, err
		}
		line := p.line
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		fields.add(name.(string), line, value)
	}
	_, err := p.token()
	return fields.object, err
}

func (p *jsonParser) list(depth int) ([]*Node, error) {
	list := []*Node{}
	for p.decoder.More() {
		element, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	_, err := p.token()
	return list, err
}

// builder gathers the fields of an Object.
type builder struct {
	object Object
	at     map[string]int // in object, by name
}

func (b *builder) add(name string, line int, value *Node) {
	field := Field{Name: name, Line: line, Value: value}
	if at, again := b.at[name]; again {
		field.First = b.object[at].Line
		if first := b.object[at].First; first != 0 {
			field.First = first
		}
		b.object[at] = field
		return
	}
	if b.at == nil {
		b.at = make(map[string]int)
	}
	b.at[name] = len(b.object)
	b.object = append(b.object, field)
}

func (b *builder) has(name string) bool {
	_, found := b.at[name]
	return found
}
