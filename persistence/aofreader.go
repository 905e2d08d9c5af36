package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/cellserver/cellserver/internal/vfs"
	"github.com/cellserver/cellserver/resp"
)

const (
	// aofInputBytes is how much of a log is read at once, at the least.
	aofInputBytes = 128 << 10
	// maxAnnotationBytes is the longest line that is taken for an annotation.
	maxAnnotationBytes = 4096
)

// errEnd is the end of a file in the middle of something.
var errEnd = errors.New("it ends in the middle of a command")

// aofReader reads the file of a log, from commands and from blocks of commands.
//
// A file that a crash has cut or torn, and one that is damaged, look alike where reading fails. They are told apart by what comes after:
// a block says how much of its file was safe on disk when it was written. If a later block says so of the place where
// reading fails, it is damage; otherwise it is a tail that was never promised to anybody. Files without blocks are Redis's: in
// them a tail is what is incomplete at the end.
type aofReader struct {
	path    string
	file    vfs.File
	size    int64
	offset  int64 // of buf[0]
	buf     []byte
	pos     int   // buf[pos:] is to be read
	whole   int64 // all before it can be kept
	ours    bool  // it begins with a block
	blocks  bool  // it has had a block
	loaded  *Loaded
	history *history
	options LoadOptions
	applier *Applier

	parser resp.Parser
	args   [][]byte
}

func newAOFReader(path string, file vfs.File, start, size int64) *aofReader {
	return &aofReader{
		path: path, file: file, size: size, offset: start, whole: start,
		parser: resp.Parser{Limits: resp.DefaultLimits()},
	}
}

// at is the offset of the next byte.
func (r *aofReader) at() int64 { return r.offset + int64(r.pos) }

// fill reads more, at least one byte; io.EOF if there is none.
func (r *aofReader) fill() error {
	if r.options.Progress != nil {
		if err := r.options.Progress(r.loaded.doneBytes+r.offset, r.loaded.totalBytes); err != nil {
			return readError{err}
		}
	}
	if r.pos > 0 {
		r.offset += int64(r.pos)
		r.buf = append(r.buf[:0], r.buf[r.pos:]...)
		r.pos = 0
	}
	held := len(r.buf)
	left := r.size - r.offset - int64(held)
	if left <= 0 {
		return io.EOF
	}
	if int64(cap(r.buf)-held) < min(left, aofInputBytes) {
		grown := make([]byte, held, held+int(min(left, int64(held)+2*aofInputBytes)))
		copy(grown, r.buf)
		r.buf = grown
	}
	room := min(int64(cap(r.buf)-held), left)
	n, err := r.file.ReadAt(r.buf[held:held+int(room)], r.offset+int64(held))
	r.buf = r.buf[:held+n]
	if n > 0 {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		err = readError{err}
	}
	return err
}

// need makes sure that so many bytes are there; errEnd if the file has no more.
func (r *aofReader) need(n int) error {
	for len(r.buf)-r.pos < n {
		if err := r.fill(); errors.Is(err, io.EOF) {
			return errEnd
		} else if err != nil {
			return err
		}
	}
	return nil
}

// all reads the file to its end, or to a torn tail, before which whole is.
func (r *aofReader) all() error {
	for {
		if !r.applier.InTransaction() {
			r.whole = r.at()
		}
		if err := r.need(1); err == errEnd && !r.applier.InTransaction() {
			return nil
		} else if err != nil {
			return r.judge(err)
		}
		var err error
		switch r.buf[r.pos] {
		case '#':
			err = r.annotation()
		case '*':
			err = r.command(math.MaxInt)
		default:
			err = fmt.Errorf("byte 0x%02x where a command should begin", r.buf[r.pos])
		}
		if err != nil {
			return r.judge(err)
		}
	}
}

// readError wraps the errors of the disk, as opposed to what is wrong with the file.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// judge says what it means that reading failed here: nil for a torn tail.
func (r *aofReader) judge(reason error) error {
	var trouble readError
	if isRefusal(reason) {
		return fmt.Errorf("%s: offset %d: %w", r.path, r.at(), reason)
	}
	if errors.As(reason, &trouble) {
		return fmt.Errorf("%s: %w", r.path, trouble.error)
	}
	if errors.Is(reason, errClock) {
		return &DamageError{File: r.path, Offset: r.at(), Reason: reason.Error(), Advice: adviceClock}
	}
	promised, records, err := r.promisedAfter(r.whole)
	if err != nil {
		return err
	}
	if promised > r.whole || !r.blocks && reason != errEnd {
		return &DamageError{File: r.path, Offset: r.whole, Reason: reason.Error(), Advice: adviceDamage}
	}
	r.loaded.TornRecords, r.loaded.TornIn = records, "a command"
	head := make([]byte, len(blockPrefix))
	if n, _ := r.file.ReadAt(head, r.whole); string(head[:n]) == blockPrefix {
		r.loaded.TornIn = "a batch of commands" // which is dropped as one
	}
	return nil
}

