package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// A suite is a package of Kubernetes whose tests are run.
type suite struct {
	name  string
	pkg   string
	apart bool     // one process per top-level test, because they leave gates, metrics or an etcd behind
	etcd  bool     // the tests start etcd
	env   []string // makes a binary run ours; without it, the binary runs upstream's as the baseline
	specs *specSet // the tests are specs of Ginkgo, run on a node of kube/testenv

	// Tests, by file, that call functions ours lacks. They are not compiled and count as
	// failures.
	leftOut map[string][]string
}

var suites = []suite{
	{name: "flowcontrol", pkg: "k8s.io/client-go/util/flowcontrol"},
	{name: "rest", pkg: "k8s.io/client-go/rest"},
	{name: "cache", pkg: "k8s.io/kubernetes/pkg/kubelet/container"},
	{name: "pleg", pkg: "k8s.io/kubernetes/pkg/kubelet/pleg", leftOut: map[string][]string{
		"generic_test.go": {"TestWorkerLoop", "TestUpdateCacheUsesPodTimestampWhenEventedPLEGIsEnabled"},
	}},
	{name: "images", pkg: "k8s.io/kubernetes/pkg/kubelet/images"},
	{name: "kuberuntime", pkg: "k8s.io/kubernetes/pkg/kubelet/kuberuntime"},
	{name: "kubelet", pkg: "k8s.io/kubernetes/pkg/kubelet"},
	{name: "job", pkg: "k8s.io/kubernetes/test/integration/job", apart: true, etcd: true, env: []string{"RESTART_CONTROLLER=1"}},
	{name: "e2e", pkg: "k8s.io/kubernetes/test/e2e", specs: &jobSpecs},
	{name: "restarts", pkg: "k8s.io/kubernetes/test/e2e", specs: &restartSpecs},
}

// swapped reports whether the tests are compiled with the adapters. Those on a node are
// not, because the code under test runs in another program.
func (s suite) swapped(baseline bool) bool {
	return s.specs == nil && (!baseline || len(s.env) > 0)
}

// runnable returns the suites that can run, and a line for each of the others. check
// returns an error if this machine cannot run a node. It is called at most once.
func runnable(chosen []suite, check func() error) (can []suite, leftOut []string) {
	check = sync.OnceValue(check)
	for _, s := range chosen {
		if s.specs == nil {
			can = append(can, s)
		} else if err := check(); err != nil {
			leftOut = append(leftOut, s.name+" is left out: "+err.Error())
		} else {
			can = append(can, s)
		}
	}
	return can, leftOut
}

// allLeftOut returns all tests of s left out.
func (s suite) allLeftOut() []string {
	return slices.Concat(slices.Collect(maps.Values(s.leftOut))...)
}

// choose returns the suites with these names, or all suites for no names.
func choose(names []string) ([]suite, error) {
	if len(names) == 0 {
		return suites, nil
	}
	var chosen []suite
	for _, name := range names {
		i := slices.IndexFunc(suites, func(s suite) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no suite %q; -list lists them", name)
		}
		chosen = append(chosen, suites[i])
	}
	return chosen, nil
}
