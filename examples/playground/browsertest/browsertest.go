// Package browsertest tests the playground in a real browser. It is a module of its own,
// because what drives the browser is larger than the programs.
package browsertest
