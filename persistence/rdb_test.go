package persistence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

const (
	second = int64(1e9)
	now    = 1_900_000_000 * second // of the tests: in 2030
	later  = now + 100*second       // a TAT to come
)

// An entry is what a file holds of a key.
type entry struct {
	db  int
	key string
	tat int64
}

// rdbFile builds a file of the version from its parts, which are strings, bytes or byte slices, with a valid checksum.
func rdbFile(version int, parts ...any) []byte {
	file := fmt.Appendf(nil, "REDIS%04d", version)
	for _, part := range parts {
		switch p := part.(type) {
		case string:
			file = append(file, p...)
		case byte:
			file = append(file, p)
		case []byte:
			file = append(file, p...)
		default:
			panic("a part is a string, a byte or bytes")
		}
	}
	file = append(file, opEOF)
	if version < checksummedFrom {
		return file
	}
	return binary.LittleEndian.AppendUint64(file, updateCRC(0, file))
}

// entryOf is an entry of a limiter's key.
func entryOf(key string, tat int64) string { return string(AppendEntry(nil, []byte(key), tat)) }

func readAll(file []byte, options RDBOptions) ([]entry, Found, int64, error) {
	var entries []entry
	if options.Databases == 0 {
		options.Databases = 16
	}
	found, size, err := ReadRDB(bytes.NewReader(file), options, func(db int, key []byte, tatNanos int64) {
		entries = append(entries, entry{db, string(key), tatNanos})
	})
	return entries, found, size, err
}

func TestCRC64(t *testing.T) {
	if got := updateCRC(updateCRC(0, []byte("12345")), []byte("6789")); got != 0xe9c6d914c4b8d9ca {
		t.Errorf("%x", got)
	}
}

func TestExpiryIsTheTATRoundedUp(t *testing.T) {
	for tat, want := range map[int64]int64{0: 0, 1: 1, 1e6: 1, 1e6 + 1: 2, -1: 0, math.MaxInt64: 9223372036855} {
		if got := ExpiryMillis(tat); got != want {
			t.Errorf("ExpiryMillis(%d) = %d, want %d", tat, got, want)
		}
	}
}

// skipped tells how many things were left out that were no expired entries.
func (f *Found) skipped() int64 {
	return f.OtherTypes + f.OtherStrings + f.LongKeys + f.Functions
}

func TestWriterAndReader(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var file bytes.Buffer
	w := NewRDBWriter(&file, RDBHeader{ClockNanos: now, Version: "7.0.15", AOFBase: true})
	var want []entry
	write := func(db int, entries ...entry) {
		var piece []byte
		for _, e := range entries {
			piece = AppendEntry(piece, []byte(e.key), e.tat)
			want = append(want, e)
		}
		if err := w.Write(db, piece); err != nil {
			t.Fatal(err)
		}
	}
	for i, length := range []int{0, 1, 11, 12, 20, 21, 63, 64, 16383, 16384, MaxKeyBytes} {
		key := make([]byte, length)
		for j := range key {
			key[j] = byte(random.Uint32())
		}
		write(i, entry{i, string(key), later + int64(i)})
	}
	for i := range 70_000 {
		write(15, entry{15, fmt.Sprint(i - 35_000), math.MaxInt64 - int64(i)}) // keys in all integer forms
	}
	write(0, entry{0, "-0", later}, entry{0, "007", later}, entry{0, "2147483648", later}, entry{0, "-2147483649", later})
	write(3)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Written() != int64(file.Len()) {
		t.Errorf("Written() = %d of %d", w.Written(), file.Len())
	}
	size := int64(file.Len())
	file.WriteString("what follows")
	got, found, read, err := readAll(file.Bytes(), RDBOptions{NowNanos: now, Strict: true})
	if err != nil || read != size || found.ClockNanos != now || found.Entries != int64(len(want)) || len(got) != len(want) {
		t.Fatalf("%d bytes of %d, %+v, %v", read, size, found, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("entry %d is %.60v, want %.60v", i, got[i], want[i])
		}
	}
}

