// Command restart answers the questions of the recorded cases with this library, by its
// exported names only. See conformance/vectors/README.md.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/restartkit/restart/conformance/vectors/serve"
)

func main() {
	if err := serve.Run(os.Stdin, os.Stdout, kinds()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func kinds() serve.Kinds {
	return serve.Kinds{
		"restartdelay/crashloop":  answer(crashLoop),
		"restartdelay/retry":      answer(retry),
		"backoffrecord":           answer(streak),
		"finishtime":              answer(finishTime),
		"remaining/global":        answer(remaining),
		"remaining/per_index":     answer(remainingPerIndex),
		"remaining/ready_indexes": answer(readyIndexes),

		"indexset_parse/strict":  answer(parse),
		"indexset_parse/lenient": answer(parseLenient),
		"indexset_parse/format":  answer(format),
		"indexset_ops/has":       answer(has),
		"indexset_ops/union":     answer(union),

		"indexset_ops/succeeded":       answer(succeeded),
		"indexset_ops/failed":          answer(failed),
		"indexset_ops/index_failed":    answer(indexFailed),
		"indexset_ops/kept_pods":       answer(keptPods),
		"indexset_ops/next_counts":     answer(nextCounts),
		"indexset_ops/pending":         answer(pending),
		"indexset_ops/duplicates":      answer(duplicates),
		"indexset_ops/generate_name":   answer(generateName),
		"indexset_ops/failure_count":   answer(failureCount),
		"indexset_ops/overlap":         answer(overlap),
		"indexset_ops/finished_counts": answer(finishedCounts),

		"podfailurepolicy":     answer(podFailurePolicy),
		"successpolicy/policy": answer(successPolicy),
		"successpolicy/rule":   answer(successRule),
		"validation/create":    answer(validateCreate),
		"validation/update":    answer(validateUpdate),
		"jobsync":              answer(pass),
	}
}

// answer decodes the question for f.
func answer[In any](f func(In) (any, error)) func(json.RawMessage) (any, error) {
	return func(question json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(question, &in); err != nil {
			return nil, err
		}
		return f(in)
	}
}
