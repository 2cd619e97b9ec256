package printer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a writer that takes nothing until it is opened.
type gate struct {
	open chan struct{}
	text bytes.Buffer
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.text.Write(p)
}

// Any number of outputs and sources write all their text, in order.
func TestOrderIsKept(t *testing.T) {
	p := New()
	var text bytes.Buffer
	out, other := p.To(&text), p.To(&text)
	var sources []*Source
	for i := range 3 {
		sources = append(sources, p.Source(func(line []byte) { fmt.Fprintf(out, "%d %s", i, line) }))
	}
	var want strings.Builder
	for i := range 30_000 {
		line := fmt.Sprintf("line %d\n", i)
		switch n := i % 5; n {
		case 3:
			_, _ = io.WriteString(out, line)
			want.WriteString(line)
		case 4:
			_, _ = io.WriteString(other, line)
			want.WriteString(line)
		default:
			sources[n].Line([]byte(line))
			want.WriteString(fmt.Sprint(n) + " " + line)
		}
		if i%1000 == 0 { // the program's own text must not come to its limit
			p.Flush(nil)
		}
	}
	if !p.Flush(nil) || text.String() != want.String() {
		t.Errorf("%d bytes were written, want %d", text.Len(), want.Len())
	}
	if p.own != 0 || p.sources != 0 || sources[0].waiting != 0 {
		t.Errorf("%d, %d and %d bytes are thought to wait", p.own, p.sources, sources[0].waiting)
	}
}

// A source waits for a slow destination, and loses nothing.
func TestSlowReaderLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		read, write := io.Pipe()
		out := p.To(write)
		s := p.Source(func(line []byte) { _, _ = out.Write(line) })
		const lines = 5000
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range lines {
				s.Line(fmt.Appendf(nil, "line %d of a child that writes more than fits\n", i))
			}
			s.Close()
		}()
		time.Sleep(10 * patience) // without a reader
		select {
		case <-done:
			t.Error("it did not wait")
		default:
		}
		s.Ended()
		go func() {
			p.Flush(nil)
			write.Close()
		}()
		var got []byte
		for piece := make([]byte, 1024); ; time.Sleep(patience / 2) {
			n, err := read.Read(piece)
			got = append(got, piece[:n]...)
			if err != nil {
				break
			}
		}
		<-done
		close(p.wake)
		// Only unread text from after its end may be dropped.
		if n := bytes.Count(got, []byte("\n")); n < lines && !bytes.Contains(got, fmt.Appendf(nil, "… %d lines dropped", lines-n)) {
			t.Errorf("%d lines of %d came, and it was not said", n, lines)
		}
	})
}

// A late source does not wait for a slow destination, and dropped lines are reported.
func TestLateSourceDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		read, write := io.Pipe()
		out := p.To(write)
		s := p.Source(func(line []byte) { _, _ = out.Write(line) })
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 100_000 {
				s.Line([]byte("a line of a child that writes without end\n"))
			}
			s.Close()
			p.Flush(nil)
			write.Close()
		}()
		var got []byte
		begun := time.Now()
		for piece := make([]byte, 100); ; time.Sleep(patience / 2) { // slow, not stuck
			if len(got) > 10_000 {
				p.Late()
			}
			n, err := read.Read(piece)
			got = append(got, piece[:n]...)
			if err != nil {
				break
			}
		}
		<-done
		close(p.wake)
		if took := time.Since(begun); took > time.Hour || !bytes.Contains(got, []byte(" lines dropped")) {
			t.Errorf("it took %v; the last: %s", took, got[max(0, len(got)-100):])
		}
	})
}

// An Output that keeps all drops nothing, however much waits before it.
func TestOutputThatKeepsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, g := New(), newGate()
		events, status := p.To(g), p.To(g)
		status.KeepAll = true
		event := strings.Repeat("x", 1000) + "\n"
		for range 3 * ownLimit / len(event) {
			_, _ = io.WriteString(events, event)
		}
		_, _ = io.WriteString(status, strings.Repeat("s", 2*len(event))+" the status\n")
		close(g.open)
		p.Flush(nil)
		close(p.wake)
		if got := g.text.String(); !strings.HasSuffix(got, "the status\n") {
			t.Errorf("the last: %s", got[max(0, len(got)-100):])
		}
	})
}

