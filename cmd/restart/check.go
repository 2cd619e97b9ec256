package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	_ "time/tzdata" // the time zones of CronJobs, wherever the program runs

	"github.com/spf13/cobra"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/kube/check"
)

// checkFlags are the flags of restart check.
type checkFlags struct {
	check.Options
	format string
	strict bool
	exits  []string     // each with commas, too
	codes  indexset.Set // of exits
	drain  bool         // exits has the word drain
}

func checkCommand() *cobra.Command {
	var flags checkFlags
	c := &cobra.Command{
		Use:   "check [flags] FILE…",
		Short: "Judge what manifests do when something fails",
		Long: `check says what is wrong with manifests of Kubernetes, and what they do when
something fails. It needs no cluster and runs nothing.

FILE is a file, a folder (its *.yaml, *.yml and *.json) or - for standard input.
Of Jobs, CronJobs, Pods, ReplicaSets, Deployments, StatefulSets and DaemonSets,
check judges the names and types of all fields, and the values of those that
decide about restarts. Other kinds are counted at the end.

  error    the API server refuses it
  warning  it is accepted, but pods end or go on against the intention
  notice   worth knowing: a part has no effect, or is not judged

For each Job in a file that you name, the worst case follows: how many pods its
failures can cost, and how long it waits between them. --exit 42 says what
happens after each container exits with code 42, and --exit drain what happens on
a drained node. To see it happen, run the Job:
  restart job --command main='sh -c "exit 42"' --backoff 1s --explain job.yaml`,
		SuggestFor: []string{"lint", "validate", "judge", "explain"},
		Annotations: map[string]string{exitCodes: `  0  nothing is wrong
  1  an error was found; with --strict, a warning
  2  used wrongly
  3  output could not be written`},
		Example: `  restart check job.yaml
  restart check --strict -o github manifests/
  restart check --exit 1,137 job.yaml
  helm template mychart | restart check --kubernetes 1.30 -`,
		RunE: func(c *cobra.Command, files []string) error { return runCheck(c, flags, files) },
	}
	c.Flags().StringVarP(&flags.format, "output", "o", "text", "`format`: text, json, or github for annotations in GitHub Actions")
	c.Flags().StringArrayVar(&flags.exits, "exit", nil, "say what happens after a container exits with these `codes`, such as 1,42, and, with the word drain, on a drained node; for files that you name, in objects without errors; repeatable")
	c.Flags().BoolVar(&flags.strict, "strict", false, "exit with 1 on warnings, too")
	c.Flags().StringVar(&flags.Kubernetes, "kubernetes", "", "`version` of the cluster, from 1.25 to 1.38: say what it drops or refuses (default "+check.Newest+")")
	return c
}

func runCheck(c *cobra.Command, flags checkFlags, files []string) error {
	if len(files) == 0 {
		return usageError("name a file, a folder, or - for standard input, as in restart check job.yaml")
	}
	if err := flags.Validate(); err != nil {
		return usageError("--kubernetes %w", err)
	}
	if err := flags.parseExits(); err != nil {
		return err
	}
	print, err := printerOf(flags.format, c.OutOrStdout())
	if err != nil {
		return err
	}
	for _, name := range files {
		if _, err := os.Stat(name); name != "-" && os.IsNotExist(err) {
			return usageError("%s: no such file or folder", quoted(name))
		}
	}
	var total checkTotal
	for report := range checkAll(files, c.InOrStdin(), flags) {
		total.add(report)
		print.file(report)
	}
	print.end(total)
	if total.Errors > 0 || flags.strict && total.Warnings > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}

// parseExits reads --exit.
func (f *checkFlags) parseExits() (err error) {
	const drain, highest = "drain", 255
	var codes []string
	all := strings.Join(f.exits, ",")
	for one := range strings.SplitSeq(all, ",") {
		if strings.TrimSpace(one) == drain {
			f.drain = true
			continue
		}
		codes = append(codes, one)
	}
	if f.codes, err = parseCodes("exit", strings.Join(codes, ","), highest); err != nil {
		return usageError("--exit %s: must be exit codes from 0 to %d, such as 1,42, or the word %s", quoted(all), highest, drain)
	}
	return nil
}

// fileReport has the findings about a file.
type fileReport struct {
	Name     string          `json:"file"`
	Findings []check.Finding `json:"findings,omitempty"` // about the file itself
	Objects  []objectReport  `json:"objects,omitempty"`  // judged, or of a kind that should be

	named                           bool
	others                          []string // kinds of objects that are not judged
	noObjects, templated, encrypted int
}

