package persistence

import "errors"

var errLZF = errors.New("damaged LZF data")

// appendLZF appends what compressed holds, which must be size bytes, to dst. LZF is a sequence of
//
//	000lllll                     l+1 bytes follow as they are
//	lllooooo oooooooo            l+2 bytes as o+1 bytes before here; l from 1 to 6
//	111ooooo llllllll oooooooo   l+9 bytes
//
// Nothing is believed: dst grows by what is decoded, and never beyond size.
func appendLZF(dst, compressed []byte, size int) ([]byte, error) {
	start := len(dst)
	for i := 0; i < len(compressed); {
		control := int(compressed[i])
		i++
		if control < 1<<5 {
			run := control + 1
			if run > len(compressed)-i || run > size-(len(dst)-start) {
				return dst, errLZF
			}
			dst = append(dst, compressed[i:i+run]...)
			i += run
			continue
		}
		run := control >> 5
		if run == 7 && i < len(compressed) {
			run += int(compressed[i])
			i++
		}
		run += 2
		if i == len(compressed) {
			return dst, errLZF
		}
		from := len(dst) - (control&0x1f<<8 | int(compressed[i])) - 1
		i++
		if from < start || run > size-(len(dst)-start) {
			return dst, errLZF
		}
		for range run { // it may overlap what it appends
			dst = append(dst, dst[from])
			from++
		}
	}
	if len(dst)-start != size {
		return dst, errLZF
	}
	return dst, nil
}
