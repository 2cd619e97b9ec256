package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxValues is the number of values that a text may hold, roughly. It keeps a small
// file of brackets from filling the memory.
const MaxValues = 2_000_000

// ErrBinary is returned for binary input.
var ErrBinary = errors.New("not a text file")

// Parse returns the documents of a YAML or JSON text, in order and without those that
// hold nothing. A document that cannot be read has an Err, and the others are there
// nevertheless. The error is about the text as a whole: it is not a text, or holds more
// than MaxValues.
//
// The text may be UTF-8 or, with a byte order mark, UTF-16. As in kubectl, a line of
// three dashes begins a document, YAML 1.1 decides what a plain value is, the last field
// of a name counts, and a field merged later replaces one written before.
func Parse(text []byte) ([]Document, error) {
	text, err := utf8Text(text)
	if err != nil {
		return nil, err
	}
	if n := mayHold(text); n > MaxValues {
		return nil, fmt.Errorf("more than %d values", MaxValues)
	}
	if begin := bytes.TrimLeft(text, " \t\r\n"); len(begin) > 0 && (begin[0] == '{' || begin[0] == '[') {
		if documents, ok := parseJSON(text); ok {
			return documents, nil
		}
	}
	var documents []Document
	for _, part := range split(text) {
		root, failure := parseYAML(part.Text, part.Line-1)
		if failure == nil && (root == nil || root.Value == nil) {
			continue
		}
		part.Root, part.Err = root, failure
		documents = append(documents, part)
	}
	return documents, nil
}

// mayHold returns an upper bound for the number of values in a text.
func mayHold(text []byte) int {
	n := 0
	for _, c := range text {
		switch c {
		case '\n', ',', '[', '{', ':', '-', '?':
			n++
		}
	}
	if n <= MaxValues {
		return n
	}
	// Long lines of text have many hyphens and colons; in YAML only those before a space
	// or a line's end begin a value.
	n = 0
	for i, c := range text {
		switch c {
		case '\n', ',', '[', '{':
			n++
		case ':', '-', '?':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n' || text[i+1] == '\t') {
				n++
			}
		}
	}
	return n
}

// utf8Text returns the text in UTF-8, without a byte order mark. ErrBinary is returned
// for bytes that are no text, and another error for a text in an unknown encoding.
func utf8Text(text []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		return fromUTF16(text[2:], binary.LittleEndian)
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		return fromUTF16(text[2:], binary.BigEndian)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
		return text, nil
	}
	if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return nil, ErrBinary
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		switch {
		case !utf8.Valid(line):
			return nil, &SyntaxError{Line: n, Detail: "not UTF-8"}
		case bytes.IndexByte(line, 0) >= 0:
			return nil, ErrBinary
		}
	}
	return text, nil
}

func fromUTF16(text []byte, order binary.ByteOrder) ([]byte, error) {
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16(text[2*i:])
	}
	converted := []byte(string(utf16.Decode(units)))
	if bytes.IndexByte(converted, 0) >= 0 {
		return nil, ErrBinary
	}
	return converted, nil
}

// split cuts a text at the lines that begin with three dashes, as kubectl does. What
// such a line has behind the dashes, which may only be a comment, is an error of the
// document.
func split(text []byte) (parts []Document) {
	line, begin, at := 1, 0, 0
	part := Document{Line: 1}
	add := func(end int) {
		part.Text = text[begin:end]
		parts = append(parts, part)
	}
	for of := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(of, []byte("---")); ok {
			add(at)
			begin, part = at+len(of), Document{Line: line + 1}
			if behind := bytes.TrimSpace(rest); len(behind) > 0 && behind[0] != '#' {
				// The YAML library reads the line, and Err says that kubectl does not.
				begin, part.Line = at, line
			}
		}
		at += len(of)
		line++
	}
	add(len(text))
	return parts
}

// behindDashes returns an error for a document whose text begins with dashes that
// something else than a comment follows.
func behindDashes(text []byte, line int) *SyntaxError {
	if !bytes.HasPrefix(text, []byte("---")) {
		return nil
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return &SyntaxError{Line: line, Detail: fmt.Sprintf("only a comment may follow the dashes, not %q", strings.TrimSpace(first[3:]))}
}
