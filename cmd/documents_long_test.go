//go:build long

package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are the pages whose commands a user types, relative to the repository.
var documents = []string{
	"README.md", "docs/packages.md", "docs/licences.md", "KUBERNETES.md", "DEVIATIONS.md", "SECURITY.md",
	"cmd/README.md", "cmd/criwatch/README.md", "kube/README.md", "docs/sooner.md",
}

// elsewhere are the commands that do not run here, with what runs them.
var elsewhere = map[string]string{
	"go get github.com/restartkit/restart":                                                     ".ci/vendoring",
	"git clone https://github.com/restartkit/restart && cd restart":                            "a network",
	"git clone https://github.com/restartkit/restart":                                          "a network",
	"go -C restart/cmd install ./runjob ./supervise ./crashcurve ./criwatch ./playground":      "TestDocumentedCommandsPrintWhatStandsBelow builds them",
	"go -C cmd run ./criwatch":                                                                 ".ci/cri",
	"go -C cmd run ./criwatch -endpoint unix:///run/containerd/containerd.sock":                ".ci/cri",
	"go -C cmd run ./criwatch -restart criwatch/testdata/policy.yaml -state /var/lib/criwatch": ".ci/cri",
	"sudo cmd/criwatch/containerd.sh up    # builds one, starts it, prints its socket":         ".ci/cri",
	"sudo cmd/criwatch/containerd.sh down  # removes everything but the build":                 ".ci/cri",
	"sudo .ci/cri -run Measure -measure 10,100 -measure-for 20s":                               "itself",
	"docker build -t restart-job-controller:v0.3.0 -f kube/cmd/restart-job-controller/Dockerfile . && kind create cluster && kind load docker-image restart-job-controller:v0.3.0": "Docker",
	"kubectl apply -f kube/cmd/restart-job-controller/manifests":                                           "the integration tests of kube, by server-side dry run",
	"kubectl apply -f kube/cmd/restart-job-controller/example-job.yaml":                                    "the integration tests of kube",
	"go -C kube run ./testenv/cmd/testenv -kubectl -- sh":                                                  "by hand",
	"docker build -t sooner:v0.3.0 -f kube/cmd/sooner/Dockerfile .":                                        "Docker",
	"kubectl apply -k kube/cmd/sooner/manifests":                                                           "the tests of sooner",
	"sooner -manifests /etc/kubernetes/manifests -rules rules.yaml":                                        "the tests of sooner",
	"kubectl annotate pod web restartkit.dev/restart-now=\"$(date)\" --overwrite":                          "the tests of sooner",
	"RESTART_TESTENV=1 go -C kube/cmd/sooner test -tags long -v -timeout 1h . -exits 200":                  "by hand, as root",
	"RESTART_TESTENV=1 go -C kube/cmd/sooner test -tags long -v -timeout 1h . -exits 200 -kubernetes 1.36": "by hand, as root",
	"go -C kube run ./testenv/cmd/testenv -node -kubectl -- sh":                                            "by hand, as root",
	"kubectl get nodes": "by hand, on a node",
	"kubectl create job hello --image=localhost/testenv/busybox:1 -- sh -c 'echo hello'": "by hand, on a node",
	"kubectl wait --for=condition=Complete job/hello":                                    "by hand, on a node",
	"kubectl logs job/hello": "by hand, on a node",
	"exit":                   "by hand, on a node",
	"go -C kube run ./testenv/cmd/testenv -node -kubelet-only -- sh -c 'ls -d $TESTENV_MANIFESTS; echo $CONTAINER_RUNTIME_ENDPOINT'":                  "by hand, as root",
	"RESTART_TESTENV=1 go -C conformance/kubelet test -tags long -run CriwatchBesideAKubelet -v -timeout 30m .                  # Kubernetes 1.37":    "by hand, as root",
	"RESTART_TESTENV=1 go -C conformance/kubelet test -tags long -run CriwatchBesideAKubelet -v -timeout 30m . -kubelet.version 1.36":                 "by hand, as root",
	"go run ./cmd/restart-job-controller -leader-elect=false &":                                                                                       "by hand",
	"kubectl create clusterrolebinding metrics-reader --clusterrole=restart-job-controller-metrics-reader --serviceaccount=monitoring:prometheus-k8s": "TestMetricsAreForThoseWhoMay of kube",
	"kubectl -n restart-system port-forward deploy/restart-job-controller 8443 &":                                                                     "a cluster",
	"curl -k -H \"Authorization: Bearer $(kubectl -n monitoring create token prometheus-k8s)\" https://localhost:8443/metrics":                        "TestMetricsAreForThoseWhoMay of kube",
	"kubectl apply -k kube/cmd/restart-job-controller/monitoring":                                                                                     "TestKustomizationsNameEveryManifest of kube",
	"sed '1,/^spec:/d; s/^  //' kube/cmd/restart-job-controller/monitoring/prometheusrule.yaml >rules.yaml && promtool check rules rules.yaml":        "promtool",
	"go -C kube build -trimpath -o /tmp/restart-job-controller ./cmd/restart-job-controller":                                                          "by hand",
	"/tmp/restart-job-controller -version": "TestVersionIsPrinted of kube",
	"RESTART_TESTENV=1 go -C kube test -tags long ./cmd/restart-job-controller -run Sizing -sizing 1x10000,2000x1 -timeout 1h -v":  "by hand",
	"RESTART_TESTENV=1 go -C kube test -tags long ./jobcontroller -run TwoVersions -jobcontroller.releasedseeds 10 -timeout 2h -v": "by hand",
	"go run ./.ci/sbom /tmp/restart-job-controller >sbom.json":                                                                     "go test ./.ci/sbom",
	"kubectl apply -f cmd/restart-job-controller/example-job.yaml":                                                                 "by hand",
	"go -C cmd run ./playground": "the tests of playground, until it is interrupted",
	"go -C cmd run ./playground            # prints the address of the page":                         "the tests of playground, until it is interrupted",
	"go -C cmd run ./playground -o public  # writes the page as plain files":                         ".ci/run",
	"go -C cmd run ./supervise -f testdata/supervise/supervise.yaml":                                 "the tests of supervise, until it is interrupted",
	"jq -r 'select(.event == \"failed\") | [.pod, .exitCode, .counted, .wait] | @tsv' cmd/run.jsonl": "jq",
	"supervise -f services.yaml -state state/ &":                                                     "the tests of supervise",
	"supervise status -state state/":                                                                 "the tests of supervise",
	"supervise restart -state state/ web":                                                            "the tests of supervise",
	"source <(runjob -completion bash)":                                                              "the tests of flags",
}

