package main

import (
	"regexp"
	"strings"

	"github.com/restartkit/restart/kube/testenv"
)

// A specSet selects specs of Kubernetes' end-to-end tests and configures the node on
// which they run.
type specSet struct {
	names  string // file with the names of all specs; see readSpecNames
	folder string // of the specs, in the package of the tests
	prefix string // of the full text of each spec; names lack it
	focus  string // regular expression for the text after the prefix; "" matches all

	// Repositories of images for which the node has busybox or pause, besides those two.
	asBusybox, asPause []string

	controllers []string // of Kubernetes, without the baseline; nil means all
	program     program  // runs beside the specs, without the baseline
}

// A program of this repository runs beside specs.
type program struct {
	folder string // of its package
	args   func(*testenv.Environment) []string

	// Lines of its log that it must not write.
	refused *regexp.Regexp
}

// focusOn returns the regular expression for Ginkgo that selects the specs of the set
// whose text after the prefix starts with a match of pattern. Ginkgo matches the name of
// the tests and the text of the spec.
func (s *specSet) focusOn(pattern string) string {
	return "^Kubernetes e2e suite " + regexp.QuoteMeta(s.prefix) + pattern
}

// focusOnNames returns the regular expression that selects specs by name.
func (s *specSet) focusOnNames(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = strings.ReplaceAll(regexp.QuoteMeta(name), "_", "[ _]")
	}
	return s.focusOn("(" + strings.Join(texts, "|") + ")$")
}

var jobSpecs = specSet{
	names:       "e2e.txt",
	folder:      "apps",
	prefix:      "[sig-apps] Job ",
	controllers: []string{"*", "-job-controller"},
	program: program{
		folder: "../../kube/cmd/restart-job-controller",
		args: func(env *testenv.Environment) []string {
			return []string{"--kubeconfig=" + env.Kubeconfig(), "--take-over", "--health-probe-bind-address=0"}
		},
	},
}

var restartSpecs = specSet{
	names:  "restarts.txt",
	folder: "common",
	prefix: "[sig-node] ",
	focus: `(Pod Extended \((container restart policy|RestartAllContainers)\)|Pods .*back-off|InitContainer|` +
		`Container Runtime .*when starting a container that exits|Probing )`,
	asBusybox: []string{"nginx"},   // only its shell runs
	asPause:   []string{"agnhost"}, // as a container that waits
	program: program{
		folder: "../../experimental/sooner",
		args: func(env *testenv.Environment) []string {
			return []string{"--kubeconfig=" + env.Kubeconfig(), "--node-name=" + env.Node().Name(), "--runtime-endpoint=" + env.Node().CRISocket()}
		},
		refused: regexp.MustCompile(`msg=removed |level=ERROR `),
	},
}
