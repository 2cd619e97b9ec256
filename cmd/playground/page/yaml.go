package page

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// YAML formats a value of encoding/json as block-style YAML with sorted names, like
// kubectl. A YAML library would take a fifth of the page.
func YAML(value any) string {
	var b strings.Builder
	writeYAML(&b, value, 0)
	return b.String()
}

func writeYAML(b *strings.Builder, value any, depth int) {
	indent := strings.Repeat("  ", depth)
	switch value := value.(type) {
	case map[string]any:
		for _, name := range sortedKeys(value) {
			b.WriteString(indent + scalar(name) + ":")
			writeInside(b, value[name], depth)
		}
	case []any:
		for _, element := range value {
			var inner strings.Builder
			writeYAML(&inner, element, depth+1)
			text := inner.String()
			if empty(element) || !nested(element) {
				text = strings.Repeat("  ", depth+1) + scalar(element) + "\n"
			}
			b.WriteString(indent + "- " + text[len(indent)+2:])
		}
	}
}

// writeInside writes the value of a field after its colon.
func writeInside(b *strings.Builder, value any, depth int) {
	switch {
	case !nested(value) || empty(value):
		b.WriteString(" " + scalar(value) + "\n")
	default:
		b.WriteByte('\n')
		if _, isList := value.([]any); isList {
			depth-- // the dashes stand below the name
		}
		writeYAML(b, value, depth+1)
	}
}

func nested(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func empty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

// scalar returns a scalar, or an empty map or list.
func scalar(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return strconv.FormatInt(int64(value), 10)
		}
		return strconv.FormatFloat(value, 'g', -1, 64)
	case string:
		if isPlain(value) {
			return value
		}
		return strconv.Quote(value) // YAML knows all escapes of Go
	case map[string]any:
		return "{}"
	default:
		return "[]"
	}
}

// isPlain reports whether a text needs no quotes in any version of YAML. Such texts are
// words of letters, and index sets of more than one number.
func isPlain(text string) bool {
	if isIndexSet(text) {
		return true
	}
	if text == "" || len(text) > 200 || !isLetter(text[0]) || text[len(text)-1] == ' ' {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !isLetter(c) && (c < '0' || c > '9') && !strings.ContainsRune(" ._/-,()", rune(c)) {
			return false
		}
	}
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// isIndexSet reports whether a text is an index set such as 0-3,7. Single numbers and
// dates are not.
func isIndexSet(text string) bool {
	if len(text) > 200 || !strings.ContainsAny(text, ",-") {
		return false
	}
	for item := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(item, "-")
		if first == "" || isRange && last == "" || strings.Trim(first+last, "0123456789") != "" {
			return false
		}
	}
	return true
}
