package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
)

// pack compresses a program of Go for the page, which unpacks it in load. A table in it,
// by which Go finds functions, has entries of 20 bytes of which each is nearly the one
// before. gzip does not see that; the differences take an eighth of the page less.
//
// The packed form is gzip of three little-endian numbers of 32 bits, the stride and the
// beginning and end of the table, and of the program with differences in the table.
func pack(program []byte) []byte {
	from, to := repetitive(program)
	changed := bytes.Clone(program)
	for i := from + stride; i < to; i++ {
		changed[i] -= program[i-stride]
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a Buffer has no errors
	_ = binary.Write(w, binary.LittleEndian, []uint32{stride, uint32(from), uint32(to)})
	_, _ = w.Write(changed)
	_ = w.Close()
	return b.Bytes()
}

const stride = 20

// repetitive returns the longest part of a text of which most bytes are those of stride
// bytes before.
func repetitive(text []byte) (from, to int) {
	const block = 4096
	begin := -1
	for at := block; at+block <= len(text)+block; at += block {
		same := 0
		for i := at; i < at+block && i < len(text); i++ {
			if text[i] == text[i-stride] {
				same++
			}
		}
		switch {
		case same > block*3/4 && begin < 0:
			begin = at
		case same <= block*3/4 && begin >= 0:
			if at-begin > to-from {
				from, to = begin, at
			}
			begin = -1
		}
	}
	return from, to
}
