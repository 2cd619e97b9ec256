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
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/restartkit/restart/kube/cmd/kubectl-restart/internal/explain"
)

// redraw is the time between two looks at the watched objects.
const redraw = time.Second

// watchNext shows the waiting containers and Jobs until the program is interrupted.
func (p *program) watchNext(c *cluster, withPods, withJobs bool) error {
	config := rest.CopyConfig(c.config)
	config.Timeout = 0 // a watch is one long request
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(c.namespace),
		informers.WithTransform(withoutFields),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = p.o.selector }))
	defer factory.Shutdown()
	var trouble troubles
	var pods, jobs cache.Store
	for _, kind := range []struct {
		wanted   bool
		informer func() cache.SharedIndexInformer
		store    *cache.Store
	}{{withPods, factory.Core().V1().Pods().Informer, &pods}, {withJobs, factory.Batch().V1().Jobs().Informer, &jobs}} {
		if !kind.wanted {
			continue
		}
		informer := kind.informer()
		if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { trouble.set(err) }); err != nil {
			return err
		}
		*kind.store = informer.GetStore()
	}
	factory.Start(p.in.Done())
	factory.WaitForCacheSync(p.in.Done())
	view := p.newView()
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for p.in.Err() == nil {
		all := explain.Next(stored[corev1.Pod](pods), stored[batchv1.Job](jobs), p.facts())
		if err := view.show(all, trouble.take()); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
		select {
		case <-p.in.Done():
		case <-ticker.C:
		}
	}
	if s, ok := view.(*screen); ok {
		fmt.Fprintln(s.f) // the shell goes on below the table
	}
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

func (p *program) newView() view {
	if f := terminal(p.stdout); f != nil && p.o.output == "" {
		return &screen{p: p, f: f}
	}
	return &lines{p: p, shown: make(map[itemKey]explain.Waiting)}
}

// screen redraws a terminal.
type screen struct {
	p       *program
	f       *os.File
	trouble string
	since   time.Time // of trouble
}

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
	var text bytes.Buffer
	w := explain.Printer{W: &text, Options: s.p.facts()}
	w.Next(all[:min(len(all), height)])
	rows := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	status := fmt.Sprintf("%s  %d waiting", now.Format(time.TimeOnly), len(all))
	if s.trouble != "" {
		status += "; the watch was interrupted at " + s.since.Format(time.TimeOnly) + ": " + s.trouble
	}
	var out strings.Builder
	out.WriteString("\x1b[H")
	for _, row := range append([]string{status}, rows[:min(len(rows), height-1)]...) {
		if runes := []rune(row); len(runes) > width {
			row = string(runes[:width])
		}
		out.WriteString("\x1b[2K" + row + "\r\n")
	}
	end := strings.TrimSuffix(out.String(), "\r\n") + "\x1b[J"
	_, err = s.f.WriteString(end)
	return err
}

// itemKey identifies a waiting container or Job.
type itemKey struct{ kind, namespace, name, container string }

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
		key := itemKey{x.Kind, x.Namespace, x.Name, x.Container}
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

// same reports whether two states of an item are the same apart from the time of the look.
func same(a, b explain.Waiting) bool {
	if a.Reason == "PodsDue" && b.Reason == "PodsDue" { // due at the time of the look
		b.From, b.To = a.From, a.To
	}
	return a == b
}

func (l *lines) print(x explain.Waiting, over bool) error {
	if l.p.o.output == "json" {
		encoded, err := json.Marshal(struct {
			explain.Waiting
			Over bool `json:"over,omitempty"`
		}{x, over})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(l.p.stdout, "%s\n", encoded)
		return err
	}
	w := explain.Printer{W: l.p.stdout, Options: l.p.facts()}
	return w.Change(x, over)
}
