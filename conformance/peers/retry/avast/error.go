package retry

import (
	"errors"
	"fmt"
	"strings"
)

// Error is the errors of all calls.
type Error []error

func (e Error) Error() string {
	var b strings.Builder
	b.WriteString("All attempts fail:")
	for i, err := range e {
		fmt.Fprintf(&b, "\n#%d: %v", i+1, err)
	}
	return b.String()
}

func (e Error) Is(target error) bool   { return errors.Is(errors.Join(e...), target) }
func (e Error) As(target any) bool     { return errors.As(errors.Join(e...), target) }
func (e Error) Unwrap() error          { return e[len(e)-1] }
func (e Error) WrappedErrors() []error { return e }

// unpacked removes the marks of Unrecoverable.
func (e Error) unpacked() Error {
	all := make(Error, len(e))
	for i, err := range e {
		if marked, ok := err.(unrecoverable); ok {
			err = marked.error
		}
		all[i] = err
	}
	return all
}

type unrecoverable struct{ error }

func (u unrecoverable) Unwrap() error { return u.error }

func Unrecoverable(err error) error { return unrecoverable{err} }

func IsRecoverable(err error) bool {
	_, ok := errors.AsType[unrecoverable](err)
	return !ok
}
