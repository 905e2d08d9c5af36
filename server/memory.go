package server

import (
	"bytes"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"time"
)

// memoryUse is what the process holds, in bytes.
type memoryUse struct {
	allocated uint64 // objects on the heap, dead ones that are not collected yet included
	active    uint64 // heap pages with objects
	mapped    uint64 // all that the runtime has from the system and has not given back
	resident  uint64 // of the process, in main memory
}

// memoryMetrics are the runtime's names for allocated, for active less allocated, and for mapped and what of it was given
// back.
var memoryMetrics = [...]string{
	"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes",
	"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
}

// allocatedBytes is the one that every loop looks at with every tick; it costs a microsecond or two.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: memoryMetrics[0]}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func readMemory() (m memoryUse) {
	var samples [len(memoryMetrics)]metrics.Sample
	for i := range samples {
		samples[i].Name = memoryMetrics[i]
	}
	metrics.Read(samples[:])
	m.allocated = samples[0].Value.Uint64()
	m.active = m.allocated + samples[1].Value.Uint64()
	m.mapped = samples[2].Value.Uint64() - samples[3].Value.Uint64()
	m.resident = m.mapped // the best guess where the system does not tell
	if fields := fieldsOf("/proc/self/statm"); len(fields) > 1 {
		if pages, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
			m.resident = pages * uint64(os.Getpagesize())
		}
	}
	return m
}

// systemMemory returns the machine's main memory in bytes, 0 where it is not known.
func systemMemory() uint64 {
	fields := fieldsOf("/proc/meminfo") // MemTotal: n kB
	if len(fields) < 2 {
		return 0
	}
	kilobytes, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return kilobytes * 1024
}

// fieldsOf returns the words of a file that the system has or has not.
func fieldsOf(path string) [][]byte {
	text, _ := os.ReadFile(path)
	return bytes.Fields(text)
}

// memoryWatch remembers what memory was used earlier.
type memoryWatch struct {
	startup uint64 // when the server was made
	peak    atomic.Uint64
	owes    atomic.Bool // memory is to go back to the system soon
}

// giveBackBytes is the size of a buffer, or of all that a connection had unsent, from which on its memory goes back to the system.
// Left to itself the Go runtime keeps it until there is something to collect, which in a large server at rest is long.
const giveBackBytes = 32 << 20

// letGo has memory of that size go back to the system soon, if it is much. Of several such events in a row one has it done.
func (m *memoryWatch) letGo(bytes int) {
	if bytes >= giveBackBytes {
		m.giveBackSoon()
	}
}

func (m *memoryWatch) giveBackSoon() {
	if m.owes.Swap(true) {
		return
	}
	time.AfterFunc(giveBackDelay, func() {
		m.owes.Store(false)
		debug.FreeOSMemory()
	})
}

// look notes a peak. The loops' tick calls it, and whoever reads the memory's use.
func (m *memoryWatch) look(allocated uint64) {
	for {
		peak := m.peak.Load()
		if allocated <= peak || m.peak.CompareAndSwap(peak, allocated) {
			return
		}
	}
}
