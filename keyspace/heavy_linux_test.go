//go:build !race

// These tests measure memory and time, which mean nothing under the race detector.

package keyspace

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// unitKeys is a tenth of the keys that these tests take: of 10 million, or where that would take too long, of 200,000.
func unitKeys() uint64 {
	if heavy() {
		return 1_000_000
	}
	return 20_000
}

// maxResidentPerKey is the promise: memory of the process over an empty server, for keys of 16 bytes.
const maxResidentPerKey = 48

// TestResidentBytes measures what the kernel says a process pays per key, in a process of its own, at sizes around 10
// million and after as many keys again have come and gone. The collector runs as it does in the server.
func TestResidentBytes(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	hasher := NewHasher()
	debug.FreeOSMemory()
	empty := residentBytes(t)
	table := New(hasher.Sum)
	measure := func(what string) {
		perKey := float64(residentBytes(t)-empty) / float64(table.Len())
		t.Logf("%-24s %8d keys: %.1f resident, %.1f by Bytes", what, table.Len(), perKey,
			float64(table.Bytes())/float64(table.Len()))
		// What else the process comes to hold meanwhile counts as keys; it weighs only where there are few of them.
		const otherBytes = 4 << 20
		if perKey > maxResidentPerKey+otherBytes/float64(table.Len()) {
			t.Errorf("%.1f bytes a key", perKey)
		}
	}
	var buffer [16]byte
	insert := func(i uint64) {
		key := appendKey(buffer[:0], i)
		table.Insert(hasher.Sum(key), key, 1, never)
	}
	unit := unitKeys()
	n := 10 * unit
	for i := range 13 * unit {
		if insert(i); i >= 7*unit-1 && (i+1)%unit == 0 {
			measure("growing")
		}
	}
	for i := range 3 * unit {
		key := appendKey(buffer[:0], i)
		table.Delete(hasher.Sum(key), key)
	}
	for i := 3 * unit; i < 3*unit+n; i++ {
		key := appendKey(buffer[:0], i)
		table.Delete(hasher.Sum(key), key)
		insert(i + n)
	}
	debug.FreeOSMemory() // what the 3 units have left, which the runtime would return within minutes
	measure("after n churned")
}

// maxResidentUnderChurn bounds the same where every key expires and others take its place, per key alive.
const maxResidentUnderChurn = 72

// TestResidentBytesUnderChurn measures what a live key costs in a table in which every key is new and expires: at any time
// n are alive, and some are dead and wait for the sweep, which goes round five times in a key's life. Time is counted in
// insertions.
func TestResidentBytesUnderChurn(t *testing.T) {
	const lives, roundsPerLife, batch = 12, 5, 128
	if !inOwnProcess(t) {
		return
	}
	hasher := NewHasher()
	debug.FreeOSMemory()
	empty := residentBytes(t)
	table := New(hasher.Sum)
	n := int64(5 * unitKeys())
	var buffer [16]byte
	var cursor uint64
	for now := range lives * n {
		key := appendKey(buffer[:0], uint64(now))
		table.Insert(hasher.Sum(key), key, now+n, now)
		if now%batch == 0 {
			cursor, _, _ = table.Sweep(cursor, now, batch*table.Len()*roundsPerLife/int(n))
		}
		if (now+1)%n != 0 {
			continue
		}
		perKey := float64(residentBytes(t)-empty) / float64(n)
		t.Logf("after %2d lives: %.1f resident, %.1f by Bytes, %.2f entries a live key", (now+1)/n, perKey,
			float64(table.Bytes())/float64(n), float64(table.Len())/float64(n))
		const otherBytes = 4 << 20
		if perKey > maxResidentUnderChurn+otherBytes/float64(n) {
			t.Errorf("%.1f bytes a live key", perKey)
		}
	}
}

// inOwnProcess runs the test again in a process of its own, whose memory is that of the test alone, and reports whether
// this is that process.
func inOwnProcess(t *testing.T) bool {
	const inChild = "KEYSPACE_OWN_PROCESS"
	if os.Getenv(inChild) != "" {
		return true
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), inChild+"=1")
	out, err := child.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	return false
}

func residentBytes(t *testing.T) int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// TestLongestInsert times each of 10 million inserts, on the clock of its thread, in three runs that do the same, and
// takes the shortest of the three for each: what a neighbour on the machine, an interrupt or the first touch of a page
// costs hits another insert each time; what the table itself does is the same every time.
func TestLongestInsert(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	hasher := NewHasher()
	shortest := make([]time.Duration, 10*unitKeys())
	for run := range 3 {
		runtime.GC()
		table := New(hasher.Sum)
		var buffer [16]byte
		for i := range shortest {
			key := appendKey(buffer[:0], uint64(i))
			hash, began := hasher.Sum(key), threadTime(t)
			table.Insert(hash, key, 1, never)
			if took := threadTime(t) - began; run == 0 || took < shortest[i] {
				shortest[i] = took
			}
		}
	}
	slices.Sort(shortest)
	longest := shortest[len(shortest)-5:]
	t.Logf("the longest inserts take %v", longest)
	if longest[4] >= time.Millisecond {
		t.Errorf("an insert takes %v", longest[4])
	}
}

func threadTime(t *testing.T) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
