package persistence

import (
	"encoding/binary"
	"io"
	"strconv"
)

const (
	rdbMagic = "REDIS"
	// rdbVersion is Redis 7.0's: older Redis refuses it, newer and Valkey read it.
	rdbVersion = "0010"
	// auxClock is the name under which the store's clock is in the file, Unix nanoseconds. Redis passes over names it does not
	// know.
	auxClock = "cellserver-clock"
	// auxCreated is Redis's name for when the file was begun, Unix seconds.
	auxCreated = "ctime"
	// writerBytes is how much is written at once.
	writerBytes = 64 << 10
)

// RDBHeader is what an RDB file says of itself.
type RDBHeader struct {
	ClockNanos int64  // the store's clock when it was begun
	Version    string // redis-ver
	AOFBase    bool   // it is the base of a log
}

// RDBWriter writes an RDB file to out, piece by piece. It is for one goroutine.
type RDBWriter struct {
	out     io.Writer
	buf     []byte
	crc     uint64
	written int64
	db      int // of the entries being written; -1 before the first
	err     error
}

// NewRDBWriter begins a file. Nothing reaches out before there is enough of it.
func NewRDBWriter(out io.Writer, header RDBHeader) *RDBWriter {
	w := &RDBWriter{out: out, buf: make([]byte, 0, writerBytes), db: -1}
	w.buf = append(append(w.buf, rdbMagic...), rdbVersion...)
	aofBase := int64(0)
	if header.AOFBase {
		aofBase = 1
	}
	w.aux("redis-ver", header.Version)
	w.aux("redis-bits", "64")
	w.aux(auxCreated, strconv.FormatInt(header.ClockNanos/1e9, 10))
	w.aux("used-mem", "0") // Redis writes its figure and does not depend on it
	w.aux("aof-base", strconv.FormatInt(aofBase, 10))
	w.aux(auxClock, strconv.FormatInt(header.ClockNanos, 10))
	return w
}

func (w *RDBWriter) aux(name, value string) {
	w.buf = appendString(appendString(append(w.buf, opAux), []byte(name)), []byte(value))
}

func (w *RDBWriter) selectDB(db int) {
	w.buf = appendLength(append(w.buf, opSelectDB), uint64(db))
	w.db = db
}

// Write writes entries of one database, made by AppendEntry. The databases may take turns. After an error it does nothing and
// returns that again.
func (w *RDBWriter) Write(db int, entries []byte) error {
	if w.err == nil && len(entries) > 0 && db != w.db {
		w.selectDB(db)
	}
	for len(entries) > 0 && w.err == nil {
		n := min(len(entries), cap(w.buf)-len(w.buf))
		w.buf, entries = append(w.buf, entries[:n]...), entries[n:]
		if len(w.buf) >= writerBytes {
			w.flush()
		}
	}
	return w.err
}

// Close writes the end of the file and its checksum. It does not close out.
func (w *RDBWriter) Close() error {
	w.buf = append(w.buf, opEOF)
	w.flush()
	w.buf = binary.LittleEndian.AppendUint64(w.buf, w.crc)
	w.flush()
	return w.err
}

func (w *RDBWriter) flush() {
	if w.err != nil {
		return
	}
	w.crc = updateCRC(w.crc, w.buf)
	n, err := w.out.Write(w.buf)
	w.written += int64(n)
	w.err = err
	w.buf = w.buf[:0]
}

// Written returns how many bytes have gone to out.
func (w *RDBWriter) Written() int64 { return w.written }