// While nobody reads, nothing but a source that has not ended waits; what is dropped
// is said, by source; and one source does not keep another from being heard.
func TestStuckReaderHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, g := New(), newGate()
		out := p.To(g)
		named := func(name string) *Source {
			return p.Source(func(line []byte) { fmt.Fprintf(out, "%s | %s\n", name, line) })
		}
		noisy, quiet := named("noisy"), named("quiet")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 100_000 {
				noisy.Line([]byte("a line of a noisy child"))
			}
			noisy.Close()
		}()
		time.Sleep(patience * 2)
		quiet.Line([]byte("hello"))
		for i := range 3 * ownLimit / 10 {
			fmt.Fprintf(out, "event %d\n", i)
		}
		select {
		case <-done:
			t.Fatal("a child that runs is not held up")
		default:
		}
		noisy.Ended()
		<-done // at once
		giveUp := make(chan struct{})
		close(giveUp)
		if p.Flush(giveUp) {
			t.Error("all is said to be written")
		}
		close(g.open)
		p.Flush(nil)
		close(p.wake)
		text := g.text.String()
		heard := strings.Count(text, "noisy | a line")
		for _, want := range []string{"quiet | hello\n", "event 0\n", fmt.Sprintf("noisy | … %d lines dropped\n", 100_000-heard), "\n… "} {
			if !strings.Contains(text, want) {
				t.Errorf("want %q", want)
			}
		}
		if heard*len("a line of a noisy child") < sourceLimit || len(text) > 3*ownLimit+allLimit {
			t.Errorf("%d noisy lines, %d bytes", heard, len(text))
		}
	})
}

// Children that end one after the other do not fill the memory without a reader.
func TestStuckReaderFillsNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, g := New(), newGate()
		out := p.To(g)
		_, _ = io.WriteString(out, "x")
		time.Sleep(2 * patience)
		line := bytes.Repeat([]byte("x"), 10_000)
		for range 10_000 {
			s := p.Source(func(line []byte) { _, _ = out.Write(line) })
			s.Ended()
			for range 10 {
				s.Line(line)
			}
			s.Close()
		}
		if held := p.own + p.sources; held > 2*ownLimit+allLimit+sourceLimit {
			t.Errorf("%d bytes wait", held)
		}
		close(g.open)
		p.Flush(nil)
		close(p.wake)
	})
}

// The first error of writing is kept, reported and ends the waiting.
func TestErrorIsKept(t *testing.T) {
	p := New()
	read, write := io.Pipe()
	read.CloseWithError(errors.New("full"))
	var text bytes.Buffer
	bad, good := p.To(write), p.To(&text)
	for range 3 {
		_, _ = io.WriteString(bad, "x")
		_, _ = io.WriteString(good, "y")
	}
	<-bad.Broken()
	if !p.Flush(nil) || bad.Err() == nil || bad.Err().Error() != "full" || good.Err() != nil || text.String() != "yyy" {
		t.Errorf("%v, %v, %q", bad.Err(), good.Err(), text.String())
	}
}

// A program that was asked to end waits for a slow reader until the end of the grace
// period, but for one that takes nothing only as long as it takes to tell the two
// apart. One that was not asked waits for ever.
func TestStuckReaderDelaysNoEnd(t *testing.T) {
	for _, tt := range []struct {
		name  string
		asked bool
		slow  bool // takes a piece every half of patience
		want  time.Duration
	}{
		{"asked, stuck", true, false, patience},
		{"asked, slow", true, true, time.Minute},
		{"not asked, stuck", false, false, 2 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := New()
			read, write := io.Pipe()
			out := p.To(write)
			_, _ = out.Write(make([]byte, ownLimit))
			over := make(chan struct{})
			go func() {
				for tt.slow {
					select {
					case <-over:
						return
					case <-time.After(patience / 2):
						_, _ = read.Read(make([]byte, piece))
					}
				}
			}()
			began := time.Now()
			if tt.asked {
				p.EndWithin(time.Minute)
			}
			signals := make(chan os.Signal, 1)
			time.AfterFunc(2*time.Hour, func() { signals <- os.Interrupt })
			if p.Finish(signals) {
				t.Errorf("%s: all is said to be written", tt.name)
			}
			if took := time.Since(began); took != tt.want {
				t.Errorf("%s: took %v, want %v", tt.name, took, tt.want)
			}
			close(over)
			read.CloseWithError(io.ErrClosedPipe)
			time.Sleep(2 * time.Hour)
			close(p.wake)
		})
	}
}