func TestWriterKeepsItsError(t *testing.T) {
	full := errors.New("no space left")
	w := NewRDBWriter(writerFunc(func([]byte) (int, error) { return 0, full }), RDBHeader{})
	piece := bytes.Repeat(AppendEntry(nil, []byte("key"), later), 10_000)
	for range 2 {
		if err := w.Write(0, piece); err != full {
			t.Error(err)
		}
	}
	if err := w.Close(); err != full {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestReaderPassesOver has each thing that is no TAT between two that are: if its length is taken wrong, the second is not found.
func TestReaderPassesOver(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	longString := string(appendLength(nil, uint64(len(long)))) + long
	expiry := "\xfc" + string(binary.LittleEndian.AppendUint64(nil, uint64(ExpiryMillis(later))))
	id := strings.Repeat("i", 16)
	stream := func(counters, groupCounters string, times int) string {
		return "\x01\x10" + id + "\x03abc" + counters + "\x01\x01g" + groupCounters +
			"\x02" + id + "12345678\x01" + id + "12345678\x40\x80" +
			"\x01\x05alice" + strings.Repeat("12345678", times) + "\x02" + id + id
	}
	counters, groupCounters := strings.Repeat("\x40\x80", 8), "\x01\x01\x01"
	producers := "\x40\x64\x40\x64" + "\x02\x02p1\x02\x04iid1\x81\x00\x00\x01\x90\x00\x00\x00\x00\x00\xc0\x07\x01\x00" + "\x02p2\x00" + "\x02\x01"
	cases := []struct {
		name, item string
		counter    func(*Found) int64
	}{
		{"idle", "\xf8\x80\x00\x01\x00\x00", nil},
		{"frequency", "\xf9\x05", nil},
		{"aux", "\xfa\x0bcellserver-\xc0\x05", nil},
		{"long aux", "\xfa" + longString + longString, nil},
		{"resizedb", "\xfb\x01\x40\x80", nil},
		{"slot info", "\xf4\x01\x02\x03", nil},
		{"expiry in seconds", "\xfd\xff\xff\xff\x7f", nil},
		{"module aux", "\xf7\x81ABCDEFGH\x02\x02\x05\x03abc\x03abcd\x04abcdefgh\x01\x40\x80\x00", nil},
		{"function", "\xf5" + longString, functions},
		{"function of old", "\xf6\x01f\x03LUA\x01\x04text" + longString, functions},
		{"function of old without description", "\xf6\x01f\x03LUA\x00" + longString, functions},

		{"word", "\x00\x01k\x04word", otherStrings},
		{"leading zero", "\x00\x01k\x0201", otherStrings},
		{"long string", "\x00\x01k" + longString, otherStrings},
		{"string compressed to a word", "\x00\x01k\xc3\x09\x1b\x01aa\xe0\x0e\x00\x01aa", otherStrings},
		{"counter", "\x00\x06visits\xc0\x2a", otherStrings},
		{"counter with an expiry", expiry + "\x00\x06visits\xc0\x2a", otherStrings},
		{"TAT without an expiry", "\x00\x01k\x131999999999999999999", otherStrings},
		{"TAT with another expiry", expiry + "\x00\x01k\x131999999999999999999", otherStrings},
		{"long key", expiry + "\x00" + longString + "\x131900000100000000000", func(f *Found) int64 { return f.LongKeys }},
		{"long key compressed", expiry + "\x00\xc3\x04\x80\x00\x04\x00\x00abcd\x131900000100000000000", func(f *Found) int64 { return f.LongKeys }},
		{"list", "\x01\x01k\x02\x01a\xc0\x05", otherTypes},
		{"empty list", "\x01\x01k\x00", otherTypes},
		{"list of long strings", "\x01\x01k\x02" + longString + longString, otherTypes},
		{"list with compressed", "\x01\x01k\x01\xc3\x03\x40\x80abc", otherTypes},
		{"set", "\x02\x01k\x03\xc0\x05\xc1\x05\x05\xc2\x05\x05\x05\x05", otherTypes},
		{"sorted set of old", "\x03\x01k\x04\x01a\x031.5\x01b\xff\x01c\xfe\x01d\xfd", otherTypes},
		{"hash", "\x04\x01k\x01\x01f\x01v", otherTypes},
		{"sorted set", "\x05\x01k\x01\x01a12345678", otherTypes},
		{"module", "\x07\x01k\x81ABCDEFGH\x02\x05\x01\x05\x05\x03abc\x00", otherTypes},
		{"zipmap", "\x09\x01k\x03abc", otherTypes},
		{"list ziplist", "\x0a\x01k\x03abc", otherTypes},
		{"intset", "\x0b\x01k\x03abc", otherTypes},
		{"sorted set ziplist", "\x0c\x01k\x03abc", otherTypes},
		{"hash ziplist", "\x0d\x01k\x03abc", otherTypes},
		{"quicklist", "\x0e\x01k\x02\x03abc\x03abc", otherTypes},
		{"stream", "\x0f\x01k" + stream("\x01\x01\x01", "\x01\x01", 1), otherTypes},
		{"hash listpack", "\x10\x01k\x03abc", otherTypes},
		{"sorted set listpack", "\x11\x01k\x03abc", otherTypes},
		{"quicklist 2", "\x12\x01k\x02\x01\x03abc\x02\x03abc", otherTypes},
		{"stream 2", "\x13\x01k" + stream("\x01\x01\x01\x01\x01\x01\x01\x01", "\x01\x01\x01", 1), otherTypes},
		{"set listpack", "\x14\x01k\x03abc", otherTypes},
		{"stream 3", "\x15\x01k" + stream("\x01\x01\x01\x01\x01\x01\x01\x01", "\x01\x01\x01", 2), otherTypes},
		{"stream 4", "\x1a\x01k" + stream(counters, groupCounters, 2) + producers, otherTypes},
		{"empty stream 4", "\x1a\x01k\x00" + counters + "\x00\x00\x00\x00\x00\x00", otherTypes},
		{"stream 5", "\x1b\x01k" + stream(counters, groupCounters, 2) + "\x02" + id + id + producers, otherTypes},
		{"array", "\x1c\x01k\x04\x00" + "\x00\x00\x08a string" + "\x05\x0112345678" + "\x40\x80\x0212345678" +
			"\x81\x00\x00\x00\x01\x00\x00\x00\x00\x03\x05short", otherTypes},
		{"array with a cursor", "\x1c\x01k\x01\x01\x81\xff\xff\xff\xff\xff\xff\xff\xfe\x07\x03\xc0\x05", otherTypes},
		{"hash of a template", "\xf2\x05\x02\x06field1\x06field2\x1e\x01k\x03abc", otherTypes},
		{"hash of a template as array", "\xf2\x05\x02\x06field1\x06field2\x20\x01k\x05\xc0\x01\x01v", otherTypes},
		{"key metadata", "\xf3\x02\x01\x02\x03\x04\x02\x05\x05\x03abc\x00\x05\x06\x07\x08\x00", nil},
		{"key metadata of another type", "\xf3\x01\x01\x02\x03\x04\x00\x01\x01k\x01\x01a", otherTypes},
		{"hash with field expiry of old", "\x16\x01k\x01\x05\x01f\x01v", otherTypes},
		{"its listpack", "\x17\x01k\x03abc", otherTypes},
		{"hash with field expiry", "\x18\x01k12345678\x01\x05\x01f\x01v", otherTypes},
		{"its listpack with expiry", "\x19\x01k12345678\x03abc", otherTypes},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := rdbFile(12, "\xfe\x02", entryOf("before", 1999999999999999999), c.item, entryOf("after", 1999999999999999998))
			entries, found, size, err := readAll(file, RDBOptions{NowNanos: now})
			want := []entry{{2, "before", 1999999999999999999}, {2, "after", 1999999999999999998}}
			if err != nil || fmt.Sprint(entries) != fmt.Sprint(want) || size != int64(len(file)) {
				t.Fatalf("%v, %d bytes of %d, %v", entries, size, len(file), err)
			}
			counted := int64(0)
			if c.counter != nil {
				counted = 1
				if c.counter(&found) != 1 {
					t.Errorf("%+v", found)
				}
			}
			if found.skipped() != counted || found.Entries != 2 {
				t.Errorf("%+v", found)
			}
			_, _, _, err = readAll(file, RDBOptions{NowNanos: now, Strict: true})
			if errors.Is(err, ErrDamage) || (err != nil) != (c.counter != nil) {
				t.Errorf("strict: %v", err)
			}
		})
	}
}