// exits are the exit codes that are not 0.
var exits = map[string]int{
	"go -C cmd run ./runjob -backoff 400ms -timeline ../docs/runjob.svg testdata/nightly.yaml": 1,
}

// whole are the commands of which everything that they print stands below them.
var whole = []string{
	"go -C cmd run ./runjob -dry-run testdata/kep3329-story1-retried.yaml",
}

var (
	block  = regexp.MustCompile("(?s)```sh\n(.*?)```(?:\n\n```\n(.*?)```)?")
	hereIn = regexp.MustCompile(`go -C cmd run \./(\w+)`)
	varies = regexp.MustCompile(`\d{4}-\d\d-\d\dT|\d\d:\d\d:\d\d|\d+\.\d{3}s|\bin \d+(?:\.\d)?s|\b\d+s ago| {2,}`)
)

// slow are the commands that wait, for delays or the end of -for. What they print depends
// on how fast processes run, so only long tests type them.
var slow = []string{
	"go -C cmd run ./runjob testdata/quickstart.yaml",
	"go -C cmd run ./runjob -events run.jsonl testdata/quickstart.yaml",
	"go -C cmd run ./runjob -backoff 400ms -timeline ../docs/runjob.svg testdata/nightly.yaml",
	"TRAINER_RUNS=$(mktemp) go -C cmd run ./supervise -for 20s -explain -f testdata/supervise/rules.yaml",
	"go -C cmd run ./supervise -for 20s -- sh testdata/flaky.sh",
}

// Every command in the documents runs and prints what stands below it, is slow, or is
// listed as one that others run. Each block is typed into one shell, in folders that look
// like the repository. Times, and the width of columns that depends on them, may differ;
// so may the order of lines, as that of pods that fail at once does.
func TestDocumentedCommandsPrintWhatStandsBelow(t *testing.T) {
	all := documented(t)
	seen := make(map[string]bool)
	for _, b := range all {
		for _, command := range b.commands {
			seen[command] = true
		}
	}
	for _, command := range append(slices.Collect(maps.Keys(elsewhere)), slow...) {
		if !seen[command] {
			t.Errorf("listed, but in no document: %s", command)
		}
	}
	runBlocks(t, all, false)
}

// documentedBlock is a block of commands in a document.
type documentedBlock struct {
	page     string
	commands []string
	below    string // the output that stands below it
}

