package indexset_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/states"
)

func TestStoredStatesDecideTheSame(t *testing.T) {
	states.Test(t, "indexset",
		func(*testing.T) any {
			var odd indexset.Builder
			for index := 1; index < 200; index += 2 {
				odd.Add(index)
			}
			return []indexset.Set{{}, indexset.Of(1, 3, 4, 5, 7), indexset.FromRange(0, indexset.MaxIndex), odd.Set()}
		},
		func(t *testing.T, text []byte) (decisions []string) {
			var sets []indexset.Set
			if err := json.Unmarshal(text, &sets); err != nil {
				t.Fatal(err)
			}
			for _, s := range sets {
				decisions = append(decisions, fmt.Sprintf("%d indexes, with 5: %v; next %v; %v",
					min(s.Len(), indexset.MaxIndex), // an int may have 32 bits
					s.Contains(5), s.AppendAbsent(nil, 3, 1000), s))
			}
			return decisions
		})
}
