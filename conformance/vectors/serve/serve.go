// Package serve is the side of a Go program in the protocol of the recorded cases. It
// reads questions and writes answers, one JSON object per line.
package serve

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Kinds are the functions that answer questions, by the kind of case. The argument is
// the question. The result is encoded as "got".
type Kinds map[string]func(question json.RawMessage) (any, error)

// Answer decodes the question for f. Fields that In lacks are ignored.
func Answer[In any](f func(In) (any, error)) func(json.RawMessage) (any, error) {
	return func(question json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(question, &in); err != nil {
			return nil, err
		}
		return f(in)
	}
}

// Unsupported is an error that says why a program has no answer to a question. The
// runner counts such cases apart.
type Unsupported string

func (u Unsupported) Error() string { return string(u) }

type answer struct {
	ID          string `json:"id"`
	Got         any    `json:"got"`
	Unsupported bool   `json:"unsupported,omitempty"`
	Why         string `json:"why,omitempty"`
	Error       string `json:"error,omitempty"`
}

// Run answers all questions of r on w, in order, until the end of r. A kind without a
// function, or with a nil one, is unsupported. A panic of a function is an error in the
// answer. Run returns the first error of reading a question or writing an answer.
func Run(r io.Reader, w io.Writer, kinds Kinds) error {
	questions := json.NewDecoder(r)
	out := bufio.NewWriter(w)
	for {
		var question json.RawMessage
		if err := questions.Decode(&question); errors.Is(err, io.EOF) {
			return out.Flush()
		} else if err != nil {
			return errors.Join(fmt.Errorf("serve: Run: %w", err), out.Flush())
		}
		line, err := json.Marshal(kinds.answer(question))
		if err != nil {
			return errors.Join(fmt.Errorf("serve: Run: %w", err), out.Flush())
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

func (k Kinds) answer(question json.RawMessage) (a answer) {
	var about struct {
		ID   string `json:"id"`
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(question, &about); err != nil {
		return answer{Error: err.Error()}
	}
	defer func() {
		if p := recover(); p != nil {
			a = answer{ID: about.ID, Error: fmt.Sprintf("panic: %v", p)}
		}
	}()
	run := k[about.Kind]
	if run == nil {
		return answer{ID: about.ID, Unsupported: true, Why: "kind " + about.Kind}
	}
	got, err := run(question)
	var unsupported Unsupported
	switch {
	case errors.As(err, &unsupported):
		return answer{ID: about.ID, Unsupported: true, Why: string(unsupported)}
	case err != nil:
		return answer{ID: about.ID, Error: err.Error()}
	}
	if _, err := json.Marshal(got); err != nil {
		return answer{ID: about.ID, Error: err.Error()}
	}
	return answer{ID: about.ID, Got: got}
}
