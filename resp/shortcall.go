package resp

import "encoding/binary"

const (
	shortHead = "*5\r\n$11\r\nCL.THROTTLE\r\n"
	// leastShortCall is the least that a call takes: an empty key and three digits.
	leastShortCall = len(shortHead) + len("$0\r\n\r\n") + 3*len("$1\r\n0\r\n")
	// maxShortKey is what a header of two digits can say, maxShortDigits what can be read at once.
	maxShortKey    = 99
	maxShortDigits = 8
)

// shortHead in three words that overlap, as they are compared. letters are the bits that a letter in lower case has and
// one in upper case has not.
var (
	headWords   = [3]uint64{word("*5\r\n$11\r"), word("\ncl.thro"), word("rottle\r\n")}
	headLetters = [3]uint64{0, word("\x00\x20\x20\x00\x20\x20\x20\x20"), word("\x20\x20\x20\x20\x20\x20\x00\x00")}
)

// NextThrottle takes the call of CL.THROTTLE that buf begins with, if it is one as clients usually send it: a multibulk command
// of 5 or 6 words that is all there, with a key of less than 100 bytes and integers of 1 to 8 digits. It returns the key, a
// sub-slice of buf, the integers, the quantity being 1 where there is none, and the number of bytes it is done with. For
// all else, right or wrong, that number is 0 and nothing has happened: it is for Next, which makes of a call what this does.
//
// A server of small commands spends much of its time on finding out what has come. This way a call costs a third of what
// it costs to have its words listed, looked up and parsed, since nothing of it is looked at twice.
//
// It may look at bytes between the length of buf and its capacity, but takes nothing from there: so a call at the end of the
// input is as quick as any other where the buffer goes on for some bytes.
func (p *Parser) NextThrottle(buf []byte) (key []byte, maxBurst, count, period, quantity int64, n int) {
	if len(buf) < leastShortCall || p.need > 0 || !p.Limits.allowShortCalls() {
		return nil, 0, 0, 0, 0, 0
	}
	first := binary.LittleEndian.Uint64(buf)
	words := byte(first>>8) - '0'
	if words-5 > 1 || !isShortHead(first, buf) {
		return nil, 0, 0, 0, 0, 0
	}
	length, size := shortHeader(binary.LittleEndian.Uint32(buf[len(shortHead):]))
	pos := len(shortHead) + size
	end := pos + length
	if size == 0 || end+2 > len(buf) || buf[pos-1] != '\n' || buf[end] != '\r' || buf[end+1] != '\n' {
		return nil, 0, 0, 0, 0, 0
	}
	key = buf[pos:end:end]
	room := buf[:cap(buf)]
	maxBurst, n = shortInteger(room, end+2)
	count, n = shortInteger(room, n)
	period, n = shortInteger(room, n)
	quantity = 1
	if words == 6 {
		quantity, n = shortInteger(room, n)
	}
	if n > len(buf) {
		n = 0
	}
	return key, maxBurst, count, period, quantity, n
}

// isShortHead reports whether buf, of which first are the first 8 bytes, begins with shortHead, any number of words in its place.
func isShortHead(first uint64, buf []byte) bool {
	second := binary.LittleEndian.Uint64(buf[8:]) | headLetters[1]
	third := binary.LittleEndian.Uint64(buf[len(shortHead)-8:]) | headLetters[2]
	return (first^headWords[0])&^0xff00|(second^headWords[1])|(third^headWords[2]) == 0
}

// shortInteger reads the argument at buf[pos:], if it is 1 to 8 digits, and returns where the next begins. It returns 0 if
// it is anything else, pos is 0, or fewer bytes follow than the longest such argument has.
func shortInteger(buf []byte, pos int) (n int64, next int) {
	if pos == 0 || len(buf)-pos < len("$8\r\n12345678\r\n") {
		return 0, 0
	}
	argument := (*[len("$8\r\n12345678\r\n")]byte)(buf[pos:])
	header := binary.LittleEndian.Uint32(argument[:])
	length := header>>8&0xff - '0'
	if header&^0xff00 != '$'|'\r'<<16|'\n'<<24 || length-1 >= maxShortDigits {
		return 0, 0
	}
	text := binary.LittleEndian.Uint64(argument[len("$8\r\n"):])
	digits := (text ^ eachByte*'0') << ((64 - 8*length) & 63)
	end := pos + len("$8\r\n") + int(length)
	if (digits+eachByte*(0x7f-9)|digits)&(eachByte<<7) != 0 || binary.LittleEndian.Uint16(buf[end:]) != '\r'|'\n'<<8 {
		return 0, 0
	}
	return eightDigits(digits), end + len("\r\n")
}

// eachByte times a byte is that byte eight times.
const eachByte = 0x0101010101010101

// eightDigits is the number with these digits, the first one in the lowest byte. They are joined in three steps, to four
// numbers of two digits, then two of four, then one.
func eightDigits(digits uint64) int64 {
	const low, quarter = 0x00ff00ff00ff00ff, 0x0000ffff0000ffff
	pairs := (digits*10 + digits>>8) & low
	fours := (pairs*100 + pairs>>16) & quarter
	return int64((fours*10_000 + fours>>32) & 0xffffffff)
}

// allowShortCalls reports whether none of the limits can stand against a call in the short form.
func (l *Limits) allowShortCalls() bool {
	return l.MaxArgs >= 6 && l.MaxBulkBytes >= maxShortKey && !l.Unauthenticated
}

func word(text string) uint64 { return binary.LittleEndian.Uint64([]byte(text)) }
