package persistence

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/cellserver/cellserver/resp"
)

// checksummedFrom is the first RDB version that ends with a checksum.
const checksummedFrom = 5

// ErrDamage is what damage to a file can be recognized by, as opposed to trouble with the disk: reading it again won't help.
var ErrDamage = errors.New("damaged")

// errStrict is what a strict load ends with. What wraps it says before it what the file holds.
var errStrict = errors.New("strict-load refuses them")

// errStrictCalls is the same for calls.
var errStrictCalls = fmt.Errorf("it holds CL.THROTTLE commands of which nothing tells when they were made, and %w", errStrict)

// A databasesError ends the load of a file with a database that there is not. Its words are Redis's, which stops then too. (In a
// log Redis takes the commands there for those of the database before.)
type databasesError struct{ databases int }

func (e *databasesError) Error() string {
	return fmt.Sprintf("Data file was created with a Redis server configured to handle more than %d databases", e.databases)
}

// isRefusal says whether an error is about what a sound file holds, in contrast to damage.
func isRefusal(err error) bool {
	var more *databasesError
	return errors.Is(err, errStrict) || errors.As(err, &more)
}

// Found counts what a load found.
type Found struct {
	Entries      int64 // given to the caller
	Expired      int64 // left out: their TAT or expiry has passed
	OtherTypes   int64 // left out: values that are no strings
	OtherStrings int64 // left out: strings that are not TATs, or have another expiry
	LongKeys     int64 // left out: longer than MaxKeyBytes
	Functions    int64 // left out: libraries of functions
	ClockNanos   int64 // the latest time of the store that was recorded, 0: none was

	keys    examples // of what was left out
	created int64    // when an RDB file says that it was written, Unix ns, 0: it does not
}

// leaveOut counts something that is not loaded. Its key becomes an example; a library of functions has none, and the
// key of an RDB file that is too long is not held.
func (f *Found) leaveOut(counter *int64, key []byte, strict bool) error {
	*counter++
	if key != nil {
		f.keys.add(key)
	}
	switch {
	case !strict:
		return nil
	case counter == &f.Functions:
		return fmt.Errorf("it holds libraries of functions, and %w", errStrict)
	case key == nil:
		return fmt.Errorf("it holds keys of more than %d bytes, and %w", MaxKeyBytes, errStrict)
	}
	return fmt.Errorf("it holds keys that are not limiter keys, and %w: %s; cellserver check tells more", errStrict, quoteExample(key))
}

// RDBOptions says how to read an RDB file.
type RDBOptions struct {
	NowNanos  int64 // entries whose TAT is not later are left out
	Databases int   // how many there are
	Strict    bool  // what would be left out, for other reasons than its age, is an error
	AnyClock  bool  // a clock that cannot be is passed over instead of being damage
	// Progress, if given, is called about every inputBytes with the number of bytes read. Its error ends the reading.
	Progress func(bytesRead int64) error
}

// An rdbReader reads one file.
type rdbReader struct {
	in      *rdbInput
	options RDBOptions
	store   func(db int, key []byte, tatNanos int64)
	found   Found
	version int
	valkey  bool

	db           uint64
	beyond       bool  // there was a database that there is not
	expiryMillis int64 // of the next entry
	templates    map[uint64]uint64
	key          []byte
}

// ReadRDB reads an RDB file of Redis up to 8.10 (versions 1 to 15) and of Valkey up to 9.1 (version 80), or of any later one that keeps
// to what those know, and calls store for each entry. The key is good until store returns. It returns what it found and the length of the file, which may be less than
// source holds: the old form of log goes on after it.
//
// Its memory is bounded, whatever the file says. An error that wraps ErrDamage says where it stopped; entries given to store
// before it are then worth nothing, since a wrong checksum shows at the end.
func ReadRDB(source io.Reader, options RDBOptions, store func(db int, key []byte, tatNanos int64)) (Found, int64, error) {
	r := &rdbReader{in: newRDBInput(source), options: options, store: store, expiryMillis: NoExpiry}
	if options.Progress != nil {
		r.in.refilled = options.Progress
	}
	err := r.header()
	for done := false; err == nil && !done; {
		done, err = r.item()
	}
	if err != nil && r.in.trouble == nil && !isRefusal(err) {
		err = fmt.Errorf("%w at offset %d: %w", ErrDamage, r.in.consumed(), err)
	}
	return r.found, r.in.consumed(), err
}

// header reads "REDIS" and four digits, or "VALKEY" and three.
func (r *rdbReader) header() error {
	head, err := r.in.next(len("REDIS0010"))
	if err != nil {
		return err
	}
	digits := string(head[len(rdbMagic):])
	if string(head[:len("VALKEY")]) == "VALKEY" {
		r.valkey = true
		digits = string(head[len("VALKEY"):])
	} else if string(head[:len(rdbMagic)]) != rdbMagic {
		return errors.New("not an RDB file")
	}
	version, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || version == 0 {
		return fmt.Errorf("%q is no RDB version", digits)
	}
	r.version = int(version)
	return nil
}

