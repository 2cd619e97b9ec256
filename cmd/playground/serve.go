package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// listen opens the address of the page.
func (o *options) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", o.address)
	if errors.Is(err, syscall.EADDRINUSE) && !o.chosen {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("-addr: %w", err)
	}
	return listener, nil
}

// serve serves the page until ctx ends.
func (s site) serve(ctx context.Context, listener net.Listener, stdout io.Writer) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	context.AfterFunc(ctx, func() { server.Close() })
	if _, err := fmt.Fprintf(stdout, "http://%s/\n", listener.Addr()); err != nil {
		return unwritten(err)
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP serves a file of the page.
func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Clean(r.URL.Path)[1:]
	if name == "" {
		name = "index.html"
	}
	content, ok := s[name]
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are allowed", http.StatusMethodNotAllowed)
		return
	case !ok:
		http.NotFound(w, r)
		return
	}
	head := w.Header()
	head.Set("Content-Type", typeOf(name))
	head.Set("Cache-Control", "no-cache")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Content-Security-Policy", "frame-ancestors 'none'") // a page cannot set this itself
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func typeOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js": // some systems register another type
		return "text/javascript; charset=utf-8"
	case ".bin":
		return "application/octet-stream"
	default:
		return mime.TypeByExtension(ext)
	}
}

// prepare creates a folder. It returns an error if the page cannot be written there.
func prepare(folder string) error {
	s := make(site)
	err := s.addStatic()
	if err == nil {
		err = s.mayWrite(folder)
	}
	if err != nil {
		return err
	}
	var trial *os.File
	if err = os.MkdirAll(folder, 0o755); err == nil {
		trial, err = os.CreateTemp(folder, ".playground-")
	}
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	trial.Close()
	return os.Remove(trial.Name())
}

// write writes the files into a folder and prints their sizes. It replaces only files
// of an earlier call.
func (s site) write(folder string, stdout io.Writer) error {
	if err := s.mayWrite(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if err := os.WriteFile(filepath.Join(folder, name), s[name], 0o644); err != nil {
			return err
		}
		n := compressed(s[name])
		total += n
		fmt.Fprintf(stdout, "%9d %9d  %s\n", len(s[name]), n, name)
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%9s %9d  bytes, and compressed, in %s\n", "", total, absolute)
	return err
}

// mayWrite returns an error if it would replace a file of another program.
func (s site) mayWrite(folder string) error {
	if _, err := os.Lstat(filepath.Join(folder, programFile)); err == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return fmt.Errorf("-o: %s exists without %s beside it, so playground did not write it; choose another folder", filepath.Join(folder, name), programFile)
		}
	}
	return nil
}

// compressed returns the size of a file as compressed by a web server.
func compressed(content []byte) int {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content)
	_ = w.Close()
	return min(b.Len(), len(content))
}
