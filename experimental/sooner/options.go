package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/restartkit/restart/experimental/sooner/internal/decide"
	"github.com/restartkit/restart/kube/restartrules"
)

// options are the program's flags.
type options struct {
	node, kubeconfig, endpoint   string
	rulesFile, manifests         string
	namespaces                   []string // none means all
	limits                       decide.Limits
	metricsAddress, probeAddress string
	dryRun, check, verbose       bool

	rules     *restartrules.Rules // of rulesFile
	inCluster bool                // there is an API server
}

// The flags with addresses, as in every controller.
const (
	flagMetrics = "metrics-bind-address"
	flagProbes  = "health-probe-bind-address"
)

// errPrinted says that the help text or the version was printed.
var errPrinted = errors.New("help or version printed")

// endpoints are the usual sockets of runtimes.
var endpoints = []string{"/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/k3s/containerd/containerd.sock"}

const usage = `Restarts crashing containers on this node earlier than the kubelet would, by rules of
their pods. It runs as root beside an unmodified kubelet, and only acts on pods that have
one of these annotations, or on all with --rules:

  restartkit.dev/restart-rules  JSON or YAML with restartPolicyRules and curve
      {"restartPolicyRules": [{"action": "Restart",
          "exitCodes": {"operator": "In", "values": [42]},
          "delay": {"initial": "1s", "max": "1s"}}]}
      restarts the container one second after each exit with code 42. The first rule that
      matches decides. Its delay is the curve of its exits, or else curve. The kubelet
      restarts the container after all other exits.
  restartkit.dev/restart-now    any new value ends the waits of the pod's containers

SIGUSR1 ends the waits of all pods with rules. A container never starts that the kubelet
would not start, and never later.

However short a delay a pod asks for, --min-delay holds, and the restarts per minute of the
node and of each namespace. Pods that want more than that take turns. Whoever gets no turn
is restarted by the kubelet.

Costs: kubectl logs -p finds no log of a run that ended in an early restart, because the
records of these runs, and the logs of earlier ones, are removed. BackOff events go on.

Usage:
  sooner [flags]

Examples:
  sooner --check --kubeconfig=/etc/kubernetes/kubelet.conf
  sooner --dry-run --manifests=/etc/kubernetes/manifests --rules=rules.yaml
  sooner --min-delay=5s --node-restarts-per-minute=20 --namespaces=batch,ci

Flags:
`

const exitCodes = `
Exit codes:
  0  after SIGTERM or SIGINT, or if --check finds nothing wrong
  1  the program cannot start, or --check finds that it would not work
  2  a flag or the file of --rules is wrong
`

// parseOptions parses flags. If they ask for help or the version, it prints that to stdout
// and returns errPrinted.
func parseOptions(args []string, stdout io.Writer, env func(string) string) (*options, error) {
	var o options
	err := errPrinted
	host, _ := os.Hostname()
	host = strings.ToLower(host)
	c := &cobra.Command{
		Use:     "sooner",
		Version: thisVersion(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q", args[0])
			}
			return nil
		},
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			err = o.complete(host, env)
			return nil
		},
	}
	c.SetArgs(args)
	c.SetOut(stdout)
	c.SetVersionTemplate("{{.Version}}\n")
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		fmt.Fprint(c.OutOrStdout(), usage, c.Flags().FlagUsagesWrapped(100), exitCodes)
	})
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.node, "node-name", "", "`name` of this node (default $NODE_NAME or the host's name, "+host+")")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` to reach the API server with; a pod uses its service account")
	f.StringVar(&o.endpoint, "runtime-endpoint", "", "`socket` of the container runtime, as unix:///path (default the usual ones)")
	f.StringVar(&o.manifests, "manifests", "", "`folder` of static pods, the kubelet's staticPodPath")
	f.StringVar(&o.rulesFile, "rules", "", "`file` with the rules of all pods without the annotation")
	f.StringSliceVar(&o.namespaces, "namespaces", nil, "`names` of the namespaces whose pods may have rules, separated by commas (default all)")
	f.DurationVar(&o.limits.MinDelay, "min-delay", time.Second, "least `time` between the exit of a container and its restart; 0 for none")
	f.IntVar(&o.limits.NodePerMinute, "node-restarts-per-minute", 60, "`number` of restarts on the node, of which a sixth may come at once; 0 for no limit")
	f.IntVar(&o.limits.NamespacePerMinute, "namespace-restarts-per-minute", 30, "`number` of restarts in each namespace, likewise")
	f.StringVar(&o.metricsAddress, flagMetrics, "0", "`address` of /metrics over HTTP, which everyone who reaches it can read; 0 for none")
	f.StringVar(&o.probeAddress, flagProbes, "0", "`address` of /healthz and /readyz over HTTP; 0 for none")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be done and when, and do nothing")
	f.BoolVar(&o.check, "check", false, "print whether the program would work on this node, and why not")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log each decision")
	f.BoolP("help", "h", false, "print this text")
	f.Bool("version", false, "print the version")
	if err := c.Execute(); err != nil {
		return nil, err
	}
	return &o, err
}

// complete checks the flags and sets the values that follow from them.
func (o *options) complete(host string, env func(string) string) error {
	o.node = cmp.Or(o.node, env("NODE_NAME"), host)
	if o.endpoint == "" {
		i := slices.IndexFunc(endpoints, func(path string) bool { _, err := os.Stat(path); return err == nil })
		o.endpoint = "unix://" + endpoints[max(i, 0)]
	}
	if _, err := socket(o.endpoint); err != nil {
		return err
	}
	if o.inCluster = o.kubeconfig != "" || env("KUBERNETES_SERVICE_HOST") != ""; !o.inCluster && o.manifests == "" {
		return errors.New("no pods to look at: --kubeconfig or --manifests is missing")
	}
	switch l := o.limits; {
	case l.MinDelay < 0:
		return fmt.Errorf("--min-delay %v: must not be negative", l.MinDelay)
	case l.NodePerMinute < 0:
		return fmt.Errorf("--node-restarts-per-minute %d: must not be negative", l.NodePerMinute)
	case l.NamespacePerMinute < 0:
		return fmt.Errorf("--namespace-restarts-per-minute %d: must not be negative", l.NamespacePerMinute)
	case o.namespaces != nil && len(o.namespaces) == 0:
		return errors.New("--namespaces: names none; leave it out for all namespaces")
	case slices.Contains(o.namespaces, ""):
		return fmt.Errorf("--namespaces %s: one name is empty", strings.Join(o.namespaces, ","))
	}
	if o.rulesFile != "" {
		text, err := os.ReadFile(o.rulesFile)
		if err != nil {
			return fmt.Errorf("--rules: %w", err)
		}
		if o.rules, err = restartrules.Parse(string(text)); err != nil {
			return fmt.Errorf("--rules %s: %w", o.rulesFile, err)
		}
	}
	return nil
}

// covers reports whether pods of a namespace may have rules.
func covers(namespaces []string, name string) bool {
	return len(namespaces) == 0 || slices.Contains(namespaces, name)
}
