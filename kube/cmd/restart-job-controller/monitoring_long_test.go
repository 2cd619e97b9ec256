//go:build long

package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/restartkit/restart/kube/jobcontroller"
)

// unknownMetrics returns the metrics of the alerts that the program does not serve.
func unknownMetrics(t testing.TB, served string) (unknown []string) {
	t.Helper()
	described := make(chan *prometheus.Desc, 100)
	jobcontroller.NewMetrics().Describe(described) // those that have counted nothing are not served
	close(described)
	for d := range described {
		served += d.String() + "\n"
	}
	for _, a := range alerts(t) {
		for _, m := range metricInRule.FindAllStringSubmatch(a.Expr, -1) {
			if m[1] != "up" && !strings.Contains(served, "\n"+m[1]+"{") && !strings.Contains(served, `"`+m[1]+`"`) {
				unknown = append(unknown, a.Alert+": "+m[1])
			}
		}
	}
	return unknown
}
