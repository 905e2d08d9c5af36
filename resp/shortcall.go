package resp

import "encoding/binary"

const (
	shortHead = "*5\r\n$11\r\nCL.THROTTLE\r\n"
	// leastShortCall is the least that a call takes: an empty key and three digits.
	leastShortCall = len(shortHead) + len("$0\r\n\r\n") + 3*len("$1\r\n0\r\n")
	// maxShortKey is what a header of three digits can say, maxShortDigits what can be read at once.
	maxShortKey    = 999
	maxShortDigits = 8
)

// shortHead in three words that overlap, in lower case, as they are compared; and for each letter in them the bit, 0x20 or
// ' ', that it lacks in upper case.
var (
	headWords   = [3]uint64{word("*5\r\n$11\r"), word("\ncl.thro"), word("rottle\r\n")}
	headLetters = [3]uint64{0, word("\x00  \x00    "), word("      \x00\x00")}
)

// NextThrottle takes the call of CL.THROTTLE that buf begins with, if it is one as clients usually send it: a multibulk command
// of 5 or 6 words that is all there, with a key of less than 1,000 bytes and integers of 1 to 8 digits. It returns the key, a
// sub-slice of buf, and the number of bytes it is done with, and puts max_burst, count, period and quantity, which is 1
// where there is none, into integers. For anything else, valid or not, that number is 0 and integers mean nothing: such input
// is for Next, which gives the same result for a call.
//
// A server of small commands spends much of its time on recognizing its input. This way a call costs half of what it
// costs to list, look up and parse its words, since no byte is looked at twice.
//
// It may look at bytes between the length of buf and its capacity, but takes nothing from there: so a call at the end of the
// input is as quick as any other where the buffer goes on for some bytes.
func (p *Parser) NextThrottle(buf []byte, integers *[4]int64) (key []byte, n int) {
	if len(buf) < leastShortCall || p.need > 0 || !p.Limits.allowShortCalls() {
		return nil, 0
	}
	first := binary.LittleEndian.Uint64(buf)
	words := int(first>>8&0xff) - '0'
	if uint(words-5) > 1 || !isShortHead(first, buf) {
		return nil, 0
	}
	header := binary.LittleEndian.Uint64(buf[len(shortHead):])
	length, size := shortHeader(uint32(header))
	if size == 0 {
		length, size = threeDigitHeader(header)
	}
	body := len(shortHead) + size
	end := body + length
	if size == 0 || end > len(buf) {
		return nil, 0
	}
	n = end + len("\r\n")
	room := buf[:cap(buf)]
	integers[3] = 1
	for i := range integers[:words-2] {
		if len(room)-n < len(shortInteger{}) {
			return nil, 0
		}
		argument := (*shortInteger)(room[n:])
		header := binary.LittleEndian.Uint32(argument[:])
		length := int(header>>8&0xff) - '0'
		digits := lastDigits(binary.LittleEndian.Uint64(argument[len("$8\r\n"):]), length)
		if header&^0xff00 != '$'|'\r'<<16|'\n'<<24 || uint(length-1) >= maxShortDigits || !areDigits(digits) {
			return nil, 0
		}
		integers[i] = number(digits)
		n += len("$8\r\n") + length + len("\r\n") // any two bytes end an argument, as in Next
	}
	if n > len(buf) {
		return nil, 0
	}
	return buf[body:end:end], n
}

// isShortHead reports whether buf, of which first are the first 8 bytes, begins with shortHead, any number of words in its place.
func isShortHead(first uint64, buf []byte) bool {
	second := binary.LittleEndian.Uint64(buf[8:]) | headLetters[1]
	third := binary.LittleEndian.Uint64(buf[len(shortHead)-8:]) | headLetters[2]
	return (first^headWords[0])&^0xff00|(second^headWords[1])|(third^headWords[2]) == 0
}

// threeDigitHeader is shortHeader for a length of 100 to 999, of the first eight bytes.
func threeDigitHeader(header uint64) (length, size int) {
	hundreds, tens, ones := header>>8&0xff-'0', header>>16&0xff-'0', header>>24&0xff-'0'
	if header&0xff != '$' || header>>32&0xff != '\r' || hundreds-1 >= 9 || tens > 9 || ones > 9 {
		return 0, 0
	}
	return int(hundreds*100 + tens*10 + ones), len("$100\r\n")
}

// A shortInteger is an argument of 1 to 8 digits, and after a shorter one whatever follows it.
type shortInteger [len("$8\r\n12345678\r\n")]byte

// eachByte times a byte is that byte eight times.
const eachByte = 0x0101010101010101

// lastDigits takes eight bytes of text, the first one lowest, that begin with so many digits, 1 to 8, and returns the eight
// digits, one a byte, of the number that those are.
func lastDigits(text uint64, length int) uint64 {
	return (text ^ eachByte*'0') << ((64 - 8*length) & 63)
}

// areDigits reports whether each byte is at most 9: else it is above 0x7f itself, or is so with 0x7f-9 added.
func areDigits(digits uint64) bool {
	return (digits+eachByte*(0x7f-9)|digits)&(eachByte<<7) == 0
}

// number joins eight digits, the first one lowest: to four numbers of two digits, to two of four, then to one.
func number(digits uint64) int64 {
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
