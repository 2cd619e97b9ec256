package main

import (
	"bytes"
	"os"
	"testing"
)

func TestFieldsAreThoseOfTheAPI(t *testing.T) {
	var want bytes.Buffer
	write(&want)
	got, err := os.ReadFile("../fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("fields.txt differs from k8s.io/api: run go generate in its folder")
	}
}
