package compat_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cellserver/cellserver/internal/realredis"
)

// TestGoRedis uses go-redis as an application does, in both versions of the protocol and on both front ends.
func TestGoRedis(t *testing.T) {
	for _, frontEnd := range []string{"", "goroutines"} {
		for _, version := range []int{2, 3} {
			t.Run(fmt.Sprintf("io=%s/resp%d", frontEnd, version), func(t *testing.T) {
				arguments := []string{"--shards", "2"}
				if frontEnd != "" {
					arguments = append(arguments, "--io", frontEnd)
				}
				client := goRedis(t, start(t, arguments...), func(o *redis.Options) { o.Protocol = version })
				testGoRedis(t, client)
			})
		}
	}
}

func testGoRedis(t *testing.T, client *redis.Client) {
	ctx := context.Background()
	for want := int64(2); want >= 0; want-- {
		if reply := throttle(t, client, "user", 2, 1, 60); reply[0] != 0 || reply[2] != want {
			t.Errorf("%v, want %d remaining", reply, want)
		}
	}
	if reply := throttle(t, client, "user", 2, 1, 60); fmt.Sprint(reply) != "[1 3 0 60 180]" {
		t.Errorf("limited: %v", reply)
	}

	pipeline := client.Pipeline()
	for i := range 1000 {
		pipeline.Do(ctx, "CL.THROTTLE", fmt.Sprint("pipelined", i%10), 999, 1, 60)
	}
	replies, err := pipeline.Exec(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, reply := range replies {
		if five, err := reply.(*redis.Cmd).Int64Slice(); err != nil || five[2] != int64(999-i/10) {
			t.Fatalf("pipelined call %d: %v, %v", i, five, err)
		}
	}

	err = client.Do(ctx, "CL.THROTTLE", "user", 2).Err()
	if err == nil || !strings.HasPrefix(err.Error(), "Cell error: Store error: Usage: cl.throttle ") {
		t.Error("too few arguments:", err)
	}
	if _, err := client.Get(ctx, "missing").Result(); !errors.Is(err, redis.Nil) {
		t.Error("GET of a missing key:", err)
	}
	tat, err := client.Get(ctx, "user").Int64()
	if left := time.Until(time.Unix(0, tat)); err != nil || left < 170*time.Second || left > 181*time.Second {
		t.Errorf("TAT in %v, %v", left, err)
	}
	if ttl, err := client.TTL(ctx, "user").Result(); err != nil || ttl < 170*time.Second {
		t.Error("TTL", ttl, err)
	}
	found := 0
	for keys := client.Scan(ctx, 0, "pipelined*", 3).Iterator(); keys.Next(ctx); {
		found++
	}
	if found != 10 {
		t.Errorf("SCAN finds %d of 10 keys", found)
	}
	if n, err := client.Del(ctx, "user", "pipelined1", "pipelined2", "missing").Result(); n != 3 || err != nil {
		t.Error("DEL", n, err)
	}
	if reply := throttle(t, client, "user", 2, 1, 60); reply[2] != 2 {
		t.Error("after DEL:", reply)
	}
}

// TestDatabases: go-redis selects a database as it connects, and each has its own keys.
func TestDatabases(t *testing.T) {
	ctx := context.Background()
	p := start(t, "--shards", "2")
	inDatabase := func(number int) *redis.Client { return goRedis(t, p, func(o *redis.Options) { o.DB = number }) }
	for number := range 16 {
		client := inDatabase(number)
		for range number + 1 {
			throttle(t, client, "k", 99, 1, 60)
		}
	}
	for number := range 16 {
		if reply := throttle(t, inDatabase(number), "k", 99, 1, 60, 0); reply[2] != int64(99-number) {
			t.Errorf("database %d: %v", number, reply)
		}
	}
	if err := inDatabase(16).Ping(ctx).Err(); err == nil || !strings.Contains(err.Error(), "DB index is out of range") {
		t.Error("database 16:", err)
	}
	if err := inDatabase(3).FlushDB(ctx).Err(); err != nil {
		t.Error(err)
	}
	if in3, in4 := inDatabase(3).Exists(ctx, "k").Val(), inDatabase(4).Exists(ctx, "k").Val(); in3 != 0 || in4 != 1 {
		t.Error("after FLUSHDB of database 3:", in3, in4)
	}
}

func TestRedisCli(t *testing.T) {
	cli := realredis.Tool(t, "redis-cli")
	p := start(t)
	port := p.address[strings.LastIndex(p.address, ":")+1:]
	run := func(input string, arguments ...string) string {
		t.Helper()
		command := exec.Command(cli, append([]string{"-p", port}, arguments...)...)
		command.Stdin = strings.NewReader(input)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("redis-cli %v: %v\n%s", arguments, err, out)
		}
		return string(out)
	}
	if got := run("", "CL.THROTTLE", "user123", "15", "30", "60"); got != "0\n16\n15\n-1\n2\n" {
		t.Errorf("the README's call: %q", got)
	}
	if got := run("", "-3", "-n", "5", "CL.THROTTLE", "user123", "15", "30", "60"); got != "0\n16\n15\n-1\n2\n" {
		t.Errorf("in RESP3, in another database: %q", got)
	}
	// A session starts with COMMAND DOCS, from which HELP is answered.
	session := run("CL.THROTTLE a 1 1 60\nHELP CL.THROTTLE\nNOSUCH\nINFO\n")
	for _, part := range []string{
		"0\n2\n1\n-1\n60\n", "key max_burst count period [quantity]", "Asks whether a call may pass",
		"ERR unknown command 'NOSUCH'", "# Server", "redis_version:7.0", "# Clients", "# Memory", "# Stats", "db5:keys=1",
	} {
		if !strings.Contains(session, part) {
			t.Errorf("a session without %q: %s", part, session)
		}
	}
	var inserts strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&inserts, "SET piped:%d 4102444800000000000\r\n", i)
	}
	if got := run(inserts.String(), "--pipe"); !strings.Contains(got, "errors: 0, replies: 1000") {
		t.Errorf("--pipe: %s", got)
	}
	if got := strings.Count(run("", "--scan", "--pattern", "piped:*"), "piped:"); got != 1000 {
		t.Errorf("--scan finds %d of 1000 keys", got)
	}
}

func TestRedisBenchmark(t *testing.T) {
	benchmark := realredis.Tool(t, "redis-benchmark")
	p := start(t, "--shards", "2")
	port := p.address[strings.LastIndex(p.address, ":")+1:]
	out, err := exec.Command(benchmark, "-p", port, "-c", "50", "-n", "20000", "-t", "ping", "--csv").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"PING_INLINE"`) || !strings.Contains(string(out), `"PING_MBULK"`) {
		t.Errorf("ping: %v\n%s", err, out)
	}
	for _, depth := range []string{"1", "16"} {
		out, err := exec.Command(benchmark, "-p", port, "-c", "50", "-n", "20000", "-r", "1000", "-P", depth, "--csv",
			"cl.throttle", "key:__rand_int__", "100", "1000", "60", "1").CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"cl.throttle key:__rand_int__ 100 1000 60 1"`) {
			t.Errorf("depth %s: %v\n%s", depth, err, out)
		}
	}
}
