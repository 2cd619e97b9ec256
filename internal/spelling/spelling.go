// Package spelling suggests a known name for a misspelled one.
package spelling

import "strings"

// Nearest returns the first of the known names most similar to name, or "" if no name
// is similar enough.
func Nearest(name string, known []string) string { return Within(allowed(name), name, known) }

// Within is like Nearest, with the largest number of letters that may differ.
func Within(most int, name string, known []string) string {
	best, least := "", 1+most
	for _, candidate := range known {
		if strings.EqualFold(candidate, name) {
			return candidate
		}
		if abs(len(candidate)-len(name)) >= least {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// allowed returns the largest distance of a suggestion, a third of the name's length
// but at most 4.
func allowed(name string) int { return min(len(name)/3, 4) }

// distance returns the number of letters to change, add, remove or swap with the next
// one to turn a into b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows = [3][]int{last, row, before}
	}
	return rows[1][len(b)]
}

func abs(n int) int { return max(n, -n) }
