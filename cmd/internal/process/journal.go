//go:build unix

package process

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/statefolder"
)

// RecordKey identifies a child by owner, name and run, counted from 0. The zero value
// is not recorded.
type RecordKey struct {
	Owner string `json:"owner"`
	Name  string `json:"name"`
	Run   int    `json:"run"`
}

// Record is the exit of a child, or the reason why it could not start.
type Record struct {
	RecordKey
	Code    int       `json:"code"`              // 128+n after signal n
	Signal  int       `json:"signal,omitempty"`  // 0 if not killed
	Message string    `json:"message,omitempty"` // why it could not start
	Began   time.Time `json:"began"`
	At      time.Time `json:"at"`
	Stopped bool      `json:"stopped,omitempty"` // signalled before its end
	// Output is the output not yet read by a killed program.
	Output string `json:"output,omitempty"`
}

// ReadJournal returns one record per key, in order of first appearance. It ignores a
// truncated last record.
func ReadJournal(f *statefolder.Folder, name string) ([]Record, error) {
	lines, err := f.ReadLog(name)
	if err != nil {
		return nil, err
	}
	var records []Record
	index := make(map[RecordKey]int)
	for i, line := range lines {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", f.Path(name), i, err)
		}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", f.Path(name), i, err)
		}
		if at, known := index[r.RecordKey]; known {
			records[at] = r
			continue
		}
		index[r.RecordKey] = len(records)
		records = append(records, r)
	}
	return records, nil
}

// check returns an error for a record that no guard can have written.
func (r *Record) check() error {
	switch {
	case r.Owner == "" || r.Name == "" || strings.ContainsAny(r.Owner+r.Name, "/\x00"):
		return fmt.Errorf("owner is %q, name is %q", r.Owner, r.Name)
	case r.Run < 0:
		return fmt.Errorf("run is %d, must not be below 0", r.Run)
	case r.Code < 0 || r.Code > 255:
		return fmt.Errorf("code is %d, must be in [0, 255]", r.Code)
	case r.Signal < 0 || r.Signal > 127:
		return fmt.Errorf("signal is %d, must be in [0, 127]", r.Signal)
	}
	return nil
}

// WriteJournal replaces a journal.
func WriteJournal(f *statefolder.Folder, name string, records []Record) error {
	lines := make([][]byte, len(records))
	for i := range records {
		var err error
		if lines[i], err = json.Marshal(&records[i]); err != nil {
			return err
		}
	}
	return f.ReplaceLog(name, lines)
}

// journal holds the guard's records of ended children. A nil journal records nothing.
type journal struct {
	folder *statefolder.Folder
	name   string
	log    *statefolder.Log
	owners map[string][]Record // records to keep
	kept   int                 // approximate bytes of the records to keep
}

// openJournal opens a journal for appending.
func openJournal(dir, name string) (*journal, error) {
	folder, err := statefolder.At(dir)
	if err != nil {
		return nil, err
	}
	j := &journal{folder: folder, name: name, owners: make(map[string][]Record)}
	records, err := ReadJournal(folder, name)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		j.owners[r.Owner] = append(j.owners[r.Owner], r)
	}
	if j.log, err = folder.OpenLog(name); err != nil {
		return nil, err
	}
	j.kept = int(j.log.Size())
	return j, nil
}

// largestJournal is the size in bytes from which a journal is rewritten without
// forgotten records, if these make up at least half of it.
const largestJournal = 1 << 20

// write appends the record of a child.
func (j *journal) write(r Record) error {
	if j == nil || r.Owner == "" {
		return nil
	}
	line, err := json.Marshal(&r)
	if err != nil {
		return err
	}
	j.owners[r.Owner] = append(j.owners[r.Owner], r)
	j.kept += len(line)
	if err := j.log.Append(line); err != nil {
		return err
	}
	if j.log.Size() < max(largestJournal, 2*int64(j.kept)) {
		return nil
	}
	return j.compact()
}

// largestOutput is the size in bytes from which a journal accepts no more output, since
// a log above statefolder.Largest could not be read.
const largestOutput = statefolder.Largest / 8

// add adds a child's output to its record if the journal has room.
func (j *journal) add(r Record, output string) {
	r.Output = output
	line, err := json.Marshal(&r)
	if err == nil && j.log.Size()+int64(len(line)) <= largestOutput {
		_ = j.log.Append(line)
	}
}

// compact rewrites the journal without forgotten records.
func (j *journal) compact() error {
	var all []Record
	for _, records := range j.owners {
		all = append(all, records...)
	}
	if err := WriteJournal(j.folder, j.name, all); err != nil {
		return err
	}
	next, err := j.folder.OpenLog(j.name)
	if err != nil {
		return err
	}
	j.log.Close()
	j.log, j.kept = next, int(next.Size())
	return nil
}

// forget drops an owner's records.
func (j *journal) forget(owner string) {
	if j == nil {
		return
	}
	for i := range j.owners[owner] {
		line, _ := json.Marshal(&j.owners[owner][i])
		j.kept -= len(line)
	}
	delete(j.owners, owner)
}
