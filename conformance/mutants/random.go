package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// A draw describes which random mutants to try, and how.
type draw struct {
	tries    int           // for each package
	seed     uint64        // of the sample
	parallel int           // mutants at a time
	limit    time.Duration // of the tests over one mutant; 0 means derived from their time without one
	enough   float64       // percent of non-equivalent mutants that must be noticed
	clock    clock.PassiveClock
}

// fewest is the number of mutants from which a package is judged by itself.
const fewest = 20

// trySamples tries random mutants of each package and prints a table.
func trySamples(packages []string, d draw) error {
	var table strings.Builder
	table.WriteString("| package | tried | noticed | equivalent | survived | noticed of those not equivalent |\n|---|---|---|---|---|---|\n")
	var faults []string
	noticed, meant := 0, 0
	for _, pkg := range packages {
		s := sample{pkg: pkg}
		if err := s.prepare(); err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
		if err := s.try(d); err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
		table.WriteString(s.row())
		faults = append(faults, s.faults...)
		noticed, meant = noticed+s.noticed, meant+s.tried-s.listed
		if share := percent(s.noticed, s.tried-s.listed); s.tried >= fewest && (share < d.enough || s.wrong > 0) {
			faults = append(faults, fmt.Sprintf("%s: %.1f %% noticed, not %.1f %%; %d of them listed as equivalent", pkg, share, d.enough, s.wrong))
		}
		for _, m := range s.survivors {
			fmt.Printf("\n%s\n", m.entry(pkg))
		}
	}
	fmt.Printf("\n%s", table.String())
	if all := percent(noticed, meant); all < d.enough {
		faults = append(faults, fmt.Sprintf("%.1f %% noticed, not %.1f %%", all, d.enough))
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "\n"))
	}
	return nil
}

// sample is the result for a package's random mutants.
type sample struct {
	pkg        string
	args       []string // of go test
	limit      time.Duration
	all        []mutant
	equivalent map[string]bool // by file and mutated text
	faults     []string

	tried, noticed, listed int // listed counts those tried that are listed as equivalent
	wrong                  int // noticed, though listed as equivalent
	survivors              []mutant
}

func (s *sample) prepare() error {
	folder, err := build.ImportDir(s.pkg, 0)
	if err != nil {
		return err
	}
	inModule, err := filepath.Rel(moduleOf(s.pkg), s.pkg)
	if err != nil {
		return err
	}
	s.args = []string{"./" + inModule}
	if usesRapid(folder) {
		// A mutant's failing inputs need not be shrunk or kept.
		s.args = append(s.args, "-rapid.shrinktime=0s", "-rapid.nofailfile")
	}
	texts := make(map[string][]byte)
	for _, file := range folder.GoFiles {
		text, err := os.ReadFile(filepath.Join(s.pkg, file))
		if err != nil {
			return err
		}
		mutants, err := find(file, text)
		if err != nil {
			return err
		}
		texts[file] = text
		s.all = append(s.all, mutants...)
	}
	if len(s.all) == 0 {
		return errors.New("nothing to mutate")
	}
	return s.readEquivalent(texts)
}

// readEquivalent reads the list of equivalent mutants, if any.
func (s *sample) readEquivalent(texts map[string][]byte) error {
	list := listOf("conformance/mutants/equivalent", s.pkg)
	entries, err := readMutations(list)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s.equivalent = make(map[string]bool)
	for _, e := range entries {
		mutated, err := e.apply(texts[e.file])
		if err == nil && !slices.ContainsFunc(s.all, func(m mutant) bool { return m.file == e.file && bytes.Equal(m.mutated(), mutated) }) {
			err = errors.New("no possible mutant")
		}
		if err != nil {
			s.faults = append(s.faults, fmt.Sprintf("%s: %s: %v", list, e.what, err))
			continue
		}
		s.equivalent[e.file+string(mutated)] = true
	}
	return nil
}

// try tries mutants that compile, drawn at random, each at most once.
func (s *sample) try(d draw) error {
	start := d.clock.Now()
	first := s.all[0]
	failed, out, err := notice(filepath.Join(s.pkg, first.file), first.text, time.Hour, append(s.args, "-count=1")...)
	if err != nil {
		return fmt.Errorf("without a mutant: %w", err)
	}
	if failed != "" {
		return fmt.Errorf("%s fails without a mutant:\n%s", failed, out)
	}
	if s.limit = d.limit; s.limit == 0 {
		s.limit = (3*d.clock.Since(start) + 30*time.Second).Round(time.Second)
	}
	drawn := rand.New(rand.NewPCG(d.seed, 0)).Perm(len(s.all))
	for s.tried < d.tries && len(drawn) > 0 {
		batch := drawn[:min(d.parallel, d.tries-s.tried, len(drawn))]
		drawn = drawn[len(batch):]
		noticed, errs := make([]string, len(batch)), make([]error, len(batch))
		var all sync.WaitGroup
		for k, i := range batch {
			all.Go(func() {
				m := s.all[i]
				noticed[k], _, errs[k] = notice(filepath.Join(s.pkg, m.file), m.mutated(), s.limit, s.args...)
			})
		}
		all.Wait()
		for k, i := range batch {
			if errors.Is(errs[k], errBuild) {
				continue
			}
			if errs[k] != nil {
				return errs[k]
			}
			s.count(s.all[i], noticed[k])
		}
	}
	return nil
}

func (s *sample) count(m mutant, noticed string) {
	s.tried++
	result := noticed
	switch equivalent := s.equivalent[m.file+string(m.mutated())]; {
	case equivalent && noticed != "" && noticed != timeLimit:
		result += ", though it is listed as equivalent"
		s.wrong++
		s.noticed++
	case equivalent:
		result = "equivalent"
		s.listed++
	case noticed != "":
		s.noticed++
	default:
		result = "SURVIVED"
		s.survivors = append(s.survivors, m)
	}
	fmt.Printf("%3d %s: %s\n", s.tried, m.where(s.pkg), result)
}

// percent returns the noticed share of the mutants in meant, or 100 if meant is 0.
func percent(noticed, meant int) float64 {
	if meant == 0 {
		return 100
	}
	return 100 * float64(noticed) / float64(meant)
}

func (s *sample) row() string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %.1f %% |\n", s.pkg, s.tried, s.noticed, s.listed, len(s.survivors), percent(s.noticed, s.tried-s.listed))
}

// where describes the mutant in one line.
func (m mutant) where(pkg string) string {
	return fmt.Sprintf("%s/%s:%d %s: %s", pkg, m.file, m.line(), m.function, m.kind)
}

// entry returns the mutant as an entry of a list, with as many lines above the change
// as make it unique in the file.
func (m mutant) entry(pkg string) string {
	first := bytes.LastIndexByte(m.text[:m.from], '\n') + 1
	// A change that ends with a line does not affect the next.
	end := m.to
	if end == first || m.text[end-1] != '\n' {
		end += bytes.IndexByte(m.text[end:], '\n') + 1
	}
	after := string(m.text[first:m.from]) + m.put + string(m.text[m.to:end])
	top := first
	for top > 0 && bytes.Count(m.text, append([]byte("\n"), m.text[top:end]...)) > 1 {
		top = bytes.LastIndexByte(m.text[:top-1], '\n') + 1
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n%s\n", m.where(pkg), m.file)
	prefixed(&b, " ", string(m.text[top:first]))
	prefixed(&b, "-", string(m.text[first:end]))
	prefixed(&b, "+", after)
	return b.String()
}

func prefixed(b *strings.Builder, prefix, lines string) {
	for line := range strings.Lines(lines) {
		b.WriteString(prefix + line)
	}
}
