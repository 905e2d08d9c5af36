package persistence

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cellserver/cellserver/internal/vfs"
)

// realShop is a server on the operating system's files, with a log in every part of which there is something.
func realShop(t *testing.T, folder string) *shop {
	at := onDisk(vfs.OS{})
	at.Dir = folder
	s := openShop(t, at, Settings{Policy: Always, Timestamps: true})
	for i, e := range sample() {
		s.set(e.db, e.key, e.tat)
		if i == 100 {
			must(t, s.pass())
			must(t, s.rewrite())
		}
	}
	s.set(5, "goes", later)
	s.set(6, "goes", later)
	must(t, s.pass())
	s.del(5, "goes")
	s.flush(6)
	must(t, s.pass())
	must(t, s.log.Close())
	return s
}

func TestRedisLoadsOurLog(t *testing.T) {
	folder := t.TempDir()
	s := realShop(t, folder)
	out := run(t, "redis-check-aof", s.place.manifestPath())
	if !strings.Contains(out, "All AOF files and manifest are valid") {
		t.Error(out)
	}
	client, stop := startRedis(t, folder, "--appendonly", "yes", "--appendfsync", "always")
	expectInRedis(t, client, sample())

	// It goes on with our log, and we with its.
	do(t, client, fmt.Sprint("SET redis's ", later, " PXAT ", ExpiryMillis(later)), "DEL 12")
	stop()
	delete(s.state.tats, place{0, "12"})
	s.state.tats[place{0, "redis's"}] = later
	s2 := openShop(t, s.place, Settings{Policy: Always})
	sameState(t, s2.state, s.state)
	s2.set(0, "ours", later)
	must(t, s2.pass())
	must(t, s2.log.Close())
	run(t, "redis-check-aof", s.place.manifestPath())
	client, stop = startRedis(t, folder, "--appendonly", "yes")
	if got := client.Get(context.Background(), "ours").Val(); got != fmt.Sprint(later) {
		t.Errorf("ours is %q", got)
	}
	if got := client.Get(context.Background(), "redis's").Val(); got != fmt.Sprint(later) {
		t.Errorf("redis's is %q", got)
	}
	do(t, client, "BGREWRITEAOF")
	stop()
	s3, _ := s2.reload()
	sameState(t, s3, s2.state)
}

// fill gives a Redis keys of ours and others.
func fill(t *testing.T, client *redis.Client) (want *state, others int64) {
	want = newState()
	connection := client.Conn()
	ctx := context.Background()
	for _, e := range sample() {
		connection.Select(ctx, e.db)
		if err := connection.Do(ctx, "SET", e.key, e.tat, "PXAT", ExpiryMillis(e.tat)).Err(); err != nil {
			t.Fatal(err)
		}
		want.tats[place{e.db, e.key}] = e.tat
	}
	connection.Select(ctx, 0)
	connection.Close()
	return want, variety(t, client)
}

func TestWeLoadRedisLog(t *testing.T) {
	for _, c := range []struct {
		name      string
		options   []string
		afterFill []string
	}{
		{"commands", nil, nil},
		{"timestamps", []string{"--aof-timestamp-enabled", "yes"}, nil},
		{"base in RDB", nil, []string{"BGREWRITEAOF"}},
		{"base in commands", []string{"--aof-use-rdb-preamble", "no"}, []string{"BGREWRITEAOF"}},
		{"named otherwise", []string{"--appenddirname", "log files", "--appendfilename", "a log"}, []string{"BGREWRITEAOF"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			client, stop := startRedis(t, folder, append([]string{"--appendonly", "yes"}, c.options...)...)
			want, _ := fill(t, client)
			do(t, client, c.afterFill...)
			for strings.Contains(client.Info(context.Background(), "persistence").Val(), "aof_rewrite_in_progress:1") {
			}
			transaction := client.TxPipeline()
			transaction.Do(context.Background(), "SET", "in a transaction", later, "PXAT", later/1e6)
			transaction.Set(context.Background(), "text", "no TAT", 0)
			transaction.Del(context.Background(), "key:0")
			if _, err := transaction.Exec(context.Background()); err != nil {
				t.Fatal(err)
			}
			do(t, client, fmt.Sprint("SET far ", int64(math.MaxInt64), " PXAT ", ExpiryMillis(math.MaxInt64)), "SET dead 5 PX 1", fmt.Sprint("SET expired ", later), "PEXPIREAT expired 1",
				"SWAPDB 3 4", fmt.Sprint("SET old ", later), fmt.Sprint("PEXPIREAT old ", later/1e6), "SELECT 0")
			stop()
			want.Swap(3, 4)
			want.tats[place{0, "in a transaction"}] = later
			want.tats[place{0, "far"}] = math.MaxInt64
			want.tats[place{0, "old"}] = later
			at := onDisk(vfs.OS{})
			at.Dir = folder
			if c.name == "named otherwise" {
				at.DirName, at.FileName = "log files", "a log"
			}
			got := newState()
			loaded, err := LoadLog(at, loadOptions, got)
			if err != nil {
				t.Fatal(err)
			}
			sameState(t, got, want)
			// text, compressed, hll and volatile; visits, lock, stamp and seen; in commands hll is set by PFADD, and binary by SETRANGE
			if loaded.OtherStrings < 7 || loaded.OtherCommands+loaded.OtherTypes == 0 || loaded.TornFile != "" || !strings.Contains(loaded.Warning(), "left out: ") {
				t.Errorf("%+v", loaded)
			}
		})
	}
}

// TestWeLoadRedis6Log has logs in one file, as Redis before 7 writes them: commands, or an RDB file that commands follow.
func TestWeLoadRedis6Log(t *testing.T) {
	commands := respOf("SELECT 2", fmt.Sprint("SET after ", later), fmt.Sprint("PEXPIREAT after ", later/1e6))
	preamble := string(rdbFile(9, "\xfe\x00", entryOf("before", 1999999999999999999)))
	for name, content := range map[string]string{"commands": commands, "preamble": preamble + commands} {
		folder := t.TempDir()
		at := onDisk(vfs.OS{})
		at.Dir = folder
		must(t, os.WriteFile(filepath.Join(folder, "appendonly.aof"), []byte(content), 0o600))
		got := newState()
		loaded, err := LoadLog(at, loadOptions, got)
		must(t, err)
		want := newState()
		want.tats[place{2, "after"}] = later
		if name == "preamble" {
			want.tats[place{0, "before"}] = 1999999999999999999
		}
		sameState(t, got, want)
		log, err := OpenLog(at, Settings{}, loaded, now)
		must(t, err)
		if !log.RewriteDue(now) {
			t.Error("it needs a form of today")
		}
	}
}
