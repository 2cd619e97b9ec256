package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
)

// redraw is the time between two looks at the watched objects.
const redraw = time.Second

// reread is the time between two reads of the Events and nodes, which are not watched:
// there are many of both, and few of them explain something.
const reread = 30 * time.Second

// watchNext shows the waiting containers and Jobs until the program is interrupted. It
// begins with the Events and nodes that have just been read.
func (p *program) watchNext(ctx context.Context, c *cluster, objects explain.Objects, withJobs bool) error {
	selector, err := labels.Parse(p.selector)
	if err != nil {
		return usagef("--selector %q: %w", p.selector, err)
	}
	config := rest.CopyConfig(c.config)
	config.Timeout = 0 // a watch is one long request
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(c.namespace),
		informers.WithTransform(withoutFields)) // all, as the pods of a selected Job need not have its labels
	defer factory.Shutdown()
	var trouble troubles
	var pods, jobs cache.Store
	for _, kind := range []struct {
		wanted   bool
		informer func() cache.SharedIndexInformer
		store    *cache.Store
	}{{true, factory.Core().V1().Pods().Informer, &pods}, {withJobs, factory.Batch().V1().Jobs().Informer, &jobs}} {
		if !kind.wanted {
			continue
		}
		informer := kind.informer()
		if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { trouble.set(err) }); err != nil {
			return err
		}
		*kind.store = informer.GetStore()
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	view, end := p.newView()
	defer end()
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	read := p.now()
	for ctx.Err() == nil {
		objects.Pods, objects.Jobs = stored[corev1.Pod](pods), stored[batchv1.Job](jobs)
		if p.now().Sub(read) >= reread {
			read = p.now()
			if err := p.rereadRelated(ctx, c, &objects); err != nil {
				trouble.set(err)
			}
		}
		s := selection{targets: labelled(selector, objects.Pods, objects.Jobs), objects: objects}
		if err := view.show(s.next(p.options()), trouble.take()); err != nil {
			return &exitError{exitFailed, fmt.Errorf("writing the output: %w", err)}
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return nil
}

// rereadRelated replaces the Events and nodes. After an error those that were known stay.
// Who may not read them was warned at the start.
func (p *program) rereadRelated(ctx context.Context, c *cluster, o *explain.Objects) error {
	events, err := c.selectedEvents(ctx, c.namespace, warningEvents)
	switch {
	case err == nil:
		o.Events = events
	case !isForbidden(err):
		return err
	}
	fresh := explain.Objects{Pods: o.Pods}
	if err := p.addNodes(ctx, c, &fresh); err != nil {
		return err
	}
	o.Nodes, o.GoneNodes = fresh.Nodes, fresh.GoneNodes
	return nil
}

// withoutFields removes the part of an object that takes the most memory.
func withoutFields(object any) (any, error) {
	if m, ok := object.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return object, nil
}

func stored[T any](s cache.Store) (all []*T) {
	if s == nil {
		return nil
	}
	for _, object := range s.List() {
		if x, ok := object.(*T); ok {
			all = append(all, x)
		}
	}
	return all
}

// troubles holds the last error of a watch.
type troubles struct {
	mu   sync.Mutex
	last string
}

func (t *troubles) set(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = oneLine(err)
}

// take returns the last error since the previous call, or "".
func (t *troubles) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last
	t.last = ""
	return last
}

// view shows successive lists of waiting containers and Jobs.
type view interface {
	show(all []explain.Waiting, trouble string) error
}

// newView returns the view for the output, and a function that ends it.
func (p *program) newView() (view, func()) {
	if f := terminal(p.Out); f != nil && p.output == "" {
		s := &screen{p: p, f: f}
		s.begin()
		return s, s.end
	}
	return &lines{p: p, shown: make(map[itemKey]explain.Waiting)}, func() {}
}

// The sequences that switch a terminal to a screen of its own, without a cursor, and
// back.
const (
	ownScreen = "\x1b[?1049h\x1b[?25l"
	oldScreen = "\x1b[?25h\x1b[?1049l"
)

