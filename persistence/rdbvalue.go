package persistence

import (
	"errors"
	"fmt"
)

// errUnknownKind is what a file holds that a later server has written: how long it is cannot be told, so that it can't be passed over.
var errUnknownKind = errors.New("which this version cannot read")

// Types of values, by what they are made of. From 22 on they are Redis's; Valkey 9 has a form of its own under 22, and those beyond
// it mean other things there.
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
	typeStream4          = 26 // idempotent producers, Redis 8.6
	typeStream5          = 27 // entries that were given back, Redis 8.8
	typeArray            = 28 // Redis 8.8
	typeTemplatePack     = 30 // a hash whose fields are those of a template, Redis 8.10
	typeTemplateArray    = 32
)

// Elements of an array.
const (
	arrayString      = 0
	arrayInt         = 1
	arrayFloat       = 2
	arrayShortString = 3
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
	metadataClass   = 4 // bytes that say which module's a key's metadata is
	// maxTemplates bounds the memory that the templates of hashes take. Redis writes one for each set of fields.
	maxTemplates = 1 << 20
)

// skipValue passes over a value of any type but a string.
func (r *rdbReader) skipValue(kind byte) error {
	if !r.valkey {
		switch kind {
		case typeTemplatePack:
			return r.in.skipStrings(1)
		case typeTemplateArray:
			return r.skipTemplateArray()
		}
		return r.in.skipValue(kind)
	}
	switch {
	case kind < typeHashFieldTTLOld:
		return r.in.skipValue(kind)
	case kind == typeHashFieldTTLOld:
		return r.in.repeat(r.in.strings(2), r.in.bytes(millisTimeBytes))
	}
	return unknownKind("a value of type", kind)
}

func unknownKind(what string, kind byte) error {
	return fmt.Errorf("%s %d, %w", what, kind, errUnknownKind)
}

// template takes note of how many fields a template has.
func (r *rdbReader) template() error {
	id, err := r.in.plainLength()
	if err != nil {
		return err
	}
	fields, err := r.in.plainLength()
	if err != nil {
		return err
	}
	if r.templates == nil {
		r.templates = map[uint64]uint64{}
	}
	if r.templates[id] = fields; len(r.templates) > maxTemplates {
		return fmt.Errorf("more than %d templates of hashes, %w", maxTemplates, errUnknownKind)
	}
	return r.in.skipStrings(fields)
}

// skipTemplateArray passes over as many values as the template has fields.
func (r *rdbReader) skipTemplateArray() error {
	id, err := r.in.plainLength()
	if err != nil {
		return err
	}
	fields, known := r.templates[id]
	if !known {
		return errors.New("a hash of a template that is not in the file")
	}
	return r.in.skipStrings(fields)
}

// skipKeyMetadata passes over what modules have attached to the key that follows.
func (in *rdbInput) skipKeyMetadata() error {
	return in.repeat(in.bytes(metadataClass), in.skipModuleFields)
}

// skipSlotImport passes over a Valkey's note that it was taking slots over from another.
func (in *rdbInput) skipSlotImport() error {
	return in.sequence(in.strings(1), func() error { return in.repeat(in.lengths(2)) })
}

// skipValue passes over a value of Redis's types.
func (in *rdbInput) skipValue(kind byte) error {
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
		return in.repeat(in.lengths(1), in.strings(2))
	case typeHashFieldTTL:
		return in.sequence(in.bytes(millisTimeBytes), func() error { return in.repeat(in.lengths(1), in.strings(2)) })
	case typeModule:
		return in.sequence(in.lengths(1), in.skipModuleFields)
	case typeStream, typeStream2, typeStream3, typeStream4, typeStream5:
		return in.skipStream(kind)
	case typeArray:
		return in.skipArray()
	case typeModulePreGA:
		return errors.New("a module's value in the form of Redis 4.0's release candidates, which only that module can read")
	}
	return unknownKind("a value of type", kind)
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

// skipArray passes over a sparse array: how many elements it has, where the next one would go if that is known, and each element with
// its index.
func (in *rdbInput) skipArray() error {
	count, err := in.plainLength()
	if err != nil {
		return err
	}
	cursors, err := in.plainLength()
	if err == nil && cursors > 1 {
		err = errors.New("an array with more than one cursor")
	}
	if err == nil {
		err = in.skipLengths(int(cursors))
	}
	for ; err == nil && count > 0; count-- {
		err = in.skipArrayElement()
	}
	return err
}

func (in *rdbInput) skipArrayElement() error {
	if err := in.skipLengths(1); err != nil {
		return err
	}
	kind, err := in.plainLength()
	if err != nil {
		return err
	}
	switch kind {
	case arrayString, arrayShortString:
		return in.skipStrings(1)
	case arrayInt, arrayFloat:
		return in.skip(doubleBytes)
	}
	return fmt.Errorf("unknown kind %d of element in an array", kind)
}

// skipStream passes over a stream: its nodes, its counters, its groups with their pending entries and consumers, and what its producers
// have sent.
func (in *rdbInput) skipStream(kind byte) error {
	counters, groupCounters := 3, 2
	if kind >= typeStream2 {
		counters, groupCounters = 3+5, 2+1
	}
	err := in.sequence(
		func() error { return in.repeat(in.strings(2)) },
		in.lengths(counters),
		func() error {
			return in.repeat(func() error { return in.skipStreamGroup(kind, groupCounters) })
		})
	if err != nil || kind < typeStream4 {
		return err
	}
	return in.sequence(in.lengths(2), func() error { return in.repeat(in.skipStreamProducer) }, in.lengths(2))
}

func (in *rdbInput) skipStreamGroup(kind byte, counters int) error {
	consumerTimes := uint64(1)
	if kind >= typeStream3 {
		consumerTimes = 2
	}
	ids := func() error { return in.repeat(in.bytes(streamIDBytes)) }
	err := in.sequence(
		in.strings(1), in.lengths(counters),
		func() error { return in.repeat(in.bytes(streamIDBytes+millisTimeBytes), in.lengths(1)) },
		func() error { return in.repeat(in.strings(1), in.bytes(consumerTimes*millisTimeBytes), ids) })
	if err == nil && kind >= typeStream5 {
		err = ids()
	}
	return err
}

// skipStreamProducer passes over a producer: its name, and the messages that it is not to send again, each with the entry it became.
func (in *rdbInput) skipStreamProducer() error {
	return in.sequence(in.strings(1), func() error { return in.repeat(in.strings(1), in.lengths(2)) })
}
