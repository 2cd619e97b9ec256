// See linked.go.
