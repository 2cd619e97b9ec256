//go:build long

package jobcontroller_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// faultyProxy is a proxy of an API server that refuses every tenth request, loses every
// tenth answer, and delays watches.
type faultyProxy struct {
	proxy *httputil.ReverseProxy
	lag   map[string]time.Duration // of watches, by resource

	mu     sync.Mutex
	random *rand.Rand
	calm   bool
	counts map[string]int
}

func newFaultyProxy(config *rest.Config, seed uint64) (*faultyProxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	p := &faultyProxy{counts: map[string]int{}, random: rand.New(rand.NewPCG(seed, 3))}
	p.lag = map[string]time.Duration{"jobs": time.Duration(500+p.random.IntN(1500)) * time.Millisecond, "pods": time.Duration(500+p.random.IntN(1500)) * time.Millisecond}
	p.proxy = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: p.delay,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	return p, nil
}

// end ends the faults, and returns their number.
func (p *faultyProxy) end(table map[string]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calm = true
	for what, n := range p.counts {
		table[what] += n
	}
}

// roll decides whether a request is refused, and whether its answer is lost.
func (p *faultyProxy) roll() (refused, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calm {
		return false, false
	}
	n := p.random.IntN(10)
	switch n {
	case 0:
		p.counts["fault: request refused"]++
	case 1:
		p.counts["fault: answer lost"]++
	}
	return n == 0, n == 1
}

func (p *faultyProxy) count(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[what]++
}

func (p *faultyProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refused, lost := p.roll()
	watch := r.URL.Query().Get("watch") != ""
	switch {
	case watch:
		p.proxy.ServeHTTP(w, r)
	case refused:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,"message":"refused by the test"}`)
	case lost:
		p.proxy.ServeHTTP(nowhere{}, r)
		panic(http.ErrAbortHandler)
	default:
		p.proxy.ServeHTTP(&listening{ResponseWriter: w, heard: func(code int) {
			if code == http.StatusForbidden && r.Method == http.MethodPost {
				p.count("fault: pod refused by a quota")
			}
		}}, r)
	}
}

// listening records the code of a response.
type listening struct {
	http.ResponseWriter
	heard func(int)
}

func (l *listening) WriteHeader(code int) {
	l.heard(code)
	l.ResponseWriter.WriteHeader(code)
}

func (l *listening) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// nowhere discards a response.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Flush()                      {}

// delay delivers the events of a watch late, in order.
func (p *faultyProxy) delay(r *http.Response) error {
	if r.Request.URL.Query().Get("watch") == "" {
		return nil
	}
	var lag time.Duration
	for resource, d := range p.lag {
		if strings.HasSuffix(r.Request.URL.Path, "/"+resource) {
			lag = d
		}
	}
	if lag == 0 {
		return nil
	}
	p.count("fault: watch delayed")
	type chunk struct {
		due  time.Time
		data []byte
	}
	chunks := make(chan chunk, 1<<14)
	body := r.Body
	reader, writer := io.Pipe()
	go func() {
		defer close(chunks)
		for {
			buffer := make([]byte, 32<<10)
			n, err := body.Read(buffer)
			if n > 0 {
				chunks <- chunk{time.Now().Add(lag), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		var err error
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if err == nil {
				_, err = writer.Write(c.data)
			}
		}
		_ = writer.Close()
	}()
	r.Body = &delayedBody{reader, body}
	return nil
}

type delayedBody struct {
	io.Reader
	body io.Closer
}

func (b *delayedBody) Close() error {
	if r, ok := b.Reader.(*io.PipeReader); ok {
		_ = r.Close()
	}
	return b.body.Close()
}
