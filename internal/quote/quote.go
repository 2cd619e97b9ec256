// Package quote formats untrusted text for messages.
package quote

import "fmt"

// Text returns text in quotes, shortened if long.
func Text(text string) string {
	const most = 64
	if len(text) > most {
		return fmt.Sprintf("%q and %d more bytes", text[:most], len(text)-most)
	}
	return fmt.Sprintf("%q", text)
}

// Plain is Text, without the quotes if text is short and needs no escapes.
func Plain(text string) string {
	if quoted := Text(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