// annotation reads a line that begins with #, and the block if it is the head of one.
func (r *aofReader) annotation() error {
	start := r.at()
	line, err := r.line()
	if err != nil {
		return err
	}
	if header, ok := parseBlockHeader(line); ok {
		r.ours = r.ours || start == 0
		return r.block(header)
	}
	if bytes.HasPrefix(line, []byte(blockPrefix)) {
		return errors.New("a block's header is wrong")
	}
	if digits, ok := bytes.CutPrefix(line, []byte(timestampPrefix)); ok {
		if seconds, ok := resp.ParseRedisInt(bytes.TrimRight(digits, "\r\n")); ok {
			return r.clock(seconds, nanosPerSecond, r.history.recorded)
		}
	}
	if r.blocks {
		// Among blocks it is a header of which a part is lost. Passing over it would lay bare the commands of its block.
		return errors.New("an annotation that is neither Redis's nor ours")
	}
	return nil
}

// clock takes note of a clock that the file holds.
func (r *aofReader) clock(clock, unitNanos int64, note func(nanos int64)) error {
	nanos, err := clockNanos(clock, unitNanos)
	switch {
	case err == nil:
		r.loaded.ClockNanos = max(r.loaded.ClockNanos, nanos)
		note(nanos)
	case r.options.AnyClock:
		err = nil
	}
	return err
}

// line reads a line. It is good until the next call of anything.
func (r *aofReader) line() ([]byte, error) {
	for n := 0; ; {
		rest := r.buf[r.pos:]
		if i := bytes.IndexByte(rest[n:min(len(rest), maxAnnotationBytes)], '\n'); i >= 0 {
			r.pos += n + i + 1
			return rest[:n+i+1], nil
		}
		if n = len(rest); n >= maxAnnotationBytes {
			return nil, fmt.Errorf("an annotation of more than %d bytes", maxAnnotationBytes)
		}
		if err := r.need(n + 1); err != nil {
			return nil, err
		}
	}
}

// block verifies a block before it applies its commands.
func (r *aofReader) block(header blockHeader) error {
	if err := r.need(int(header.bytes)); err != nil {
		return err
	}
	end := r.pos + int(header.bytes)
	if header.checksum(r.buf[r.pos:end]) != header.crc {
		return errors.New("a block's checksum is wrong")
	}
	if r.applier.InTransaction() {
		return errors.New("a block within a transaction")
	}
	r.blocks = true
	r.applier.Renamed = nil // our own log has commands by their own names
	defer func() { r.applier.Renamed = r.options.Renamed }()
	if err := r.clock(header.clockNanos, 1, func(int64) {}); err != nil {
		return err
	}
	for r.pos < end {
		if err := r.command(end); err != nil {
			return err
		}
	}
	return nil
}

// command reads a command that ends before buf[end], or anywhere.
func (r *aofReader) command(end int) error {
	if end-r.pos < 2 {
		return errors.New("a block ends in the middle of a command")
	}
	if err := r.need(2); err != nil {
		return err
	}
	if c := r.buf[r.pos+1]; r.buf[r.pos] != '*' || c < '1' || c > '9' {
		return errors.New("no command where one should begin")
	}
	for {
		args, n, err := r.parser.Next(r.buf[r.pos:min(end, len(r.buf))], r.args)
		r.args = args[:0]
		switch {
		case err == nil:
			r.pos += n
			return r.applier.Apply(args, r.history.times())
		case !errors.Is(err, resp.ErrIncomplete):
			r.parser = resp.Parser{Limits: resp.DefaultLimits()}
			return err
		case end < math.MaxInt:
			return errors.New("a block ends in the middle of a command")
		}
		if err := r.need(len(r.buf) - r.pos + 1); err != nil {
			return err
		}
	}
}

// promisedAfter looks for blocks from an offset on. It returns how much of the file the last of them says to be safe, and how many
// records they hold.
func (r *aofReader) promisedAfter(from int64) (promisedBytes, records int64, err error) {
	scan := newAOFReader(r.path, r.file, from, r.size)
	scan.loaded = r.loaded
	for {
		i := bytes.Index(scan.buf[scan.pos:], []byte(blockPrefix))
		if i < 0 {
			scan.pos = max(scan.pos, len(scan.buf)-len(blockPrefix)+1)
			if err := scan.need(len(blockPrefix)); err == errEnd {
				return promisedBytes, records, nil
			} else if err != nil {
				return 0, 0, err
			}
			continue
		}
		scan.pos += i
		if err := scan.need(annotationBytes + maxBlockBytes); err != nil && err != errEnd {
			return 0, 0, err
		}
		rest := scan.buf[scan.pos:]
		lineEnd := bytes.IndexByte(rest[:min(len(rest), annotationBytes)], '\n') + 1
		header, ok := parseBlockHeader(rest[:lineEnd])
		if ok && header.bytes <= int64(len(rest)-lineEnd) &&
			header.checksum(rest[lineEnd:lineEnd+int(header.bytes)]) == header.crc {
			promisedBytes = max(promisedBytes, header.syncedBytes)
			records += header.records
			scan.pos += lineEnd + int(header.bytes)
			continue
		}
		scan.pos++
	}
}
