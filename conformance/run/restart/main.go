// Command restart answers the questions of the recorded cases with this library, by its
// exported names only. See conformance/vectors/README.md.
package main

import (
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
		"restartdelay/crashloop":  serve.Answer(crashLoop),
		"restartdelay/retry":      serve.Answer(retry),
		"backoffrecord":           serve.Answer(streak),
		"finishtime":              serve.Answer(finishTime),
		"remaining/global":        serve.Answer(remaining),
		"remaining/per_index":     serve.Answer(remainingPerIndex),
		"remaining/ready_indexes": serve.Answer(readyIndexes),

		"indexset_parse/strict":  serve.Answer(parse),
		"indexset_parse/lenient": serve.Answer(parseLenient),
		"indexset_parse/format":  serve.Answer(format),
		"indexset_ops/has":       serve.Answer(has),
		"indexset_ops/union":     serve.Answer(union),

		"indexset_ops/succeeded":       serve.Answer(succeeded),
		"indexset_ops/failed":          serve.Answer(failed),
		"indexset_ops/index_failed":    serve.Answer(indexFailed),
		"indexset_ops/kept_pods":       serve.Answer(keptPods),
		"indexset_ops/next_counts":     serve.Answer(nextCounts),
		"indexset_ops/pending":         serve.Answer(pending),
		"indexset_ops/duplicates":      serve.Answer(duplicates),
		"indexset_ops/generate_name":   serve.Answer(generateName),
		"indexset_ops/failure_count":   serve.Answer(failureCount),
		"indexset_ops/overlap":         serve.Answer(overlap),
		"indexset_ops/finished_counts": serve.Answer(finishedCounts),

		"podfailurepolicy":     serve.Answer(podFailurePolicy),
		"successpolicy/policy": serve.Answer(successPolicy),
		"successpolicy/rule":   serve.Answer(successRule),
		"validation/create":    serve.Answer(validateCreate),
		"validation/update":    serve.Answer(validateUpdate),
		"jobsync":              serve.Answer(pass),

		"jobcontroller_runs/run":    serve.Answer(wholeJob),
		"jobcontroller_runs/timing": serve.Answer(wholeJob),
	}
}
