package jobpolicy

import "github.com/restartkit/restart/backoff"

// FieldError is one mistake in an API object.
type FieldError = backoff.FieldError

// FieldErrors are all mistakes in an API object, in the order in which the API
// server reports them.
type FieldErrors = backoff.FieldErrors
