// Package page serves the playground, a page that checks manifests, tries failed pods on a
// Job, runs the Job in virtual time, and compares delay curves. The page's files are
// embedded, and its requests are answered with the library's own functions.
//
// Anything in a browser can send requests to a loopback address, so the handler answers
// only requests of its own page. It bounds the size of each request, and the work and the
// time of each answer.
package page

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
)

//go:embed static examples
var files embed.FS

// Bounds of requests.
const (
	largestRequest = 1 << 20         // bytes of a body
	longestAnswer  = 5 * time.Second // of work
	mostAnswers    = 4               // at once; others wait
)

// Serve serves the page until ctx ends. The listener must be one of a loopback address.
func Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           Handler(listener.Addr().String()),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler answers the requests of the page served at an address, such as
// 127.0.0.1:8017.
func Handler(address string) http.Handler {
	h := &handler{hosts: hosts(address), slots: make(chan struct{}, mostAnswers)}
	mux := http.NewServeMux()
	mux.HandleFunc("/", h.file)
	mux.HandleFunc("/api/examples", examples)
	mux.Handle("/api/check", answer(h, checked))
	mux.Handle("/api/run", answer(h, h.runs.view))
	mux.Handle("/api/curve", answer(h, compared))
	return h.guard(mux)
}

type handler struct {
	hosts map[string]bool
	slots chan struct{} // holds a token for each answer in work
	runs  runs
}

// hosts returns the names under which a browser reaches an address of this machine.
func hosts(address string) map[string]bool {
	all := map[string]bool{address: true}
	if _, port, err := net.SplitHostPort(address); err == nil {
		for _, name := range []string{"localhost", "127.0.0.1", "[::1]"} {
			all[name+":"+port] = true
		}
	}
	return all
}

// guard refuses requests that do not come from the page itself. A site that resolves its
// own name to this machine (DNS rebinding) sends that name as Host, and a request from
// another site has its Origin.
func (h *handler) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, given := strings.CutPrefix(r.Header.Get("Origin"), "http://")
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case !h.hosts[r.Host]:
			http.Error(w, "this page is not served under this name", http.StatusMisdirectedRequest)
			return
		case r.Header.Get("Origin") != "" && (!given || !h.hosts[origin]), strings.HasPrefix(r.URL.Path, "/api/") && (site == "cross-site" || site == "same-site"):
			http.Error(w, "only the page itself may ask", http.StatusForbidden)
			return
		}
		head := w.Header()
		head.Set("Cache-Control", "no-store")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types page")
		next.ServeHTTP(w, r)
	})
}

// file serves a file of the page.
func (h *handler) file(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are allowed here", http.StatusMethodNotAllowed)
		return
	}
	name := r.URL.Path
	if name == "/" {
		name = "/index.html"
	}
	content, err := fs.ReadFile(files, "static"+name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".js" { // some systems register another type
		kind = "text/javascript; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content)
}

// example is a manifest that the page offers.
type example struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// examples answers with all of them.
func examples(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		http.Error(w, "only GET is allowed here", http.StatusMethodNotAllowed)
		return
	}
	reply(w, allExamples())
}

func allExamples() (all []example) {
	entries, err := files.ReadDir("examples")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, entry := range entries {
		text, err := files.ReadFile("examples/" + entry.Name())
		if err != nil {
			panic(err)
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(entry.Name(), ".yaml"), "-")
		all = append(all, example{strings.ReplaceAll(name, "-", " "), string(text)})
	}
	return all
}

// answer returns a handler that answers a request of JSON with JSON.
func answer[Q, A any](h *handler, to func(context.Context, Q) A) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		switch {
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", "POST")
			http.Error(w, "only POST is allowed here", http.StatusMethodNotAllowed)
			return
		case kind != "application/json": // a form of another site cannot send this type
			http.Error(w, "the request must be application/json", http.StatusUnsupportedMediaType)
			return
		}
		var question Q
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestRequest))
		decoder.DisallowUnknownFields()
		var tooLarge *http.MaxBytesError
		switch err := decoder.Decode(&question); {
		case errors.As(err, &tooLarge):
			http.Error(w, fmt.Sprintf("a request may have at most %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			http.Error(w, "the request is no valid JSON: "+clean(err.Error()), http.StatusBadRequest)
			return
		}
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
		case <-r.Context().Done():
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), longestAnswer)
		defer cancel()
		reply(w, to(ctx, question))
	})
}

func reply(w http.ResponseWriter, answer any) {
	text, err := json.Marshal(answer)
	if err != nil { // a number that JSON cannot hold
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// clean makes a line with parts of the input safe to show, and limits its length.
func clean(text string) string { return human.Excerpt(text, 1000) }
