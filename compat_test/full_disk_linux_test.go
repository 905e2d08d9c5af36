package compat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

// fullDiskBytes is how large a file of the server may become until it is let grow again: to the server, a disk that runs full in
// the middle of a write.
const fullDiskBytes = 300_000

// TestFullDiskOutside has the real binary run out of room for its log and get room again. Whatever was answered is there after a
// kill, and meanwhile the server answers what it can.
func TestFullDiskOutside(t *testing.T) {
	for _, policy := range []string{"always", "everysec", "no"} {
		t.Run(policy, func(t *testing.T) {
			folder := t.TempDir()
			arguments := []string{"--appendonly", "yes", "--appendfsync", policy, "--dir", folder, "--auto-aof-rewrite-percentage", "0"}
			p := start(t, arguments...)
			client := goRedis(t, p, func(o *redis.Options) { o.MaxRetries = -1 })
			limitFiles(t, p, fullDiskBytes)
			answered := fillDisk(t, client)
			if policy == "always" {
				refusesChangesOnly(t, client)
			} else if err := throttled(client, "meanwhile"); err != nil {
				t.Error("while the disk is full:", err)
			}
			limitFiles(t, p, unix.RLIM_INFINITY)
			waitFor(t, "the log is written again", func() bool {
				info, err := client.Info(context.Background(), "persistence").Result()
				return err == nil && strings.Contains(info, "aof_last_write_status:ok")
			})
			waitFor(t, "changes are taken again", func() bool { return throttled(client, "after") == nil })
			time.Sleep(secondLost)
			if err := p.command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.ended
			for _, line := range []string{"Error writing to the AOF file: ", "AOF write error looks solved"} {
				if strings.Count(p.stdout, line) != 1 {
					t.Errorf("%q is not once in the log: %s", line, p.stdout)
				}
			}
			client = goRedis(t, start(t, arguments...), nil)
			missing, err := client.Exists(context.Background(), append(answered, "after")...).Result()
			if missing = int64(len(answered)+1) - missing; missing > 0 || err != nil {
				t.Errorf("%d of %d keys are missing after the restart, %v", missing, len(answered)+1, err)
			}
		})
	}
}

// limitFiles sets how large files of a running server may become.
func limitFiles(t *testing.T, p *process, bytes uint64) {
	t.Helper()
	if err := unix.Prlimit(p.command.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil); err != nil {
		t.Fatal(err)
	}
}

func throttled(client *redis.Client, key string) error {
	return client.Do(context.Background(), "CL.THROTTLE", key, 15, 30, 3600).Err()
}

// fillDisk makes keys until the log can't be written, and returns those that were answered.
func fillDisk(t *testing.T, client *redis.Client) (answered []string) {
	t.Helper()
	ctx := context.Background()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		pipe := client.Pipeline()
		for range 500 {
			pipe.Do(ctx, "CL.THROTTLE", fmt.Sprint("key", len(answered)+pipe.Len()), 15, 30, 3600)
		}
		commands, _ := pipe.Exec(ctx) // each has its error
		for _, command := range commands {
			if command.Err() == nil {
				answered = append(answered, fmt.Sprint(command.Args()[1]))
			}
		}
		info, err := client.Info(ctx, "persistence").Result()
		if err != nil {
			t.Fatal("INFO while the disk is full: ", err)
		}
		if strings.Contains(info, "aof_last_write_status:err") {
			return answered
		}
	}
	t.Fatal("the disk does not run full")
	return nil
}

// refusesChangesOnly: on a full disk, under always, changes are refused with a reason and all else is answered.
func refusesChangesOnly(t *testing.T, client *redis.Client) {
	t.Helper()
	ctx := context.Background()
	for range 20 {
		var refusal redis.Error
		if err := throttled(client, "new"); !errors.As(err, &refusal) || !strings.HasPrefix(err.Error(), "MISCONF Errors writing to the AOF file: ") {
			t.Error("a change: ", err)
		}
		for _, command := range [][]any{{"PING"}, {"EXISTS", "key0"}, {"CL.PROBE", "key0", 15, 30, 3600}, {"DBSIZE"}} {
			if err := client.Do(ctx, command...).Err(); err != nil {
				t.Error(command, err)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not so: ", what)
		}
	}
}
