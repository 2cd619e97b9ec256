package criwatch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
	"github.com/restartkit/restart/statefile"
)

// A watch is one run of the program against a runtime.
type watch struct {
	node     *node
	cache    *statuscache.Cache[string, *status]
	gen      *pleg.Generator[string, *status]
	exits    *pleg.ExitReader[string]
	reporter *reporter
	log      *slog.Logger
	opts     Options
	resumed  *state            // nil at the beginning
	save     func(state) error // nil without a state file

	mu          sync.Mutex // guards the output and the fields below
	stdout      io.Writer
	lines       bytes.Buffer // of the event at hand
	out         writer       // into lines
	late, since latencies
	fail        error // the first error of the output or the state
}

// newWatch returns a watch that continues from a state, or begins if there is none.
func newWatch(n *node, o Options, saved *state, stdout io.Writer, log *slog.Logger) (*watch, error) {
	w := &watch{node: n, cache: statuscache.New[string](statuscache.Options[*status]{}), log: log, opts: o, resumed: saved, stdout: stdout}
	w.out = newWriter(o.Format, &w.lines, o.Colour)
	if o.State != "" {
		w.save = func(s state) error { return statefile.Save(o.State, s) }
	}
	options := pleg.GeneratorOptions[string]{RelistPeriod: o.Relist, EventedPeriod: o.Evented}
	if !o.Poll {
		options.Stream = n
	}
	exits := pleg.ExitOptions[string]{IncludePast: true}
	if saved != nil {
		exits = pleg.ExitOptions[string]{Resume: &saved.Position}
	}
	var err error
	if w.gen, err = pleg.NewGenerator(n, w.cache, options); err != nil {
		return nil, err
	}
	if w.exits, err = w.gen.ExitReader(exits); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	w.reporter = newReporter(w.cache, w.exits.TryNext, w.node.ended.take, time.Now, w.print)
	if saved != nil {
		w.reporter.resume(saved)
	}
	return w, nil
}

// run prints lifecycle events until ctx ends or the output fails, and then the
// counters. All its goroutines have ended when it returns.
func (w *watch) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer w.cache.Close()
	if w.resumed != nil {
		if err := w.resume(ctx); err != nil {
			return err
		}
	}
	var workers sync.WaitGroup
	workers.Go(func() { _ = w.gen.Run(ctx) }) // ends with ctx only
	workers.Go(func() { w.narrate(ctx) })
	if w.opts.Stats > 0 {
		workers.Go(func() { w.count(ctx, stop) })
	}
	for e := range w.gen.Events(ctx) {
		w.reporter.handle(e)
		if w.commit() != nil {
			stop()
		}
	}
	stop()
	workers.Wait()
	return w.printStats(true)
}

// resume prints the lines that the last watch has left unprinted, and all changes since.
func (w *watch) resume(ctx context.Context) error {
	missing, told := w.resumed.missing(w.opts)
	if !told {
		w.log.Warn("the last run may have printed the first lines already", "lines", bytes.Count([]byte(missing), []byte("\n")))
	}
	if err := w.write([]byte(missing)); err != nil {
		return err
	}
	w.reporter.endUnreported()
	if err := w.commit(); err != nil {
		return err
	}
	if err := w.gen.Relist(ctx); err != nil { // the next full list catches up
		return nil
	}
	w.reporter.catchUpAll()
	return w.commit()
}

// print adds a line to those of the event at hand.
func (w *watch) print(l line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if late, ok := l.late(); ok && l.exit != nil {
		w.late.add(late)
	}
	if since, ok := l.lateSinceEvent(); ok {
		w.since.add(since)
	}
	if w.fail == nil {
		w.fail = w.out.line(l)
	}
}

// commit prints the lines of the event at hand. It saves the state with the lines before,
// and without them afterwards.
func (w *watch) commit() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.save == nil || w.fail != nil {
		return w.flush()
	}
	s := state{Endpoint: w.opts.Endpoint, Position: w.exits.Position(), Unreported: w.reporter.unreported(), Pods: w.reporter.pods}
	if w.lines.Len() > 0 {
		s.Lines = w.lines.String()
		if w.opts.Size != nil {
			if size, ok := w.opts.Size(); ok {
				s.Before = &size
			}
		}
		if w.saved(s) != nil || w.flush() != nil {
			return w.fail
		}
		s.Lines, s.Before = "", nil
	}
	return w.saved(s)
}

// saved saves a state, with mu locked.
func (w *watch) saved(s state) error {
	if err := w.save(s); err != nil {
		w.fail = fmt.Errorf("%w: %w", ErrUnsaved, err)
	}
	return w.fail
}

// flush writes the lines in one write, with mu locked.
func (w *watch) flush() error {
	if w.fail == nil && w.lines.Len() > 0 {
		w.fail = w.write(w.lines.Bytes())
	}
	w.lines.Reset()
	return w.fail
}

func (w *watch) write(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if _, err := w.stdout.Write(lines); err != nil {
		return fmt.Errorf("%w: %w", ErrOutput, err)
	}
	return nil
}

// printStats writes the counters. Those at the end are saved like the lines of an event,
// so that a kill leaves no half of a line.
func (w *watch) printStats(ended bool) error {
	c := counters{at: time.Now(), ended: ended, stats: w.gen.Stats(), healthy: w.gen.Healthy()}
	w.mu.Lock()
	c.late, c.since = w.late.copy(), w.since.copy()
	var text bytes.Buffer
	err := newWriter(w.opts.Format, &text, w.opts.Colour).stats(c)
	if ended && err == nil {
		w.lines.Write(text.Bytes())
		w.mu.Unlock()
		return w.commit()
	}
	defer w.mu.Unlock()
	if w.fail == nil && err == nil {
		err = w.write(text.Bytes())
	}
	if w.fail == nil {
		w.fail = err
	}
	return w.fail
}

// count prints the counters in every period of Options.Stats.
func (w *watch) count(ctx context.Context, stop func()) {
	ticker := time.NewTicker(w.opts.Stats)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if w.printStats(false) != nil {
				stop()
			}
		}
	}
}

// narrate logs failures and recoveries of the stream and the runtime. It checks once a
// second during a failure and otherwise waits for the next one.
func (w *watch) narrate(ctx context.Context) {
	ticker := time.NewTicker(min(time.Second, w.opts.Relist))
	defer ticker.Stop()
	var streaming, silent, polling bool
	look := ticker.C
	for {
		select {
		case <-ctx.Done():
			return
		case <-look:
		case <-w.node.trouble:
		}
		now := w.node.troubles()
		if ctx.Err() != nil { // its end may have caused them
			return
		}
		if s := w.gen.Stats().Streaming; s != streaming || !s && !polling && now.stream != nil {
			streaming, polling = s, !s
			if s {
				w.log.Info("streaming events", "relisting", w.opts.Evented)
			} else {
				w.log.Warn("no event stream", "relisting", w.opts.Relist, "reason", now.stream)
			}
		}
		if s := now.list != nil; s != silent {
			silent = s
			if s {
				w.log.Warn("the runtime does not answer", "error", now.list)
			} else {
				w.log.Info("the runtime answers again")
			}
		}
		look = ticker.C
		if streaming && !silent && !now.closed {
			look = nil
		}
	}
}
