//go:build js && wasm

// Command wasm is the playground's program in the browser. It defines the function
// playground, which answers the page's requests, and then calls playgroundReady.
package main

import (
	"encoding/json"
	"fmt"
	"syscall/js"

	"github.com/restartkit/restart/cmd/playground/page"
)

func main() {
	p := new(page.Page)
	js.Global().Set("playground", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return answer(p, args[0].String())
	}))
	js.Global().Call("playgroundReady")
	select {}
}

// answer is Page.Answer, but recovers from a panic, so that a defect does not lose the
// input.
func answer(p *page.Page, request string) (answer string) {
	defer func() {
		if r := recover(); r != nil {
			*p = page.Page{}
			text, _ := json.Marshal(map[string]string{"notice": fmt.Sprint("This is a defect of the page: ", r)}) // strings always have a JSON form
			answer = string(text)
		}
	}()
	return string(p.Answer([]byte(request)))
}