// here returns the commands that run here, and whether one of them is slow.
func (b documentedBlock) here() (commands []string, isSlow bool) {
	for _, command := range b.commands {
		if elsewhere[command] == "" {
			commands = append(commands, command)
			isSlow = isSlow || slices.Contains(slow, command)
		}
	}
	return commands, isSlow
}

// documented returns all blocks of the documents.
func documented(t *testing.T) (all []documentedBlock) {
	t.Helper()
	for _, page := range documents {
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range block.FindAllStringSubmatch(string(text), -1) {
			all = append(all, documentedBlock{page, strings.Split(strings.TrimSuffix(b[1], "\n"), "\n"), b[2]})
		}
	}
	return all
}

// runBlocks builds the programs of the slow blocks, or of the others, and runs them.
func runBlocks(t *testing.T, all []documentedBlock, wantSlow bool) {
	t.Helper()
	type test struct {
		commands    []string
		page, below string
	}
	var tests []test
	build := []string{"build", "-buildvcs=false", "-o", t.TempDir() + "/"}
	for _, b := range all {
		commands, isSlow := b.here()
		if len(commands) == 0 || isSlow != wantSlow {
			continue
		}
		tests = append(tests, test{commands, b.page, b.below})
		for _, command := range commands {
			if m := hereIn.FindStringSubmatch(command); m != nil && !slices.Contains(build, "./"+m[1]) {
				build = append(build, "./"+m[1])
			}
		}
	}
	if len(tests) < 4 {
		t.Fatalf("only %d blocks were found", len(tests))
	}
	if out, err := exec.Command("go", build...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %s", tt.page, tt.commands[0]), func(t *testing.T) {
			t.Parallel()
			runBlock(t, strings.TrimSuffix(build[3], "/"), tt.commands, tt.below)
		})
	}
}

// runBlock runs the commands of a block and compares what they print.
func runBlock(t *testing.T, programs string, commands []string, below string) {
	root := t.TempDir()
	for _, folder := range []string{"cmd", "docs"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(data, filepath.Join(root, "cmd", "testdata")); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	for _, command := range commands {
		if !hereIn.MatchString(command) {
			t.Errorf("neither runs here nor is it listed as one that others run: %s", command)
			continue
		}
		out, code := &bytes.Buffer{}, 0
		shell := exec.Command("sh", "-c", hereIn.ReplaceAllString(command, programs+"/$1"))
		shell.Dir = filepath.Join(root, "cmd")
		shell.Stdout, shell.Stderr = out, out
		shell.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
		if err := shell.Run(); err != nil {
			exit := &exec.ExitError{}
			if !errors.As(err, &exit) {
				t.Fatal(err)
			}
			code = exit.ExitCode()
		}
		if code != exits[command] {
			t.Errorf("%s: exit code %d instead of %d:\n%s", command, code, exits[command], out)
		}
		if slices.Contains(whole, command) && out.String() != below {
			t.Errorf("%s prints\n%s\nbelow it stands\n%s", command, out, below)
		}
		printed.Write(out.Bytes())
	}
	lines := map[string]bool{}
	for line := range strings.Lines(printed.String()) {
		lines[varies.ReplaceAllString(line, "~")] = true
	}
	for line := range strings.Lines(below) {
		if !lines[varies.ReplaceAllString(line, "~")] {
			t.Errorf("not printed: %swhat was printed:\n%s", line, &printed)
		}
	}
	for _, named := range regexp.MustCompile(`\.\./docs/(\S+)`).FindAllStringSubmatch(strings.Join(commands, "\n"), -1) {
		if _, err := os.Stat(filepath.Join(root, "docs", named[1])); err != nil {
			t.Error(err)
		}
	}
	pictures(t, filepath.Join(root, "docs"))
}

// pictures compares what the commands have drawn with what the documents show.
func pictures(t *testing.T, folder string) {
	drawn, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range drawn {
		got, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("../docs", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if entry.Name() == "runjob.svg" { // of a run, so its times differ
			title := regexp.MustCompile(`<title[^<]*</title>`)
			got, want = title.Find(got), title.Find(want)
		}
		if len(want) == 0 || varies.ReplaceAllString(string(got), "~") != varies.ReplaceAllString(string(want), "~") {
			t.Errorf("docs/%s is not what the command draws; run it again", entry.Name())
		}
	}
}

// The slow commands print what stands below them too.
func TestSlowDocumentedCommandsPrintWhatStandsBelow(t *testing.T) {
	runBlocks(t, documented(t), true)
}
