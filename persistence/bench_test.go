package persistence

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/cellserver/cellserver/internal/vfs"
)

const benchKeys = 100_000

func benchKey(i int) []byte { return fmt.Appendf(nil, "user:%011d", i) }

// BenchmarkRDB writes and reads a snapshot of 16-byte keys; an operation is an entry.
func BenchmarkRDB(b *testing.B) {
	var entries []byte
	for i := range benchKeys {
		entries = AppendEntry(entries, benchKey(i), later+int64(i))
	}
	var file bytes.Buffer
	w := NewRDBWriter(&file, RDBHeader{})
	must(b, w.Write(0, entries))
	must(b, w.Close())
	b.Run("encode", func(b *testing.B) {
		key := benchKey(1)
		for b.Loop() {
			entries = AppendEntry(entries[:0], key, later)
		}
	})
	b.Run("write", func(b *testing.B) {
		piece := file.Bytes()[len(file.Bytes())/2:]
		b.SetBytes(int64(len(piece)))
		w := NewRDBWriter(io.Discard, RDBHeader{})
		for b.Loop() {
			must(b, w.Write(0, piece))
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(file.Len()))
		for b.Loop() {
			_, _, err := ReadRDB(bytes.NewReader(file.Bytes()), RDBOptions{NowNanos: now, Databases: 16}, func(int, []byte, int64) {})
			must(b, err)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/entry")
	})
}

// BenchmarkBatch records changes of many keys, each once, and of few.
func BenchmarkBatch(b *testing.B) {
	for _, keys := range []int{100, benchKeys} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			names := make([][]byte, keys)
			for i := range names {
				names[i] = benchKey(i)
			}
			var batch Batch
			i := 0
			for b.Loop() {
				batch.Set(0, uint64(i)*0x9e3779b97f4a7c15, names[i], later)
				if i++; i == keys {
					i = 0
				}
			}
		})
	}
}

// BenchmarkLog writes blocks and loads them; an operation is all records.
func BenchmarkLog(b *testing.B) {
	at := onDisk(vfs.OS{})
	at.Dir = b.TempDir()
	s := openShop(b, at, Settings{Policy: No})
	fill := func() {
		for i := range benchKeys {
			s.shards[0].Set(0, uint64(i)*0x9e3779b97f4a7c15, benchKey(i), later)
		}
		s.shards[0].Append()
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			fill()
			b.StartTimer()
			s.now += second
			s.log.Tick(s.now)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/record")
	})
	must(b, s.rewrite())
	fill()
	must(b, s.log.Close())
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := LoadLog(at, loadOptions, nothing{}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/record")
	})
}
