// Package quote prints text that anybody may have written for a message.
package quote

import "fmt"

// Text returns the text in quotes, cut where it is long.
func Text(text string) string {
	const most = 64
	if len(text) > most {
		return fmt.Sprintf("%q and %d more bytes", text[:most], len(text)-most)
	}
	return fmt.Sprintf("%q", text)
}
