// See jobpolicy_test.go.
