package timeline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits of Read, so that a small machine can draw the result.
const (
	MaxEvents = 1 << 20
	MaxLine   = 1 << 20 // bytes
)

// Read returns the events of a file. It skips a truncated line left by a killed
// program, at the end or before a resumed run. torn reports whether the last line was
// truncated. Errors include the line number.
func Read(r io.Reader) (events []Event, torn bool, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	var broken error // of the previous line, which may be truncated
	for n := 1; ; n++ {
		line, whole, err := readLine(lines)
		switch {
		case errors.Is(err, io.EOF):
			return events, false, broken
		case err != nil:
			return events, false, fmt.Errorf("line %d: %w", n, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e Event
		failure := parse(line, &e)
		switch {
		case broken != nil && (failure != nil || e.Kind != Resumed):
			return events, false, broken
		case failure != nil && !whole:
			return events, true, nil
		case failure != nil:
			broken = fmt.Errorf("line %d: %w", n, failure)
		case len(events) == MaxEvents:
			return events, false, fmt.Errorf("line %d: more than %d events", n, MaxEvents)
		default:
			broken = nil
			events = append(events, e)
		}
	}
}

// readLine returns the next line, and whether it ends with a line break. It returns
// io.EOF at the end of the file.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return nil, false, fmt.Errorf("longer than %d bytes", MaxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, false, nil
		case err != nil:
			return nil, false, err
		}
		return line, true, nil
	}
}

func parse(line []byte, e *Event) error {
	line = bytes.TrimSpace(line)
	if line[0] != '{' {
		return errors.New("no JSON object")
	}
	if err := json.Unmarshal(line, e); err != nil {
		return err
	}
	return e.valid()
}