// objectReport has the findings about an object.
type objectReport struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Kind       string             `json:"kind"`
	Namespace  string             `json:"namespace,omitempty"`
	Name       string             `json:"name,omitempty"`
	Line       int                `json:"line"`
	Findings   []check.Finding    `json:"findings"`
	WorstCase  *worstCaseReport   `json:"worstCase,omitempty"`
	AfterExit  []check.ExitEffect `json:"afterExit,omitempty"` // by code, then by container
	AfterDrain string             `json:"afterDrain,omitempty"`

	title   string
	noExits bool // effects of exits are asked for, but errors hide them
}

// worstCaseReport is a worst case for programs. Numbers without a bound are absent.
type worstCaseReport struct {
	Text               string `json:"text"`
	Pods               *int   `json:"pods,omitempty"`
	WaitSeconds        *int64 `json:"waitSeconds,omitempty"` // by the clock
	IgnoresDisruptions bool   `json:"ignoresDisruptions"`
}

// checkAll judges files in parallel and yields their reports in order.
func checkAll(files []string, stdin io.Reader, flags checkFlags) func(yield func(*fileReport) bool) {
	return func(yield func(*fileReport) bool) {
		workers := runtime.GOMAXPROCS(0)
		const ahead = 64 // reports that may wait for an earlier one
		type task struct {
			read func() *check.File
			name bool
			done chan *fileReport
		}
		tasks := make(chan task, workers)
		order := make(chan task, ahead)
		stopped := make(chan struct{})
		defer close(stopped)
		for range workers {
			go func() {
				for t := range tasks {
					report := reportOf(t.read(), flags)
					report.named = t.name
					t.done <- report
				}
			}()
		}
		go func() {
			defer close(order)
			defer close(tasks)
			give := func(read func() *check.File, named bool) bool {
				t := task{read, named, make(chan *fileReport, 1)}
				select {
				case order <- t:
				case <-stopped:
					return false
				}
				tasks <- t
				return true
			}
			for _, name := range files {
				if name == "-" {
					if !give(func() *check.File { return readInput(stdin) }, true) {
						return
					}
					continue
				}
				for _, source := range check.Sources(true, name) {
					if !give(source.File, source.Named) {
						return
					}
				}
			}
		}()
		for t := range order {
			if !yield(<-t.done) {
				return
			}
		}
	}
}

// readInput reads standard input. Without any text it is an error, since the program
// before a pipe has surely failed.
func readInput(stdin io.Reader) *check.File {
	const name = "standard input"
	text := &textReader{Reader: stdin}
	file := check.Read(name, text)
	if !text.hasText && len(file.Findings) == 0 {
		file.Findings = []check.Finding{{Severity: check.Error, Kind: check.KindUnreadable, Text: "empty: the program that should have written it may have failed"}}
	}
	return file
}

// textReader notices whether there is more to read than spaces and line ends.
type textReader struct {
	io.Reader
	hasText bool
}

func (r *textReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.hasText = r.hasText || len(bytes.TrimSpace(p[:n])) > 0
	return n, err
}

func reportOf(file *check.File, flags checkFlags) *fileReport {
	report := &fileReport{
		Name: file.Name, Findings: file.Findings,
		noObjects: file.NoObjects, templated: file.Templated, encrypted: file.Encrypted,
	}
	for _, object := range file.Objects {
		judgement := object.Judge(flags.Options)
		if !object.IsJudged() && len(judgement.Findings) == 0 {
			report.others = append(report.others, object.Kind)
			continue
		}
		one := objectReport{
			APIVersion: object.APIVersion, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name, Line: object.Line,
			Findings: judgement.Findings, title: object.String(),
		}
		if one.Findings == nil {
			one.Findings = []check.Finding{}
		}
		if w := judgement.WorstCase; w != nil {
			one.WorstCase = &worstCaseReport{Text: w.String(), IgnoresDisruptions: w.IgnoresDisruptions}
			if !w.Unbounded {
				one.WorstCase.Pods = &w.Runs
			}
			if seconds := int64(w.Clock.Seconds()); !w.WaitsForever() {
				one.WorstCase.WaitSeconds = &seconds
			}
		}
		if judgement.Worst() == check.Error {
			one.noExits = len(flags.exits) > 0 && object.IsJudged()
		} else {
			for code := range flags.codes.All() {
				one.AfterExit = append(one.AfterExit, object.AfterExit(int32(code), flags.Options)...)
			}
			if flags.drain {
				one.AfterDrain = object.AfterDrain(flags.Options)
			}
		}
		report.Objects = append(report.Objects, one)
	}
	return report
}

