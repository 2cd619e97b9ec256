package main

import (
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// getCommand is a command of the scripts: "get FILE PATH STATUS [HOST]" requests a path of
// the address that is in the file, or will be soon, and checks the status.
func getCommand(ts *testscript.TestScript, _ bool, args []string) {
	address := awaitText(ts, args[0], "/\n")
	request, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(address, "/\n")+args[1], nil)
	ts.Check(err)
	if len(args) > 3 {
		request.Host = args[3]
	}
	answer, err := http.DefaultClient.Do(request)
	ts.Check(err)
	answer.Body.Close()
	if !strings.HasPrefix(answer.Status, args[2]+" ") {
		ts.Fatalf("%s: status %s, want %s", args[1], answer.Status, args[2])
	}
}

// awaitCommand is a command of the scripts: "await FILE TEXT" waits until the file has the
// text.
func awaitCommand(ts *testscript.TestScript, _ bool, args []string) {
	awaitText(ts, args[0], args[1])
}

// awaitText waits until a file has a text, and returns all of the file.
func awaitText(ts *testscript.TestScript, file, want string) string {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(file))
		if strings.Contains(string(text), want) {
			return string(text)
		}
		if err != nil && !os.IsNotExist(err) || time.Now().After(deadline) {
			ts.Fatalf("%s never has %q: %q, %v", file, want, text, err)
		}
	}
}