// screen redraws a terminal.
type screen struct {
	p       *program
	f       *os.File
	trouble string
	since   time.Time // of trouble
}

func (s *screen) begin() { s.f.WriteString(ownScreen) }

// end restores the earlier content of the terminal.
func (s *screen) end() { s.f.WriteString(oldScreen) }

func (s *screen) show(all []explain.Waiting, trouble string) error {
	now := s.p.now()
	if trouble != "" {
		s.trouble, s.since = trouble, now
	} else if now.Sub(s.since) > time.Minute {
		s.trouble = ""
	}
	width, height, err := term.GetSize(int(s.f.Fd()))
	if err != nil || width <= 0 || height <= 1 {
		width, height = 80, 24
	}
	_, err = s.f.WriteString(s.page(all, width, height))
	return err
}

// page returns the text that fills a terminal of a size.
func (s *screen) page(all []explain.Waiting, width, height int) string {
	now := s.p.now()
	var text bytes.Buffer
	w := explain.Printer{W: &text, Options: s.p.options(), Namespaces: s.p.manyNamespaces()}
	shown := min(len(all), max(height-2, 0)) // below the status and the head of the table
	w.Next(all[:shown])
	rows := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	status := fmt.Sprintf("%s  %d waiting", now.Format(time.TimeOnly), len(all))
	if shown < len(all) {
		status += fmt.Sprintf(", %d shown", shown)
	}
	status += ", Ctrl-C ends"
	if s.trouble != "" {
		status += "; the watch was interrupted at " + s.since.Format(time.TimeOnly) + ": " + s.trouble
	}
	var out strings.Builder
	out.WriteString("\x1b[H")
	for _, row := range append([]string{status}, rows[:min(len(rows), height-1)]...) {
		if runes := []rune(row); len(runes) > width {
			row = string(runes[:width-1]) + "…"
		}
		out.WriteString("\x1b[2K" + row + "\r\n")
	}
	return strings.TrimSuffix(out.String(), "\r\n") + "\x1b[J"
}

// itemKey identifies a waiting container or Job.
type itemKey struct {
	kind, namespace, name, container string
	index                            bool // it is an index of the Job that waits
}

// lines prints a line for each change.
type lines struct {
	p       *program
	shown   map[itemKey]explain.Waiting
	trouble string
}

func (l *lines) show(all []explain.Waiting, trouble string) error {
	if trouble != "" && trouble != l.trouble {
		l.p.warn("the watch was interrupted: %s; trying again", trouble)
		l.trouble = trouble
	}
	now := make(map[itemKey]bool)
	for i := range all {
		x := all[i]
		key := itemKey{x.Kind, x.Namespace, x.Name, x.Container, x.Reason == explain.IndexDelay}
		now[key] = true
		if before, there := l.shown[key]; there && same(before, x) {
			continue
		}
		l.shown[key] = x
		if err := l.print(x, false); err != nil {
			return err
		}
	}
	for key, x := range l.shown {
		if now[key] {
			continue
		}
		delete(l.shown, key)
		if err := l.print(x, true); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two states of an item differ at most in parts that depend on the
// current time, such as how long a node has not reported.
func same(a, b explain.Waiting) bool {
	if a.Reason != b.Reason || a.Restarts != b.Restarts || a.Failures != b.Failures || a.Estimated != b.Estimated {
		return false
	}
	return a.From.Equal(b.From) && a.To.Equal(b.To) || a.Reason == "PodsDue" || a.Estimated
}

func (l *lines) print(x explain.Waiting, over bool) error {
	if l.p.output == "json" {
		encoded, err := json.Marshal(struct {
			explain.Waiting
			Over bool `json:"over,omitempty"`
		}{x, over})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(l.p.Out, "%s\n", encoded)
		return err
	}
	w := explain.Printer{W: l.p.Out, Options: l.p.options()}
	return w.Change(x, over)
}