// checkTotal counts the objects judged and those passed over.
type checkTotal struct {
	Files     int `json:"files"`
	Objects   int `json:"objects"`
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
	Notices   int `json:"notices"`
	Others    int `json:"otherKinds"`
	NoObjects int `json:"noObjects"`
	Templated int `json:"templates"`
	Encrypted int `json:"encrypted"`

	NotJudged string `json:"notJudged"`

	kinds map[string]int // objects of other kinds, of a few hundred kinds at most
}

func (t *checkTotal) add(report *fileReport) {
	t.Files++
	t.Objects += len(report.Objects)
	t.Others += len(report.others)
	for _, kind := range report.others {
		t.addKind(kind)
	}
	t.NoObjects += report.noObjects
	t.Templated += report.templated
	t.Encrypted += report.encrypted
	t.count(report.Findings)
	for i := range report.Objects {
		t.count(report.Objects[i].Findings)
	}
}

func (t *checkTotal) addKind(kind string) {
	const most = 500
	if t.kinds == nil {
		t.kinds = make(map[string]int)
	}
	if _, known := t.kinds[kind]; known || len(t.kinds) < most {
		t.kinds[kind]++
	}
}

// otherKinds names the most frequent ones of the other kinds.
func (t *checkTotal) otherKinds() string {
	kinds := slices.SortedFunc(maps.Keys(t.kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.kinds[b], t.kinds[a]), cmp.Compare(a, b))
	})
	const most, longest = 3, 40
	var names []string
	for _, kind := range kinds[:min(len(kinds), most)] {
		names = append(names, human.Excerpt(kind, longest))
	}
	if n := len(kinds); n > most {
		names = append(names, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}

func (t *checkTotal) count(findings []check.Finding) {
	for _, finding := range findings {
		switch finding.Severity {
		case check.Error:
			t.Errors++
		case check.Warning:
			t.Warnings++
		case check.Notice:
			if finding.Kind != check.KindTemplated && finding.Kind != check.KindEncrypted {
				t.Notices++
			}
		}
	}
}

// String returns the last line.
func (t checkTotal) String() string {
	var found []string
	for _, one := range []struct {
		n    int
		what string
	}{{t.Errors, "error"}, {t.Warnings, "warning"}, {t.Notices, "notice"}} {
		if one.n > 0 {
			found = append(found, human.Count(one.n, one.what))
		}
	}
	text := fmt.Sprintf("%s judged in %s: ", human.Count(t.Objects, "object"), human.Count(t.Files, "file"))
	switch {
	case len(found) > 0:
		text += strings.Join(found, ", ") + "."
	case t.Objects > 0:
		text += "nothing found."
	default:
		text = fmt.Sprintf("Nothing to judge in %s.", human.Count(t.Files, "file"))
	}
	var passed []string
	if t.Others > 0 {
		passed = append(passed, fmt.Sprintf("%s of other kinds (%s)", human.Count(t.Others, "object"), t.otherKinds()))
	}
	if t.NoObjects > 0 {
		passed = append(passed, human.Count(t.NoObjects, "document")+" without an object")
	}
	if t.Templated > 0 {
		passed = append(passed, human.Count(t.Templated, "template"))
	}
	if t.Encrypted > 0 {
		passed = append(passed, human.Count(t.Encrypted, "encrypted document"))
	}
	if len(passed) > 0 {
		text += " Passed over: " + strings.Join(passed, ", ") + "."
	}
	if t.Objects > 0 {
		text += " Not judged: " + check.NotJudged + "."
	}
	return text
}

// checkFormats are the values of --output.
var checkFormats = []string{"text", "json", "github"}

// checkPrinter prints reports.
type checkPrinter interface {
	file(*fileReport)
	end(checkTotal)
}

func printerOf(format string, w io.Writer) (checkPrinter, error) {
	switch format {
	case "text":
		return newTextPrinter(w), nil
	case "json":
		return &jsonPrinter{to: w}, nil
	case "github":
		return &githubPrinter{to: w}, nil
	}
	return nil, usageError("--output %s: must be one of %s", quoted(format), strings.Join(checkFormats, ", "))
}
