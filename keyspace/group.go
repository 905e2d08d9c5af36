package keyspace

import (
	"math/bits"
	"unsafe"
)

const (
	slotsPerGroup = 8
	// groupsPerBlock makes a block 1,144 bytes, which Go's allocator serves from its 1,152-byte class with 2% lost;
	// 8 or 16 groups would lose 9%.
	groupsPerBlock = 11
	// entriesPerBlock is 7/8 of a block's slots: the load at which a segment grows. A probe ends at an empty slot, so
	// there must always be one, and above 7/8 runs of full groups get long.
	entriesPerBlock = groupsPerBlock * slotsPerGroup * 7 / 8
)

// A group is eight slots whose tags are compared at once. Tags and keys come first: a lookup reads them before it
// knows whether it needs the value, and mostly they share a cache line.
type group struct {
	tags   uint64                // byte i: tagEmpty, tagTombstone, or tagFull | 7 bits of slot i's hash
	keys   [slotsPerGroup]uint32 // where the slot's record begins in the segment's arena
	values [slotsPerGroup]int64
}

// The arithmetic of doc.go rests on 13 bytes a slot.
var _ [104]byte = [unsafe.Sizeof(group{})]byte{}

type groupBlock [groupsPerBlock]group

// at returns the block's i-th group, which the caller knows to be below groupsPerBlock. Go's own indexing reads the
// block's first byte to see that the block is not nil: a cache line that nothing else needs, and so one more miss.
func (b *groupBlock) at(i int) *group {
	return (*group)(unsafe.Add(unsafe.Pointer(b), uintptr(i)*unsafe.Sizeof(group{})))
}

const (
	tagEmpty     = 0x00 // never used since the last rebuild: a probe ends here
	tagTombstone = 0x40 // deleted, but probes have passed: they must go on
	tagFull      = 0x80

	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// tagOf returns the tag of an entry: bits 0 to 6 of its hash.
func tagOf(hash uint64) uint64 { return tagFull | hash&0x7f }

// A slotSet has the high bit of byte i set for each slot i in the set.
type slotSet uint64

func (s slotSet) first() int        { return bits.TrailingZeros64(uint64(s)) / 8 }
func (s slotSet) rest() slotSet     { return s & (s - 1) }
func (s slotSet) len() int          { return bits.OnesCount64(uint64(s)) }
func (s slotSet) has(slot int) bool { return s>>(slot*8+7)&1 != 0 }

// matching returns the slots with this tag, and now and then one more behind a true match (the borrow of the
// subtraction): the caller compares keys anyway.
func (g *group) matching(tag uint64) slotSet {
	x := g.tags ^ tag*lowBits
	return slotSet((x - lowBits) &^ x & highBits)
}

func (g *group) full() slotSet  { return slotSet(g.tags & highBits) }
func (g *group) free() slotSet  { return slotSet(^g.tags & highBits) } // empty or tombstone
func (g *group) empty() slotSet { return slotSet(^g.tags & ^(g.tags << 1) & highBits) }

// reusable returns the slots that are free or whose entry is dead at now. Values and now must not be negative.
//
// It has no branch: which entries are dead can't be guessed, and one wrong guess costs as much as all eight differences,
// whose signs say it.
func (g *group) reusable(now int64) slotSet {
	v, next := &g.values, now+1
	dead := uint64(v[0]-next)&signBit>>56 | uint64(v[1]-next)&signBit>>48 |
		uint64(v[2]-next)&signBit>>40 | uint64(v[3]-next)&signBit>>32 |
		uint64(v[4]-next)&signBit>>24 | uint64(v[5]-next)&signBit>>16 |
		uint64(v[6]-next)&signBit>>8 | uint64(v[7]-next)&signBit
	return g.free() | slotSet(dead)
}

const signBit = 1 << 63

func (g *group) setTag(slot int, tag uint64) {
	shift := slot * 8
	g.tags = g.tags&^(0xff<<shift) | tag<<shift
}
