package programtest

import (
	"os"
	"time"
)

// Pipe connects the output and error of an unstarted program to one pipe. It returns
// the read end, closed when the test ends.
func (p *Program) Pipe() (read *os.File) {
	p.t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { read.Close() })
	p.Stdout, p.Stderr = write, write
	p.pipes = append(p.pipes, write)
	return read
}

// StartWithSlowReader starts the program and reads 4 KiB of its output every half
// second.
func (p *Program) StartWithSlowReader() {
	p.t.Helper()
	read := p.Pipe()
	p.Start()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for piece := make([]byte, 4096); ; time.Sleep(500 * time.Millisecond) {
			if _, err := read.Read(piece); err != nil {
				return
			}
		}
	}()
	p.t.Cleanup(func() {
		read.Close()
		<-done
	})
}
