package keyspace

import (
	"math/bits"
	"unsafe"
)

const (
	slotsPerGroup = 8
	// groupsPerBlock makes a block 1,152 bytes: a size that Go's allocator has, and that begins on a cache line.
	groupsPerBlock = 12
	// entriesPerBlock is 7/8 of a block's slots: the load at which a segment grows. A new entry's probe ends at a free
	// slot, so there must always be one, and above 7/8 runs of full groups get long.
	entriesPerBlock = groupsPerBlock * slotsPerGroup * 7 / 8
)

// A group is eight slots whose tags are compared at once. It is one and a half cache lines and begins at the start of one
// or in the middle, so it is never spread over three.
type group struct {
	tags uint64 // byte i: tagFree, or tagFull | 7 bits of slot i's hash
	// misc is, from the low end: 6 bits more of each slot's record, a bit for each slot whose entry has another home
	// group, and 8 bits that count the entries whose probes have passed this group.
	misc       uint64
	recordsLow [slotsPerGroup]uint16 // where the slot's record begins in the segment's arena, without the bits in misc
	values     [slotsPerGroup]int64
}

// The arithmetic of doc.go rests on 12 bytes a slot.
var _ [96]byte = [unsafe.Sizeof(group{})]byte{}

// record returns where the slot's record begins, or noRecord.
func (g *group) record(slot int) uint32 {
	return uint32(g.recordsLow[slot]) | uint32(g.misc>>(slot*recordMiscBits)&recordMiscMask)<<16
}

func (g *group) setRecord(slot int, record uint32) {
	shift := slot * recordMiscBits
	g.recordsLow[slot] = uint16(record)
	g.misc = g.misc&^(recordMiscMask<<shift) | uint64(record>>16)<<shift
}

// displaced reports whether the slot's entry has another home group.
func (g *group) displaced(slot int) bool { return g.misc>>(displacedShift+slot)&1 != 0 }

func (g *group) hasDisplaced() bool { return g.misc>>displacedShift&(1<<slotsPerGroup-1) != 0 }

// anyDisplaced reports whether one of the slots has an entry of another home group.
func (g *group) anyDisplaced(slots slotSet) bool {
	for ; slots != 0; slots = slots.rest() {
		if g.displaced(slots.first()) {
			return true
		}
	}
	return false
}

func (g *group) setDisplaced(slot int)   { g.misc |= 1 << (displacedShift + slot) }
func (g *group) clearDisplaced(slot int) { g.misc &^= 1 << (displacedShift + slot) }

// passed reports whether the probe of an entry has passed the group: if not, a lookup ends here.
func (g *group) passed() bool { return g.misc>>passedShift != 0 }

// pass counts an entry whose probe has passed the group, and unpass takes it back. A count that has reached its maximum
// stays there until the segment is rebuilt.
func (g *group) pass() {
	if g.misc>>passedShift != maxPassed {
		g.misc += 1 << passedShift
	}
}

func (g *group) unpass() {
	if g.misc>>passedShift != maxPassed {
		g.misc -= 1 << passedShift
	}
}

const (
	recordMiscBits = 6
	recordMiscMask = 1<<recordMiscBits - 1
	displacedShift = slotsPerGroup * recordMiscBits
	passedShift    = displacedShift + slotsPerGroup
	maxPassed      = 1<<(64-passedShift) - 1
)

type groupBlock [groupsPerBlock]group

// at returns the block's i-th group, which the caller knows to be below groupsPerBlock. Go's own indexing reads the
// block's first byte to see that the block is not nil: a cache line that nothing else needs, and so one more miss.
func (b *groupBlock) at(i int) *group {
	return (*group)(unsafe.Add(unsafe.Pointer(b), uintptr(i)*unsafe.Sizeof(group{})))
}

const (
	tagFree = 0x00
	tagFull = 0x80

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

func (g *group) full() slotSet { return slotSet(g.tags & highBits) }
func (g *group) free() slotSet { return slotSet(^g.tags & highBits) }

// dead returns the slots whose entry is dead at now.
func (g *group) dead(now int64) slotSet { return g.full() & g.expired(now) }

// vacant returns the slots that a new entry may have: those that are free or whose entry is dead at now.
func (g *group) vacant(now int64) slotSet { return g.free() | g.expired(now) }

// expired returns the slots whose value is at most now, be they free or not. Values and now must not be negative.
//
// It has no branch: which entries are dead can't be guessed, and one wrong guess costs as much as all eight differences,
// whose signs say it.
func (g *group) expired(now int64) slotSet {
	v, next := &g.values, now+1
	dead := uint64(v[0]-next)&signBit>>56 | uint64(v[1]-next)&signBit>>48 |
		uint64(v[2]-next)&signBit>>40 | uint64(v[3]-next)&signBit>>32 |
		uint64(v[4]-next)&signBit>>24 | uint64(v[5]-next)&signBit>>16 |
		uint64(v[6]-next)&signBit>>8 | uint64(v[7]-next)&signBit
	return slotSet(dead)
}

const signBit = 1 << 63

func (g *group) setTag(slot int, tag uint64) {
	shift := slot * 8
	g.tags = g.tags&^(0xff<<shift) | tag<<shift
}
