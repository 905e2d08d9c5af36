package persistence

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cellserver/cellserver/internal/realredis"
)

// These tests exchange files with a real Redis (7.0.15 is known to agree).

// run runs a checker that must be content, and returns what it says.
func run(t testing.TB, name string, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(realredis.Tool(t, name), arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// startRedis starts a Redis that works in folder and lives until the test ends or stop is called, which ends it in order.
func startRedis(t testing.TB, folder string, options ...string) (client *redis.Client, stop func()) {
	t.Helper()
	server := realredis.Start(t, append([]string{"--save", "", "--dir", folder}, options...)...)
	client = redis.NewClient(&redis.Options{Addr: server.Address, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	stop = func() {
		client.ShutdownNoSave(context.Background())
		select {
		case <-server.Ended:
		case <-time.After(10 * time.Second):
			t.Error("Redis does not end")
		}
	}
	return client, stop
}

// do sends commands, each a line of words.
func do(t testing.TB, client *redis.Client, commands ...string) {
	t.Helper()
	for _, command := range commands {
		var words []any
		for word := range strings.FieldsSeq(command) {
			words = append(words, word)
		}
		if err := client.Do(context.Background(), words...).Err(); err != nil && err != redis.Nil {
			t.Fatalf("%s: %v", command, err)
		}
	}
}

// sample is a keyspace with keys of many kinds.
func sample() []entry {
	entries := []entry{{0, "", later}, {0, "12", later}, {0, "-70000", later}, {0, "key\r\n\x00\xff", later + 1}, {9, "12", later + 999999}}
	entries = append(entries, entry{15, strings.Repeat("long ", 13_000), later})
	for i := range 300 {
		entries = append(entries, entry{3, fmt.Sprint("key:", i), later + int64(i)*1234567})
	}
	return entries
}

// expectInRedis compares all that Redis holds with the entries.
func expectInRedis(t testing.TB, client *redis.Client, entries []entry) {
	t.Helper()
	ctx := context.Background()
	connection := client.Conn()
	defer connection.Close()
	defer connection.Select(ctx, 0) // it goes back to the pool
	total := int64(0)
	for db := range 16 {
		connection.Select(ctx, db)
		n, err := connection.DBSize(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		total += n
		for _, e := range entries {
			if e.db != db {
				continue
			}
			value, err := connection.Get(ctx, e.key).Int64()
			expiry := connection.Do(ctx, "PEXPIRETIME", e.key).Val()
			if err != nil || value != e.tat || expiry != ExpiryMillis(e.tat) {
				t.Fatalf("db %d %.40q: %d, %v, expires at %v; want %d", db, e.key, value, err, expiry, e.tat)
			}
		}
	}
	if total != int64(len(entries)) {
		t.Errorf("%d keys, want %d", total, len(entries))
	}
}

func writeSnapshot(t testing.TB, path string, entries []entry) {
	t.Helper()
	var file bytes.Buffer
	w := NewRDBWriter(&file, RDBHeader{ClockNanos: now, Version: "7.0.15"})
	for _, e := range entries {
		w.Write(e.db, AppendEntry(nil, []byte(e.key), e.tat))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRedisLoadsOurRDB(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "dump.rdb")
	writeSnapshot(t, path, sample())
	if out := run(t, "redis-check-rdb", path); !strings.Contains(out, "RDB looks OK") || !strings.Contains(out, fmt.Sprint(len(sample()), " keys read")) {
		t.Error(out)
	}
	client, _ := startRedis(t, folder)
	expectInRedis(t, client, sample())
	for _, e := range sample() {
		if e.db != 0 {
			continue
		}
		dumped, err := client.Dump(context.Background(), e.key).Result()
		if err != nil || dumped != string(AppendPayload(nil, e.tat)) {
			t.Errorf("DUMP %q is %q, %v", e.key, dumped, err)
		}
	}
}

// variety is values of all types that Redis 7.0 knows, small and large.
func variety(t testing.TB, client *redis.Client) (keys int64) {
	inDB0 := client.DBSize(context.Background()).Val()
	do(t, client, "SET text word", "SET compressed "+strings.Repeat("abc", 1000), "SETRANGE binary 100000 x",
		"RPUSH list a 1 70000", "SADD intset 1 2 3", "SADD set a b", "ZADD zset 1.5 a -inf b", "HSET hash f v g w",
		"XADD stream * f v", "XADD stream * f w", "XGROUP CREATE stream g 0", "XREADGROUP GROUP g alice COUNT 1 STREAMS stream >",
		"PFADD hll a b c", "SET volatile word EX 300000000", "SET visits 42", "SET lock 1 EX 300000000", fmt.Sprint("SET stamp ", later), fmt.Sprint("SET seen ", later, " EX 300000000"))
	long := strings.Repeat("x", 500)
	for i := range 600 {
		do(t, client, fmt.Sprintf("RPUSH biglist %d%s", i, long), fmt.Sprintf("SADD bigset %d%s", i, long),
			fmt.Sprintf("ZADD bigzset %d.25 %d%s", i, i, long), fmt.Sprintf("HSET bighash %d %s", i, long), fmt.Sprintf("SADD bigintset %d", i),
			fmt.Sprintf("XADD bigstream * n %d text %s", i, long))
	}
	library := "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
	if err := client.FunctionLoad(context.Background(), library).Err(); err != nil {
		t.Fatal(err)
	}
	return client.DBSize(context.Background()).Val() - inDB0
}

func TestWeLoadRedisRDB(t *testing.T) {
	for _, options := range [][]string{nil, {"--rdbchecksum", "no"}, {"--rdbcompression", "no"}, {"--maxmemory-policy", "allkeys-lfu"},
		{"--maxmemory-policy", "allkeys-lru"}} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			folder := t.TempDir()
			client, stop := startRedis(t, folder, options...)
			ctx := context.Background()
			connection := client.Conn()
			for _, e := range sample() {
				connection.Select(ctx, e.db)
				if err := connection.Do(ctx, "SET", e.key, e.tat, "PXAT", ExpiryMillis(e.tat)).Err(); err != nil {
					t.Fatal(err)
				}
			}
			connection.Select(ctx, 0)
			connection.Close()
			others := variety(t, client)
			do(t, client, "SAVE")
			stop()
			file, err := os.ReadFile(filepath.Join(folder, "dump.rdb"))
			if err != nil {
				t.Fatal(err)
			}
			got, found, size, err := readAll(file, RDBOptions{NowNanos: now})
			if err != nil || size != int64(len(file)) {
				t.Fatalf("%d bytes of %d, %v", size, len(file), err)
			}
			want := map[entry]bool{}
			for _, e := range sample() {
				want[e] = true
			}
			for _, e := range got {
				if !want[e] {
					t.Errorf("entry %.60v", e)
				}
			}
			if len(got) != len(want) || found.OtherTypes+found.OtherStrings != others || found.Functions != 1 {
				t.Errorf("%d entries of %d, %d others: %+v", len(got), len(want), others, found)
			}
		})
	}
}
