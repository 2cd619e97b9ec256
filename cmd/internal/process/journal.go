//go:build unix

package process

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/statefolder"
)

// RecordKey names a child in the journal: the Run-th one, from 0, that has this
// Name and belongs to this Owner. The zero value names none.
type RecordKey struct {
	Owner string `json:"owner"`
	Name  string `json:"name"`
	Run   int    `json:"run"`
}

// Record says how a child ended, or why it could not start.
type Record struct {
	RecordKey
	Code    int       `json:"code"`              // its exit code, 128+n if signal n killed it
	Signal  int       `json:"signal,omitempty"`  // the signal that killed it, or 0
	Message string    `json:"message,omitempty"` // why it could not be started
	Began   time.Time `json:"began"`
	At      time.Time `json:"at"`
	Stopped bool      `json:"stopped,omitempty"` // it was sent a signal before it ended
	// Output is the rest of its output that its program had not read when it was
	// killed.
	Output string `json:"output,omitempty"`
}

// ReadJournal returns the records of a journal, in order, one for each key. It ignores
// a last record that was cut off.
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

// check returns an error for a record that no guard has written.
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

// journal holds the records of ended children, in the guard. A nil journal records
// nothing.
type journal struct {
	folder *statefolder.Folder
	name   string
	log    *statefolder.Log
	owners map[string][]Record // to be kept
	kept   int                 // bytes of these, about
}

// openJournal opens a journal to append to it.
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

// largestJournal is the size from which on a journal is rewritten without forgotten
// records, if these are at least half of it.
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

// largestOutput is the size from which on a journal takes no output: one longer than
// statefolder.Largest could not be read.
const largestOutput = statefolder.Largest / 8

// add adds the child's output to a record, if there is room for it.
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

// forget drops the records of an owner.
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
