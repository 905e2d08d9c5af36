package persistence

import "fmt"

// Types of values, by what they are made of. Redis 7.4 and 8 write the last four for hashes whose fields expire; Valkey 9 has
// a form of its own under the number of the first of them.
const (
	typeList             = 1
	typeSet              = 2
	typeSortedSetText    = 3 // scores are text
	typeHash             = 4
	typeSortedSet        = 5
	typeModulePreGA      = 6
	typeModule           = 7
	typeZipmap           = 9
	typeListZiplist      = 10
	typeIntset           = 11
	typeSortedSetZiplist = 12
	typeHashZiplist      = 13
	typeQuicklist        = 14
	typeStream           = 15
	typeHashListpack     = 16
	typeSortedSetPack    = 17
	typeQuicklist2       = 18
	typeStream2          = 19
	typeSetListpack      = 20
	typeStream3          = 21
	typeHashFieldTTLOld  = 22
	typeListpackTTLOld   = 23
	typeHashFieldTTL     = 24
	typeListpackTTL      = 25
)

// Fields of a module's value.
const (
	moduleEnd    = 0
	moduleInt    = 1
	moduleUint   = 2
	moduleFloat  = 3
	moduleDouble = 4
	moduleString = 5
)

const (
	millisTimeBytes = 8
	doubleBytes     = 8
	floatBytes      = 4
	streamIDBytes   = 16 // where it is not two lengths
	minSpecialScore = 253
)

// skipValue passes over a value of any type but a string. A type it does not know ends the loading: how long such a value is
// cannot be told.
func (in *rdbInput) skipValue(kind byte, valkey bool) error {
	switch kind {
	case typeZipmap, typeListZiplist, typeIntset, typeSortedSetZiplist, typeHashZiplist, typeHashListpack, typeSortedSetPack,
		typeSetListpack, typeListpackTTLOld:
		return in.skipStrings(1)
	case typeListpackTTL:
		return in.sequence(in.bytes(millisTimeBytes), in.strings(1))
	case typeList, typeSet, typeQuicklist:
		return in.repeat(in.strings(1))
	case typeHash:
		return in.repeat(in.strings(2))
	case typeSortedSetText:
		return in.repeat(in.strings(1), in.skipTextScore)
	case typeSortedSet:
		return in.repeat(in.strings(1), in.bytes(doubleBytes))
	case typeQuicklist2:
		return in.repeat(in.lengths(1), in.strings(1))
	case typeHashFieldTTLOld:
		if valkey {
			return in.repeat(in.strings(2), in.bytes(millisTimeBytes))
		}
		return in.repeat(in.lengths(1), in.strings(2))
	case typeHashFieldTTL:
		return in.sequence(in.bytes(millisTimeBytes), func() error { return in.repeat(in.lengths(1), in.strings(2)) })
	case typeModule:
		return in.sequence(in.lengths(1), in.skipModuleFields)
	case typeStream, typeStream2, typeStream3:
		return in.skipStream(kind)
	case typeModulePreGA:
		return fmt.Errorf("a module's value in the form of Redis 4.0's release candidates, which only that module can read")
	}
	return fmt.Errorf("value of unknown type %d", kind)
}

// sequence calls the steps until one fails.
func (in *rdbInput) sequence(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// repeat reads a number and does the steps so many times.
func (in *rdbInput) repeat(steps ...func() error) error {
	count, err := in.plainLength()
	for ; err == nil && count > 0; count-- {
		err = in.sequence(steps...)
	}
	return err
}

func (in *rdbInput) strings(count uint64) func() error {
	return func() error { return in.skipStrings(count) }
}

func (in *rdbInput) lengths(count int) func() error {
	return func() error { return in.skipLengths(count) }
}

func (in *rdbInput) bytes(count uint64) func() error {
	return func() error { return in.skip(count) }
}

// skipTextScore passes over a score of old: a length and so many bytes, or one of three lengths for what is no number.
func (in *rdbInput) skipTextScore() error {
	n, err := in.byte()
	if err != nil || n >= minSpecialScore {
		return err
	}
	return in.skip(uint64(n))
}

// skipModuleFields passes over what a module saved: fields that each tell their kind, up to an end.
func (in *rdbInput) skipModuleFields() error {
	for {
		kind, err := in.plainLength()
		if err != nil {
			return err
		}
		switch kind {
		case moduleEnd:
			return nil
		case moduleInt, moduleUint:
			err = in.skipLengths(1)
		case moduleFloat:
			err = in.skip(floatBytes)
		case moduleDouble:
			err = in.skip(doubleBytes)
		case moduleString:
			err = in.skipStrings(1)
		default:
			err = fmt.Errorf("unknown kind %d of field in a module's value", kind)
		}
		if err != nil {
			return err
		}
	}
}

// skipStream passes over a stream: its nodes, its counters, and its groups with their pending entries and consumers.
func (in *rdbInput) skipStream(kind byte) error {
	counters, groupCounters, consumerTimes := 3, 2, uint64(1)
	if kind >= typeStream2 {
		counters, groupCounters = 3+5, 2+1
	}
	if kind >= typeStream3 {
		consumerTimes = 2
	}
	consumer := func() error {
		return in.sequence(in.strings(1), in.bytes(consumerTimes*millisTimeBytes), func() error {
			return in.repeat(in.bytes(streamIDBytes))
		})
	}
	group := func() error {
		return in.sequence(in.strings(1), in.lengths(groupCounters), func() error {
			return in.repeat(in.bytes(streamIDBytes+millisTimeBytes), in.lengths(1))
		}, func() error {
			return in.repeat(consumer)
		})
	}
	return in.sequence(func() error { return in.repeat(in.strings(2)) }, in.lengths(counters), func() error {
		return in.repeat(group)
	})
}
