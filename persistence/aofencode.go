package persistence

import (
	"bytes"
	"hash/crc32"
	"strconv"

	"github.com/cellserver/cellserver/resp"
)

const (
	blockPrefix = "#cellserver "
	// annotationBytes is how long a line that begins with # may be: Redis 7 reads it into so much, with a zero at the end.
	annotationBytes = 127
	// blockBytes is the size at which a block is closed. One more command fits: a key of MaxKeyBytes.
	blockBytes = 256 << 10
	// maxBlockBytes is the longest block that is believed.
	maxBlockBytes = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockHeader is the line before a block of commands:
//
//	#cellserver bytes=117 records=1 clock=1900000000000000000 synced=4096 crc=0123abcd\r\n
type blockHeader struct {
	bytes       int64  // of the commands
	records     int64  // of them that are no SELECT
	clockNanos  int64  // the store's clock when it was written
	syncedBytes int64  // so much of the file was on disk before it was written
	crc         uint32 // CRC-32C of the line up to "crc=" and the commands
}

// appendFields appends what the checksum covers of the line.
func (h *blockHeader) appendFields(dst []byte) []byte {
	dst = append(dst, blockPrefix...)
	dst = strconv.AppendInt(append(dst, "bytes="...), h.bytes, 10)
	dst = strconv.AppendInt(append(dst, " records="...), h.records, 10)
	dst = strconv.AppendInt(append(dst, " clock="...), h.clockNanos, 10)
	dst = strconv.AppendInt(append(dst, " synced="...), h.syncedBytes, 10)
	return append(dst, " crc="...)
}

func (h *blockHeader) appendLine(dst []byte) []byte {
	const digits = "0123456789abcdef"
	dst = h.appendFields(dst)
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, digits[h.crc>>shift&15])
	}
	return append(dst, '\r', '\n')
}

// checksum computes crc.
func (h *blockHeader) checksum(commands []byte) uint32 {
	var line [annotationBytes]byte
	return crc32.Update(crc32.Checksum(h.appendFields(line[:0]), castagnoli), castagnoli, commands)
}

// parseBlockHeader reads a whole line. Only what appendLine writes is taken.
func parseBlockHeader(line []byte) (h blockHeader, ok bool) {
	rest, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\r\n")), []byte(blockPrefix))
	if !ok {
		return h, false
	}
	for i, field := range bytes.Split(rest, []byte{' '}) {
		_, value, _ := bytes.Cut(field, []byte{'='})
		numbers := [...]*int64{&h.bytes, &h.records, &h.clockNanos, &h.syncedBytes}
		if i == len(numbers) {
			crc, err := strconv.ParseUint(string(value), 16, 32)
			if err != nil {
				return h, false
			}
			h.crc = uint32(crc)
			break
		}
		if *numbers[i], ok = resp.ParseRedisInt(value); !ok {
			return h, false
		}
	}
	return h, bytes.Equal(h.appendLine(nil), line) && h.bytes >= 0 && h.bytes <= maxBlockBytes
}

// An encoder makes blocks of effects.
type encoder struct {
	buf        []byte // finished blocks
	commands   []byte // of the unfinished one
	header     blockHeader
	db         int    // chosen by the unfinished block's last SELECT; -1: none yet
	timestamps bool   // with Redis's own annotation of the time, to the second
	lastSecond int64  // of the last such annotation in the file
	digits     []byte // scratch
}

// begin prepares for blocks written at this time to a file of which so many bytes are on disk.
func (e *encoder) begin(clockNanos, syncedBytes int64) {
	e.buf, e.commands = e.buf[:0], e.commands[:0]
	e.header = blockHeader{clockNanos: clockNanos, syncedBytes: syncedBytes}
	e.db = -1
}

// batch appends some of the batch's effects.
func (e *encoder) batch(b *Batch, from, to int) {
	for i := from; i < to; i++ {
		r := &b.records[i]
		e.choose(int(r.db))
		if r.gone {
			e.command("DEL", b.key(r))
		} else {
			e.set(b.key(r), r.tatNanos)
		}
		e.count()
	}
}

// flush appends that a database was emptied.
func (e *encoder) flush(db int) {
	e.choose(db)
	e.commands = append(e.commands, "*1\r\n$7\r\nFLUSHDB\r\n"...)
	e.count()
}

// swap appends that two databases were exchanged.
func (e *encoder) swap(a, b int) {
	e.commands = append(e.commands, "*3\r\n$6\r\nSWAPDB\r\n"...)
	for _, db := range []int{a, b} {
		e.digits = strconv.AppendInt(e.digits[:0], int64(db), 10)
		e.commands = appendBulk(e.commands, e.digits)
	}
	e.count()
}

func (e *encoder) set(key []byte, tatNanos int64) {
	e.commands = append(e.commands, "*5\r\n"...)
	e.commands = appendBulk(e.commands, []byte("SET"))
	e.commands = appendBulk(e.commands, key)
	e.digits = strconv.AppendInt(e.digits[:0], tatNanos, 10)
	e.commands = appendBulk(e.commands, e.digits)
	e.commands = appendBulk(e.commands, []byte("PXAT"))
	e.digits = strconv.AppendInt(e.digits[:0], ExpiryMillis(tatNanos), 10)
	e.commands = appendBulk(e.commands, e.digits)
}

// command appends a command with one argument.
func (e *encoder) command(name string, argument []byte) {
	e.commands = append(e.commands, "*2\r\n"...)
	e.commands = appendBulk(e.commands, []byte(name))
	e.commands = appendBulk(e.commands, argument)
}

// choose appends a SELECT unless the block is at that database. Each block begins with one, so that it stands by itself.
func (e *encoder) choose(db int) {
	if db == e.db {
		return
	}
	e.digits = strconv.AppendInt(e.digits[:0], int64(db), 10)
	e.command("SELECT", e.digits)
	e.db = db
}

func (e *encoder) count() {
	e.header.records++
	if len(e.commands) >= blockBytes {
		e.end()
	}
}

// end finishes the block, if it holds anything.
func (e *encoder) end() {
	if len(e.commands) == 0 {
		return
	}
	if second := e.header.clockNanos / 1e9; e.timestamps && second > e.lastSecond {
		e.buf = append(strconv.AppendInt(append(e.buf, timestampPrefix...), second, 10), '\r', '\n')
		e.lastSecond = second
	}
	e.header.bytes = int64(len(e.commands))
	e.header.crc = e.header.checksum(e.commands)
	e.buf = append(e.header.appendLine(e.buf), e.commands...)
	e.commands = e.commands[:0]
	e.header.records = 0
	e.db = -1
}

// timestampPrefix begins the annotation that Redis writes with aof-timestamp-enabled: Unix seconds follow.
const timestampPrefix = "#TS:"

// appendBulk appends an argument of a command.
func appendBulk(dst, argument []byte) []byte {
	dst = strconv.AppendInt(append(dst, '$'), int64(len(argument)), 10)
	dst = append(append(dst, '\r', '\n'), argument...)
	return append(dst, '\r', '\n')
}
