// Package count reads the numbers in the annotations of a Job's pods.
package count

import "strconv"

// Max is the highest index or failure count in an annotation.
const Max = 1<<31 - 1

// Parse returns the number in an annotation and reports whether it is from 0 to Max. n
// is -1 for text that is not a number or negative, and Max, which is beyond every
// range, for a larger number.
func Parse(text string) (n int, ok bool) {
	read, err := strconv.ParseInt(text, 10, 64)
	if err != nil || read < 0 {
		return -1, false
	}
	return int(min(read, Max)), read <= Max
}
