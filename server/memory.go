package server

import (
	"bytes"
	"os"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
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
