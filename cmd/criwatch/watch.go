package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A watch is one run of the program against a runtime.
type watch struct {
	node  *node
	cache *statuscache.Cache[string, *status]
	gen   *pleg.Generator[string, *status]
	exits *pleg.ExitReader[string]
	log   *slog.Logger
	opts  *options

	mu          sync.Mutex // guards the output and the fields below
	out         writer
	late, since latencies
	fail        error // the first error of the output
}

// newWatch returns a watch that reads exits with the given options.
func newWatch(n *node, o *options, exits pleg.ExitOptions[string], out writer, log *slog.Logger) (*watch, error) {
	w := &watch{node: n, cache: statuscache.New[string](statuscache.Options[*status]{}), log: log, opts: o, out: out}
	options := pleg.GeneratorOptions[string]{RelistPeriod: o.relist, EventedPeriod: o.evented}
	if !o.poll {
		options.Stream = n
	}
	var err error
	w.gen, err = pleg.NewGenerator(n, w.cache, options)
	if err != nil {
		return nil, err
	}
	w.exits, err = w.gen.ExitReader(exits)
	return w, err
}

// run prints lifecycle events until ctx ends or the output fails, and then the
// counters. All its goroutines have ended when it returns.
func (w *watch) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := newReporter(w.cache, w.exits.TryNext, w.node.ended.take, time.Now, func(l line) {
		if w.print(l) != nil {
			stop()
		}
	})
	var workers sync.WaitGroup
	workers.Go(func() { _ = w.gen.Run(ctx) }) // ends with ctx only
	workers.Go(func() { w.narrate(ctx) })
	if w.opts.stats > 0 {
		workers.Go(func() { w.count(ctx, stop) })
	}
	for e := range w.gen.Events(ctx) {
		r.handle(e)
	}
	stop()
	workers.Wait()
	w.cache.Close()
	return w.printStats(true)
}

// print writes one line.
func (w *watch) print(l line) error {
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
	return w.fail
}

// printStats writes the counters.
func (w *watch) printStats(ended bool) error {
	c := counters{at: time.Now(), ended: ended, stats: w.gen.Stats(), healthy: w.gen.Healthy()}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.late, c.since = w.late.copy(), w.since.copy()
	if w.fail == nil {
		w.fail = w.out.stats(c)
	}
	return w.fail
}

// count prints the counters in every period of -stats.
func (w *watch) count(ctx context.Context, stop func()) {
	ticker := time.NewTicker(w.opts.stats)
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
	ticker := time.NewTicker(min(time.Second, w.opts.relist))
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
				w.log.Info("streaming events", "relisting", w.opts.evented)
			} else {
				w.log.Warn("no event stream", "relisting", w.opts.relist, "reason", now.stream)
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
