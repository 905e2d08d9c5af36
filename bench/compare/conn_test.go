package main

import (
	"bufio"
	"strings"
	"testing"
)

func TestReadReply(t *testing.T) {
	for wire, want := range map[string]string{
		"+OK\r\n":                                "OK",
		":-1\r\n":                                "-1",
		"$4\r\na\r\nb\r\n":                       "a\r\nb",
		"$0\r\n\r\n":                             "",
		"*0\r\n":                                 "",
		"*3\r\n:1\r\n$1\r\nx\r\n*1\r\n+y\r\n":    "1\nx\ny",
		"*5\r\n:0\r\n:1\r\n:2\r\n:-1\r\n:4\r\n*": "0\n1\n2\n-1\n4", // and no more than one reply
	} {
		if got, err := readReply(bufio.NewReader(strings.NewReader(wire))); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", wire, got, err, want)
		}
	}
}

func TestReadReplyRefuses(t *testing.T) {
	for wire, want := range map[string]string{
		"-LOADING wait\r\n": "LOADING wait",
		"":                  "EOF",
		"\r\n":              "empty",
		"$-1\r\n":           "not a reply",
		"$x\r\n":            "not a reply",
		"!\r\n":             "not a reply",
		"$5\r\nab":          "EOF",
		"*2\r\n:1\r\n":      "EOF",
		"*1\r\n-ERR x\r\n":  "ERR x",
	} {
		if got, err := readReply(bufio.NewReader(strings.NewReader(wire))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v, want an error that says %q", wire, got, err, want)
		}
	}
}

func TestAppendCommand(t *testing.T) {
	if got := string(appendCommand([]byte("x"), "GET", keyName(7))); got != "x*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000007\r\n" {
		t.Errorf("got %q", got)
	}
}

func TestInfoField(t *testing.T) {
	const info = "# Persistence\r\nloading:0\r\naof_rewrite_scheduled:1\r\n"
	for name, want := range map[string]string{"loading": "0", "aof_rewrite_scheduled": "1", "aof_rewrite": "", "scheduled": ""} {
		if got := infoField(info, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
