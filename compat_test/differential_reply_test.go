package compat_test

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A reply is one value of RESP2 or RESP3: its bytes as they came, and what they mean for the rules that cannot compare bytes.
type reply struct {
	raw      string
	kind     byte    // the first byte
	text     string  // of a value that has no elements
	elements []reply // of an array, a set or a push; of a map the keys and values in turn
}

// readWhole reads one reply of any type, nested or not.
func readWhole(in *bufio.Reader) (reply, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return reply{}, err
	}
	r := reply{raw: head, kind: head[0], text: strings.TrimSuffix(head[1:], "\r\n")}
	if !strings.ContainsRune("$=!*~>%", rune(r.kind)) {
		if !strings.ContainsRune("+-:,#_(", rune(r.kind)) {
			return r, fmt.Errorf("no reply: %q", head)
		}
		return r, nil
	}
	n, err := strconv.Atoi(r.text)
	if err != nil {
		return r, fmt.Errorf("no length: %q", head)
	}
	if n < 0 {
		return r, nil
	}
	if strings.ContainsRune("$=!", rune(r.kind)) {
		bulk := make([]byte, n+len("\r\n"))
		_, err := io.ReadFull(in, bulk)
		r.raw, r.text = r.raw+string(bulk), string(bulk[:n])
		return r, err
	}
	if r.kind == '%' {
		n *= 2
	}
	r.text = ""
	for range n {
		element, err := readWhole(in)
		if err != nil {
			return r, err
		}
		r.raw += element.raw
		r.elements = append(r.elements, element)
	}
	return r, nil
}

// String is the reply on one line: "*2 :1 $3 abc".
func (r reply) String() string {
	line := strings.TrimSuffix(strings.ReplaceAll(r.raw, "\r\n", " "), " ")
	quoted := strconv.Quote(line)
	return quoted[1 : len(quoted)-1]
}

// isArray says whether the reply is an array that is not null.
func (r reply) isArray() bool { return r.kind == '*' && !strings.HasPrefix(r.raw, "*-") }

// integer returns the value of an integer reply.
func (r reply) integer() (int64, bool) {
	n, err := strconv.ParseInt(r.text, 10, 64)
	return n, err == nil && r.kind == ':'
}

// field returns the value of a map's key, in RESP2 too, where a map is an array.
func (r reply) field(key string) (value reply, found bool) {
	for i := 0; i+1 < len(r.elements); i += 2 {
		if r.elements[i].text == key {
			return r.elements[i+1], true
		}
	}
	return reply{}, false
}

// sorted returns the raw elements in an order of their own.
func (r reply) sorted() []string {
	elements := make([]string, len(r.elements))
	for i, element := range r.elements {
		elements[i] = element.raw
	}
	slices.Sort(elements)
	return elements
}