// TestReaderOfMoreDatabases: a file with a database that there is not is refused in Redis's words, and not for damage.
func TestReaderOfMoreDatabases(t *testing.T) {
	const tat = "\x00\x01k\x131999999999999999999"
	for _, c := range []struct {
		database  string
		databases int
		refused   bool
	}{
		{"\xfe\x0f", 16, false},
		{"\xfe\x10", 16, true},
		{"\xfe\x07", 8, false},
		{"\xfe\x08", 8, true},
		{"\xfe\x81\x80\x00\x00\x00\x00\x00\x00\x00", 16, true}, // 2^63
	} {
		_, _, _, err := readAll(rdbFile(12, c.database, tat), RDBOptions{NowNanos: now, Databases: c.databases})
		want := fmt.Sprintf("Data file was created with a Redis server configured to handle more than %d databases", c.databases)
		if c.refused && (err == nil || err.Error() != want) || !c.refused && err != nil {
			t.Errorf("%q: %v", c.database, err)
		}
	}
}

func otherTypes(f *Found) int64   { return f.OtherTypes }
func otherStrings(f *Found) int64 { return f.OtherStrings }
func functions(f *Found) int64    { return f.Functions }

// TestReaderTellsLimiterKeys: what is alive, what has expired, and what belongs to somebody else.
func TestReaderTellsLimiterKeys(t *testing.T) {
	millis := func(n int64) string {
		return "\xfc" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	tat := func(n int64) string { return "\x00\x01k" + string(appendTAT(nil, n)) }
	const nowMillis, laterMillis = now / 1e6, later / 1e6
	const in2038 = 1<<31 - 1 // the last second of 32 bits
	for _, c := range []struct {
		item    string
		entries int
		expired int64
		left    int64
	}{
		{entryOf("k", now+1), 1, 0, 0},
		{entryOf("k", math.MaxInt64), 1, 0, 0},
		{millis(laterMillis) + tat(later), 1, 0, 0},
		{millis(laterMillis+1000) + tat(later), 1, 0, 0},
		{millis(laterMillis-1000) + tat(later), 1, 0, 0},
		{"\xfd\xff\xff\xff\x7f" + tat(in2038*second), 1, 0, 0},
		{"\xfd\xff\xff\xff\x7f" + tat(in2038*second+second), 1, 0, 0},

		{entryOf("k", now), 0, 1, 0},
		{millis(nowMillis) + tat(now+1), 1, 0, 0},
		{millis(nowMillis-1) + tat(now+1), 0, 1, 0},
		{millis(nowMillis-1) + tat(later), 0, 1, 0},
		{millis(-1) + tat(later), 0, 1, 0},
		{millis(nowMillis-1) + tat(42), 0, 1, 0},
		{millis(1) + "\x00\x01k\x04word", 0, 1, 0},
		{"\xfd\x00\x00\x00\x01" + tat(later), 0, 1, 0},
		{millis(1) + "\x01\x01k\x01\x01a", 0, 1, 0},
		{millis(1) + "\x01\x01k\x00" + tat(later), 0, 1, 1}, // the expiry was the list's

		{tat(later), 0, 0, 1},
		{tat(-5), 0, 0, 1},
		{tat(now), 0, 0, 1},
		{tat(math.MaxInt64), 0, 0, 1},
		{millis(laterMillis+1001) + tat(later), 0, 0, 1},
		{millis(laterMillis-1001) + tat(later), 0, 0, 1},
		{millis(math.MaxInt64) + tat(later), 0, 0, 1},
		{millis(laterMillis) + tat(42), 0, 0, 1},
		{millis(laterMillis) + tat(later/1000), 0, 0, 1}, // microseconds
		{"\xfd\xff\xff\xff\x7f" + tat(in2038*second+second+1), 0, 0, 1},
	} {
		entries, found, _, err := readAll(rdbFile(11, c.item), RDBOptions{NowNanos: now})
		if err != nil || len(entries) != c.entries || found.Expired != c.expired || found.skipped() != c.left {
			t.Errorf("%q: %v, %+v, %v", c.item, entries, found, err)
		}
	}
}

func TestReaderReadsVersions(t *testing.T) {
	for _, version := range []int{1, 4, 5, 9, 10, 11, 12, 13, 14, 15, 9999} {
		entries, _, _, err := readAll(rdbFile(version, entryOf("k", later)), RDBOptions{NowNanos: now})
		if err != nil || len(entries) != 1 {
			t.Errorf("version %d: %v, %v", version, entries, err)
		}
	}
}

// valkeyFile is rdbFile for Valkey 9.
func valkeyFile(parts string) []byte {
	file := []byte("VALKEY080" + parts + "\xff")
	return binary.LittleEndian.AppendUint64(file, updateCRC(0, file))
}

// TestReaderReadsValkey: some numbers mean other things there than in Redis.
func TestReaderReadsValkey(t *testing.T) {
	before, after := entryOf("before", later), entryOf("after", later)
	name := strings.Repeat("n", 40)
	for item, skipped := range map[string]int64{
		"\xf3\x28" + name + "\x02\x00\x40\x80\x42\x00\x42\x01": 0, // slot import
		"\xf3\xc3\x05\x28\x00n\xe0\x1e\x00\x00":                0,
		"\xf4\x01\x02\x03":                                     0,
		"\x16\x01h\x02\x01f\x01v12345678\x01g\xc0\x0512345678": 1,
		"\x15\x01k\x00\x01\x01\x01\x01\x01\x01\x01\x01\x00":    1,
	} {
		entries, found, _, err := readAll(valkeyFile(before+item+after), RDBOptions{NowNanos: now})
		if err != nil || len(entries) != 2 || found.skipped() != skipped {
			t.Errorf("%q: %v, %+v, %v", item, entries, found, err)
		}
	}
	for _, item := range []string{"\x17\x01k\x03abc", "\x1a\x01k\x00", "\xf2\x05\x01\x01f"} { // Redis's
		if _, _, _, err := readAll(valkeyFile(before+item+after), RDBOptions{}); !errors.Is(err, errUnknownKind) {
			t.Errorf("%q: %v", item, err)
		}
	}
}

// TestLaterKindsCutAnywhere: none of them is taken for whole, and none panics.
func TestLaterKindsCutAnywhere(t *testing.T) {
	id := strings.Repeat("i", 16)
	counters := strings.Repeat("\x40\x80", 8)
	group := "\x01\x01g\x01\x01\x01\x01" + id + "12345678\x01\x01\x05alice1234567812345678\x01" + id
	producers := "\x40\x64\x40\x64\x01\x02p1\x01\x04iid1\x40\x80\x01\x02\x01"
	kinds := map[string][]byte{
		"stream 4":      rdbFile(13, "\x1a\x01k\x01\x10"+id+"\x03abc"+counters+group+producers),
		"stream 5":      rdbFile(14, "\x1b\x01k\x01\x10"+id+"\x03abc"+counters+group+"\x01"+id+producers),
		"array":         rdbFile(14, "\x1c\x01k\x03\x01\x40\x80\x00\x00\x08a string\x05\x0112345678\x06\x0212345678"),
		"template":      rdbFile(15, "\xf2\x05\x02\x06field1\x06field2\x1e\x01k\x03abc\x20\x01k\x05\xc0\x01\x01v"),
		"key metadata":  rdbFile(13, "\xf3\x01\x01\x02\x03\x04\x02\x05\x05\x03abc\x04abcdefgh\x00\x00\x01k\x131999999999999999999"),
		"Valkey's hash": valkeyFile("\x16\x01h\x01\x01f\x01v12345678"),
		"slot import":   valkeyFile("\xf3\x28" + strings.Repeat("n", 40) + "\x01\x00\x42\x00"),
	}
	for name, file := range kinds {
		if _, _, _, err := readAll(file, RDBOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for size := range file {
			if _, _, _, err := readAll(file[:size], RDBOptions{}); !errors.Is(err, ErrDamage) || errors.Is(err, errUnknownKind) {
				t.Errorf("%s cut to %d bytes of %d: %v", name, size, len(file), err)
			}
		}
	}
}

func TestTemplatesAreBounded(t *testing.T) {
	var items []byte
	for id := range uint64(maxTemplates + 1) {
		items = append(appendLength(append(items, opTemplate), id), 0)
		if id == maxTemplates-1 {
			if _, _, _, err := readAll(rdbFile(15, items), RDBOptions{}); err != nil {
				t.Error("at the limit:", err)
			}
		}
	}
	if _, _, _, err := readAll(rdbFile(15, items), RDBOptions{}); !errors.Is(err, ErrDamage) {
		t.Error("beyond the limit:", err)
	}
}

func TestReaderRefusesDamage(t *testing.T) {
	sound := rdbFile(10, "\xfe\x00\x00\x01k\x131999999999999999999\x00\xc3\x09\x1b\x01aa\xe0\x0e\x00\x01aa\xc0\x05")
	if _, _, _, err := readAll(sound, RDBOptions{}); err != nil {
		t.Fatal(err)
	}
	for size := range sound {
		if _, _, _, err := readAll(sound[:size], RDBOptions{}); !errors.Is(err, ErrDamage) {
			t.Errorf("cut to %d bytes: %v", size, err)
		}
	}
	for i := range sound {
		for bit := range 8 {
			damaged := bytes.Clone(sound)
			damaged[i] ^= 1 << bit
			_, _, _, err := readAll(damaged, RDBOptions{})
			if !errors.Is(err, ErrDamage) && i >= len("REDIS0010") {
				t.Errorf("bit %d of byte %d turned: %v", bit, i, err)
			}
		}
	}
	unchecked := append(bytes.Clone(sound[:len(sound)-8]), 0, 0, 0, 0, 0, 0, 0, 0)
	if _, _, _, err := readAll(unchecked, RDBOptions{}); err != nil {
		t.Errorf("without checksum: %v", err)
	}
	for _, item := range []string{
		"\x06\x01k\x01", "\x1d\x01k\x01", "\x21\x01k\x01", "\xf1\x01", "\xf3\x01", "\x08\x01k\x01", // types of no known length
		"\x07\x01k\x01\x06", "\x07\x01k\x01\xc0\x01", "\xf3\x01abcd\x06", // module fields
		"\x1c\x01k\x01\x02\x00\x00\x01a", "\x1c\x01k\x01\x00\x00\x04\x01a", // arrays
		"\x20\x01k\x05\x01a",                   // a template that was not told
		"\x00\x82", "\x00\xc4", "\xfe\xc0\x01", // lengths
		"\x00\xc3\x7f\xff\x05" + strings.Repeat("a", 70_000), "\x00\xc3\x02\x05\x20\x00",
		"\x01\x01k\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01a", "\x00\x81\xff\xff\xff\xff\xff\xff\xff\xffk",
		"\xfa\x10cellserver-clock\x01x",
	} {
		if _, _, _, err := readAll(rdbFile(10, item), RDBOptions{}); !errors.Is(err, ErrDamage) {
			t.Errorf("%.40q: %v", item, err)
		}
	}
	for _, head := range []string{"REDIS0000", "REDIS00x0", "REDIS-001", "RADIS0010", "VALKEY000"} {
		if _, _, _, err := readAll([]byte(head+"\xff12345678"), RDBOptions{}); !errors.Is(err, ErrDamage) {
			t.Errorf("%q: %v", head, err)
		}
	}
}

func TestReaderTellsTroubleFromDamage(t *testing.T) {
	trouble := errors.New("input/output error")
	source := io.MultiReader(strings.NewReader("REDIS0010\xfe"), iotest.ErrReader(trouble))
	if _, _, err := ReadRDB(source, RDBOptions{}, nil); !errors.Is(err, trouble) || errors.Is(err, ErrDamage) {
		t.Error(err)
	}
}

// TestReaderMemoryIsBounded reads a value of 64 MiB, and lengths that are lies.
func TestReaderMemoryIsBounded(t *testing.T) {
	const size = 64 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	head := string(rdbFile(4, "\x00\x01k", appendLength(nil, size)))
	source := io.MultiReader(strings.NewReader(head[:len(head)-1]), io.LimitReader(zeros{}, size), strings.NewReader("\xff"))
	if _, read, err := ReadRDB(source, RDBOptions{}, nil); err != nil || read != int64(len(head))+size {
		t.Error(read, err)
	}
	for _, lie := range []string{"\x00\x80\xff\xff\xff\xff", "\x00\x01k\xc3\x80\xff\xff\xff\xff\x80\xff\xff\xff\xff", "\x01\x01k\x80\xff\xff\xff\xff"} {
		if _, _, _, err := readAll([]byte("REDIS0010"+lie), RDBOptions{}); !errors.Is(err, ErrDamage) {
			t.Error(err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16*inputBytes {
		t.Errorf("%d bytes allocated", grown)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestLZF(t *testing.T) {
	for _, c := range []struct {
		compressed string
		want       string
	}{
		{"\x02abc", "abc"},
		{"\x00a\x20\x00", "aaaa"},
		{"\x02abc\x80\x02", "abcabcabc"},
		{"\x00a\xe0\x10\x00", strings.Repeat("a", 1+9+16)},
	} {
		got, err := appendLZF([]byte("before "), []byte(c.compressed), len(c.want))
		if err != nil || string(got) != "before "+c.want {
			t.Errorf("%q: %q, %v", c.compressed, got, err)
		}
		for size := range 40 {
			if size == len(c.want) {
				continue
			}
			if _, err := appendLZF(nil, []byte(c.compressed), size); err == nil {
				t.Errorf("%q passes for %d bytes", c.compressed, size)
			}
		}
	}
	for _, damaged := range []string{"\x05abc", "\x00a\x20", "\x00a\xe0", "\x00a\xe0\x00", "\x00a\x20\x01", "\x20\x00", "\x00a\x3f\xff"} {
		if _, err := appendLZF([]byte(strings.Repeat("before", 2000)), []byte(damaged), 4); err == nil {
			t.Errorf("%q passes", damaged)
		}
	}
}

func FuzzReadRDB(f *testing.F) {
	f.Add(rdbFile(10, "\xfe\x02\x00\x01k\x131999999999999999999\x0f\x01k\x01\x01a\x01b\x01\x01\x01\x00\xf7\x01\x02\x02\x00"))
	f.Add(rdbFile(12, "\x00\xc3\x09\x1b\x01aa\xe0\x0e\x00\x01aa\xc0\x05\x18\x01k12345678\x01\x05\x01f\x01v"))
	f.Fuzz(func(t *testing.T, file []byte) {
		entries, found, size, err := readAll(file, RDBOptions{})
		if int64(len(entries)) != found.Entries || size > int64(len(file)) || err == nil && size < 10 {
			t.Errorf("%d entries, %+v, %d bytes, %v", len(entries), found, size, err)
		}
		for _, e := range entries {
			if e.db < 0 || e.db >= 16 || len(e.key) > MaxKeyBytes || e.tat <= 0 {
				t.Errorf("entry %v", e)
			}
		}
	})
}
