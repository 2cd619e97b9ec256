package main

import (
	"strings"
	"testing"

	"github.com/restartkit/restart/examples/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, main) }

// start starts runjob.
func start(t *testing.T, stdin string, args ...string) *programtest.Program {
	t.Helper()
	p := programtest.New(t, args...)
	p.Stdin = strings.NewReader(stdin)
	p.Start()
	return p
}
