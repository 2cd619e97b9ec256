package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
)

// pack compresses a Go program for the page, which unpacks it in load. The program has
// a large function table with entries of 20 bytes, each nearly equal to the one before.
// gzip does not detect that, so pack stores the differences, which makes the page an
// eighth smaller.
//
// The packed form is a gzip stream of three little-endian 32-bit numbers (the stride
// and the bounds of the table) and the program with differences in the table.
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

// repetitive returns the longest part of a text in which most bytes equal the byte
// stride positions before.
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
