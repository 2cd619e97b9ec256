package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"testing"

	"github.com/restartkit/restart/internal/rapidseed"
	"pgregory.net/rapid"
)

// unpacked is what the page's script does to a packed program.
func unpacked(t *rapid.T, packed []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	number := func(i int) int { return int(binary.LittleEndian.Uint32(text[4*i:])) }
	program := text[12:]
	for i := number(1) + number(0); i < number(2); i++ {
		program[i] += program[i-number(0)]
	}
	return program
}

func TestPackedProgramIsUnpackedTheSame(t *testing.T) {
	tables := 0
	rapid.Check(t, func(t *rapid.T) {
		program := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "begin")
		for i := range rapid.IntRange(0, 20_000).Draw(t, "length") {
			program = append(program, byte(i%stride*3+i/1000))
		}
		program = append(program, rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "end")...)
		if from, to := repetitive(program); to > from {
			tables++
		}
		if !bytes.Equal(unpacked(t, pack(program)), program) {
			t.Fatal("differs")
		}
	})
	if rapidseed.Fixed() && tables == 0 {
		t.Error("never a table")
	}
}
