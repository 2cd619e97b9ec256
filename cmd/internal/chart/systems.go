package chart

import (
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// MostLines is the highest number of distinguishable lines in a panel.
const MostLines = 8

// styles are the styles of lines. Each has enough contrast for text on a light and on a
// dark ground. Styles with the same dashes differ in colour, even for colour-blind
// people.
var styles = [MostLines]picture.Style{
	{Stroke: picture.Pair(0x0067a3, 0x56b4e9), Width: 2},
	{Stroke: picture.Pair(0xb34a00, 0xff8f4a), Width: 2, Dash: 7},
	{Stroke: picture.Pair(0x00765a, 0x2fc9a0), Width: 2, Dash: 3},
	{Stroke: picture.Pair(0xa03a78, 0xe79bc6), Width: 2, Dash: 12},
	{Stroke: picture.Pair(0x806000, 0xf0c040), Width: 2},
	{Stroke: picture.Text, Width: 2, Dash: 7},
	{Stroke: picture.Pair(0x5b2fb5, 0xbfa5ff), Width: 2, Dash: 3},
	{Stroke: picture.Faint, Width: 2},
}

// known are the systems with a fixed style. Those with the same style rarely share a
// picture.
var known = map[string]int{
	"kubelet": 0, "kubelet-reduced": 1, "docker": 2, "systemd": 3, "flink": 4, "job": 5, "imagepull": 7,
	"1s maximum": 2,
}

// others is the order in which other systems get styles.
var others = [MostLines]int{6, 4, 5, 7, 3, 2, 1, 0}

// stylesOf returns the styles of systems' lines. A known system has the same style in
// every picture, unless an earlier line uses it. The other systems get the remaining
// styles. The number of systems must not exceed MostLines.
func stylesOf(systems []string) []picture.Style {
	looks := make([]int, len(systems))
	var taken [MostLines]bool
	for i, name := range systems {
		look, ok := known[name]
		if looks[i] = -1; ok && !taken[look] {
			looks[i], taken[look] = look, true
		}
	}
	all := make([]picture.Style, len(systems))
	next := 0
	for i, look := range looks {
		for look < 0 {
			if !taken[others[next]] {
				look = others[next]
			}
			next++
		}
		all[i] = styles[look]
	}
	return all
}
