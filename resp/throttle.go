package resp

import (
	"encoding/binary"
	"slices"

	"github.com/tidwall/redcon"
)

const (
	throttleHead = "*5\r\n:0\r\n"

	// maxIntBytes is the longest integer reply.
	maxIntBytes = len(":-9223372036854775808\r\n")

	// maxThrottleBytes is the longest reply to CL.THROTTLE. putInt may write
	// past a shorter one, never past this.
	maxThrottleBytes = len(throttleHead) + 4*maxIntBytes
)

// smallIntBits is the width of the integers, with 1 added, that have their
// replies in a table.
const smallIntBits = 10

// smallInts holds the replies for the integers from -1 to 1022, the first byte
// lowest, each with its length in the highest byte: at most four digits fit.
var smallInts = func() (table [1 << smallIntBits]uint64) {
	for i := range table {
		var reply [8]byte
		n := copy(reply[:], redcon.AppendInt(nil, int64(i)-1))
		reply[7] = byte(n)
		table[i] = binary.LittleEndian.Uint64(reply[:])
	}
	return table
}()

// AppendThrottle appends the reply to CL.THROTTLE, five integers: whether the
// call was refused, the limit, the tokens remaining, and in seconds when to
// retry (-1 for a call that was not refused) and when the bucket is full again.
// It is what [Writer] would append, in a third of the time: most of these
// integers are small.
func AppendThrottle(dst []byte, limited bool, limit, remaining, retryAfter, resetAfter int64) []byte {
	dst = slices.Grow(dst, maxThrottleBytes)
	reply := dst[len(dst) : len(dst)+maxThrottleBytes]
	n := copy(reply, throttleHead)
	if limited {
		reply[n-len("0\r\n")] = '1'
	}
	if uint64((limit+1)|(remaining+1)|(retryAfter+1)|(resetAfter+1))>>smallIntBits == 0 {
		n += putSmallInt(reply[n:], limit)
		n += putSmallInt(reply[n:], remaining)
		n += putSmallInt(reply[n:], retryAfter)
		n += putSmallInt(reply[n:], resetAfter)
	} else {
		n += putInt(reply[n:], limit)
		n += putInt(reply[n:], remaining)
		n += putInt(reply[n:], retryAfter)
		n += putInt(reply[n:], resetAfter)
	}
	return dst[:len(dst)+n]
}

// putInt writes the reply for any integer to dst and returns its length. It may
// write up to 8 bytes where fewer are used.
func putInt(dst []byte, n int64) int {
	if uint64(n+1)>>smallIntBits == 0 {
		return putSmallInt(dst, n)
	}
	return len(redcon.AppendInt(dst[:0], n))
}

// putSmallInt is putInt for integers from -1 to 1022.
func putSmallInt(dst []byte, n int64) int {
	reply := smallInts[(n+1)&(1<<smallIntBits-1)]
	binary.LittleEndian.PutUint64(dst, reply)
	return int(reply >> 56)
}
