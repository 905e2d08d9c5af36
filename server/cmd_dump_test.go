package server

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/internal/realredis"
	"github.com/cellserver/cellserver/persistence"
)

// TestDumpAndRestore moves a key to another name and database, over shards, and refuses what Redis refuses.
func TestDumpAndRestore(t *testing.T) {
	const hour = int64(time.Hour / time.Millisecond)
	tatNanos := time.Now().Add(time.Hour).UnixNano()
	tat, ttl, at := strconv.FormatInt(tatNanos, 10), strconv.FormatInt(hour, 10), strconv.FormatInt(tatNanos/nanosPerMilli, 10)
	other := string(persistence.AppendPayload(nil, 42))
	list, err := strconv.Unquote(`"\x12\x01\x02\n\n\x00\x00\x00\x01\x00\x81a\x02\xff\n\x00\t\xb9\xed\xf5\x94\xde\xd9\x95"`) // what Redis returns for RPUSH l a
	if err != nil {
		t.Fatal(err)
	}
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		c.run("SET a " + tat)
		payload, err := strconv.Unquote(c.run("DUMP a"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "\x00" + string(rune(len(tat))) + tat + "\x0a\x00"; !strings.HasPrefix(payload, want) || len(payload) != len(want)+8 {
			t.Errorf("DUMP is %q, want %q and a checksum", payload, want)
		}
		damaged := payload[:len(payload)-1] + string([]byte{^payload[len(payload)-1]})
		for _, step := range []struct {
			words []string
			want  string
		}{
			{[]string{"DUMP", "none"}, "nil"},
			{[]string{"RESTORE", "b", ttl, other}, "-ERR the value is not a TAT: a limiter key holds *"},
			{[]string{"RESTORE", "b", "0", other}, "-ERR the value is not a TAT: a limiter key holds *"},
			{[]string{"RESTORE", "b", ttl, list}, "-ERR the value is not a TAT: a limiter key holds *"},
			{[]string{"RESTORE", "b", "0", payload}, "-ERR the value is not a TAT: a limiter key has an expiry, *"},
			{[]string{"RESTORE", "b", "0", payload, "ABSTTL"}, "-ERR the value is not a TAT: a limiter key has an expiry, *"},
			{[]string{"RESTORE", "b", "5000", payload}, "-ERR the value is not a TAT: a limiter key expires when *"},
			{[]string{"RESTORE", "b", "9223372036854775807", payload}, "-ERR the value is not a TAT: a limiter key expires when *"},
			{[]string{"RESTORE", "b", at + "000", payload, "ABSTTL"}, "-ERR the value is not a TAT: a limiter key expires when *"},
			{[]string{"EXISTS", "b"}, "0"},
			{[]string{"RESTORE", "b", ttl, payload}, "OK"},
			{[]string{"GET", "b"}, fmt.Sprintf("%q", tat)},
			{[]string{"RESTORE", "b", "5", other, "REPLACE", "ABSTTL"}, "OK"}, // has expired, whatever it is
			{[]string{"EXISTS", "b"}, "0"},
			{[]string{"RESTORE", "b", "5", list, "ABSTTL"}, "OK"},
			{[]string{"RESTORE", "a", "0", payload}, "-BUSYKEY Target key name already exists."},
			{[]string{"RESTORE", "b", "0", damaged}, "-ERR DUMP payload version or checksum are wrong"},
			{[]string{"RESTORE", "b", "-1", payload}, "-ERR Invalid TTL value, must be >= 0"},
			{[]string{"RESTORE", "b", "x", payload}, "-ERR value is not an integer or out of range"},
			{[]string{"RESTORE", "b", "0", payload, "IDLETIME", "-1"}, "-ERR Invalid IDLETIME value, must be >= 0"},
			{[]string{"RESTORE", "b", "0", payload, "FREQ", "256"}, "-ERR Invalid FREQ value, must be >= 0 and <= 255"},
			{[]string{"RESTORE", "b", "0", payload, "FREQ"}, "-ERR syntax error"},
			{[]string{"RESTORE", "b", at, payload, "FREQ", "255", "IDLETIME", "0", "ABSTTL"}, "OK"},
			{[]string{"GET", "b"}, fmt.Sprintf("%q", tat)},
			{[]string{"CL.THROTTLE", "a", "15", "30", "60", "0"}, "*"},
			{[]string{"SET", "a", strconv.FormatInt(time.Now().Add(time.Minute).UnixNano(), 10)}, "OK"},
			{[]string{"RESTORE", "a", ttl, payload, "REPLACE"}, "OK"},
			{[]string{"GET", "a"}, fmt.Sprintf("%q", tat)},
		} {
			if got := c.do(step.words...); !fits(step.want, got) {
				t.Errorf("%q: got %s, want %s", step.words, got, step.want)
			}
		}
	})
}

// TestMigrateFromRedis: MIGRATE moves a limiter's key here and nothing else; what is refused stays where it was.
func TestMigrateFromRedis(t *testing.T) {
	source := realredis.Start(t)
	s := startServer(t, nil)
	port := strconv.Itoa(s.config().Port)
	redis, c := dialTo(t, "tcp", source.Address), dial(t, s)
	tat := time.Now().Add(time.Hour).UnixNano()
	migrate := func(key string) string { return redis.do("MIGRATE", "127.0.0.1", port, key, "0", "5000") }
	redis.do("SET", "limit", fmt.Sprint(tat), "PXAT", fmt.Sprint(tat/nanosPerMilli))
	if got := migrate("limit"); got != "OK" || redis.do("EXISTS", "limit") != "0" || c.do("GET", "limit") != fmt.Sprintf("%q", fmt.Sprint(tat)) {
		t.Error("a limit:", got)
	}
	for _, words := range [][]string{{"visits", "42"}, {"lock", "1", "EX", "60"}, {"stamp", fmt.Sprint(tat)}, {"seen", fmt.Sprint(tat), "EX", "60"}} {
		redis.do(append([]string{"SET"}, words...)...)
		got := migrate(words[0])
		if !strings.Contains(got, "the value is not a TAT: a limiter key ") || redis.do("EXISTS", words[0]) != "1" || c.do("EXISTS", words[0]) != "0" {
			t.Errorf("%q: %s", words, got)
		}
	}
}
