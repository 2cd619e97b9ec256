package cli

import "strings"

// Shapes returns the texts of the explored Jobs, with the number of faults in each
// history.
func Shapes() []string { return strings.Split(strings.TrimSpace(shapes), "\n") }

const shapes = `
backoffLimit=0 total=3
backoffLimit=1 starts total=2
backoffLimit=2 suspend=1 total=3
watchOnly backoffLimit=1 total=3
completions=2 backoffLimit=1 total=3
completions=2 parallelism=2 backoffLimit=0 total=2
completions=2 parallelism=2 backoffLimit=1 total=2
completions=2 parallelism=2 backoffLimit=2 suspend=1 total=2
replaceEnded completions=2 parallelism=2 backoffLimit=1 total=2
watchOnly completions=2 parallelism=2 backoffLimit=1 total=2
completions=3 parallelism=2 backoffLimit=1 total=2
completions=3 parallelism=3 backoffLimit=1 total=1
completions=2 parallelism=2 backoffLimit=1 rule=Ignore:disruption total=2
completions=2 parallelism=2 backoffLimit=1 rule=Count:disruption total=2
completions=2 parallelism=2 backoffLimit=1 rule=FailJob:code fail9=1 total=2
indexed backoffLimit=0 total=3
indexed perIndex=0 total=3
indexed perIndex=1 total=3
indexed watchOnly perIndex=1 total=3
indexed completions=2 backoffLimit=1 total=3
indexed completions=2 parallelism=2 backoffLimit=1 total=2
indexed completions=2 perIndex=1 suspend=1 total=2
indexed completions=2 parallelism=2 perIndex=0 total=2
indexed completions=2 parallelism=2 perIndex=1 total=2
indexed completions=2 parallelism=2 perIndex=0 maxFailed=0 total=2
indexed completions=2 parallelism=2 perIndex=0 maxFailed=1 total=2
indexed replaceEnded completions=2 parallelism=2 perIndex=1 total=2
indexed completions=2 parallelism=2 success=1 total=2
indexed watchOnly completions=2 parallelism=2 perIndex=1 total=1
indexed completions=2 parallelism=2 perIndex=1 rule=Ignore:disruption total=2
indexed completions=2 parallelism=2 perIndex=1 rule=FailIndex:code fail9=1 total=2
indexed completions=2 parallelism=2 perIndex=1 rule=FailJob:code fail9=1 total=2
indexed completions=3 parallelism=2 perIndex=0 total=1
indexed completions=3 parallelism=3 perIndex=1 maxFailed=1 total=1
`
