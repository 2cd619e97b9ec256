//go:build unix

package statefolder

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"syscall"
)

// Log is an append-only file of records with checksums, which reveal a truncated one.
type Log struct {
	file *os.File
	path string
	size int64
}

// OpenLog opens a log for appending, and creates it if necessary.
func (f *Folder) OpenLog(name string) (*Log, error) {
	file, err := f.open(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Log{file: file, path: f.Path(name), size: info.Size()}, nil
}

// Append appends a record, which must not contain line breaks. Records survive the end
// of the program, but not always a failure of the machine.
func (l *Log) Append(record []byte) error {
	info, err := l.file.Stat()
	if s, ok := info.Sys().(*syscall.Stat_t); err == nil && ok && s.Nlink == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.path, err)
	}
	n, err := l.file.Write(line(record))
	if err != nil { // a record truncated by a full disk would hide all later ones
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size += int64(n)
	return nil
}

// Clear removes all records.
func (l *Log) Clear() error {
	l.size = 0
	return l.file.Truncate(0)
}

// Size returns the size of the log in bytes.
func (l *Log) Size() int64 { return l.size }

// Close closes the file.
func (l *Log) Close() { l.file.Close() }

// ReplaceLog atomically replaces a log.
func (f *Folder) ReplaceLog(name string, records [][]byte) error {
	var text []byte
	for _, record := range records {
		text = append(text, line(record)...)
	}
	return f.Replace(name, text)
}

func line(record []byte) []byte {
	return fmt.Appendf(make([]byte, 0, len(record)+10), "%08x %s\n", crc32.ChecksumIEEE(record), record)
}

// ReadLog returns the records of a log, up to the first incomplete one. A missing log
// has no records.
func (f *Folder) ReadLog(name string) ([][]byte, error) {
	text, err := f.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var records [][]byte
	for len(text) > 0 {
		first, rest, whole := bytes.Cut(text, []byte("\n"))
		_, record, _ := bytes.Cut(first, []byte(" "))
		if !whole || !bytes.Equal(append(first, '\n'), line(record)) {
			break
		}
		records = append(records, record)
		text = rest
	}
	return records, nil
}
