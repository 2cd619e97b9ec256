// See jobpolicy_upstream.go.
