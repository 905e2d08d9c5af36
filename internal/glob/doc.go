// Package glob matches Redis's patterns: of KEYS, SCAN and PSUBSCRIBE, and of the keys and channels that a user may use.
//
// It takes any bytes, agrees with Redis on malformed patterns too, and its time is bounded by the product of the two
// lengths, where Redis's is exponential in the number of stars.
package glob