// item reads an opcode and what belongs to it, or an entry.
func (r *rdbReader) item() (done bool, err error) {
	op, err := r.in.byte()
	if err != nil {
		return false, err
	}
	switch op {
	case opEOF:
		if err := r.end(); err != nil || !r.beyond {
			return true, err
		}
		return true, &databasesError{r.options.Databases}
	case opSelectDB:
		r.db, err = r.in.plainLength()
		r.beyond = r.beyond || r.db >= uint64(r.options.Databases)
	case opResizeDB:
		err = r.in.skipLengths(2)
	case opExpireMillis:
		var millis uint64
		millis, err = r.in.uint64()
		r.expiryMillis = int64(millis)
	case opExpireSeconds:
		var seconds uint32
		seconds, err = r.in.uint32()
		r.expiryMillis = int64(int32(seconds)) * 1000
	case opIdle:
		err = r.in.skipLengths(1)
	case opFrequency:
		err = r.in.skip(1)
	case opAux:
		err = r.aux()
	case opFunction, opFunctionPreGA:
		err = r.function(op)
	case opModuleAux:
		err = r.in.sequence(r.in.lengths(1), r.in.skipModuleFields)
	case opSlotInfo:
		err = r.in.skipLengths(3)
	default:
		err = r.laterItem(op)
	}
	return false, err
}

// laterItem reads what Redis and Valkey have each added in their own way, or an entry.
func (r *rdbReader) laterItem(op byte) error {
	switch {
	case op == opSlotImport && r.valkey:
		return r.in.skipSlotImport()
	case op == opKeyMetadata:
		return r.in.skipKeyMetadata()
	case op == opTemplate && !r.valkey:
		return r.template()
	case op >= opTemplate:
		return unknownKind("opcode", op)
	}
	err := r.entry(op)
	r.expiryMillis = NoExpiry
	return err
}

// end verifies the checksum. Whoever wrote none wrote 0.
func (r *rdbReader) end() error {
	if r.version < checksummedFrom {
		return nil
	}
	computed := r.in.checksum()
	stored, err := r.in.uint64()
	if err == nil && stored != 0 && stored != computed {
		err = fmt.Errorf("the checksum is %016x and should be %016x", stored, computed)
	}
	return err
}

// aux reads what the file says of itself. Of that two things matter, which are clocks.
func (r *rdbReader) aux() error {
	name, _, err := r.in.string(len(auxClock))
	if err != nil {
		return err
	}
	unitNanos := int64(0)
	switch string(name) {
	case auxClock:
		unitNanos = 1
	case auxCreated:
		unitNanos = nanosPerSecond
	default:
		return r.in.skipStrings(1)
	}
	value, _, err := r.in.string(maxTATBytes)
	if err != nil {
		return err
	}
	clock, isNumber := resp.ParseRedisInt(value)
	if !isNumber && unitNanos > 1 {
		return nil // Redis does not look at it
	}
	if !isNumber {
		return errors.New("the clock is no number")
	}
	nanos, err := clockNanos(clock, unitNanos)
	if err != nil && !r.options.AnyClock {
		return err
	}
	r.found.ClockNanos = max(r.found.ClockNanos, nanos)
	if unitNanos > 1 {
		r.found.created = nanos
	}
	return nil
}

func (r *rdbReader) function(op byte) error {
	if op == opFunctionPreGA {
		if err := r.in.skipStrings(2); err != nil {
			return err
		}
		described, err := r.in.plainLength()
		if err != nil {
			return err
		}
		if err := r.in.skipStrings(min(described, 1)); err != nil {
			return err
		}
	}
	if err := r.in.skipStrings(1); err != nil {
		return err
	}
	return r.leaveOut(&r.found.Functions, nil)
}

func (r *rdbReader) leaveOut(counter *int64, key []byte) error {
	return r.found.leaveOut(counter, key, r.options.Strict)
}

func (r *rdbReader) entry(kind byte) error {
	key, longKey, err := r.in.string(MaxKeyBytes)
	if err != nil {
		return err
	}
	r.key = append(r.key[:0], key...)
	name := r.key
	if longKey {
		name = nil
	}
	if kind != typeString {
		if err := r.skipValue(kind); err != nil {
			return err
		}
		if r.expiryMillis != NoExpiry && expired(r.expiryMillis, r.options.NowNanos) {
			r.found.Expired++
			return nil
		}
		return r.leaveOut(&r.found.OtherTypes, name)
	}
	value, longValue, err := r.in.string(maxTATBytes)
	if err != nil {
		return err
	}
	if longValue {
		value = nil // which is no TAT either
	}
	tatNanos, v := judge(value, r.expiryMillis, r.options.NowNanos)
	switch {
	case r.beyond: // the end will tell: before it this may be damage
	case v == hasExpired:
		r.found.Expired++
	case v == otherKey:
		return r.leaveOut(&r.found.OtherStrings, name)
	case longKey:
		return r.leaveOut(&r.found.LongKeys, name)
	default:
		r.found.Entries++
		r.store(int(r.db), r.key, tatNanos)
	}
	return nil
}
