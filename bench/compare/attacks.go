package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// An attack is what some clients do all the time to a server that has others to serve. Each of them works on connections
// of its own, from the first step to the last and again.
type attack struct {
	name    string
	clients int
	what    string // for the report
	// prepare, nil for most, is done once before. It keeps what is to stay open.
	prepare func(ctx context.Context, port int) error
	// client does the attack once; it is called again and again.
	client func(ctx context.Context, a *attacker) error
	bar    time.Duration // that a bystander's p99 of ours must stay within; 0: none
}

// An attacker is one client of an attack.
type attacker struct {
	*conn
	port int
}

// attackName is the first argument of the tool when it is started to attack, by itself.
const attackName = "attack"

// attackReady is what an attacking process prints when all is prepared.
const attackReady = "ready"

// newConns is how many connections an attacker has open who opens and closes many at once.
const newConns = 200

var attacks = []attack{
	{name: "nobody", what: "nobody attacks"},
	{name: "watch", clients: 10, what: "WATCH of 20,000 keys, then UNWATCH, EXEC or the end of the connection", client: watchMany(20_000), bar: 10 * time.Millisecond},
	{name: "connect", clients: 50, what: "connections that fail to authenticate and end", client: connectAndGo, bar: 10 * time.Millisecond},
	{name: "crowd", clients: 4, what: "200 connections at once, which end at once", client: crowd},
	{name: "keys", clients: 1, what: "KEYS *", client: again("KEYS", "*")},
	{name: "scan", clients: 4, what: "SCAN 0 COUNT 1000000000", client: again("SCAN", "0", "COUNT", "1000000000")},
	{name: "exists", clients: 4, what: "EXISTS of 100,000 keys", client: wide("EXISTS", 100_000)},
	{name: "mget", clients: 4, what: "MGET of 100,000 keys", client: wide("MGET", 100_000)},
	{name: "del", clients: 4, what: "DEL of 100,000 keys", client: wide("DEL", 100_000)},
	{name: "exec", clients: 4, what: "MULTI, 10,000 GET, EXEC", client: transactions(10_000)},
	{name: "subscribe", clients: 10, what: "SUBSCRIBE to 20,000 channels, then the end of the connection", client: subscribeMany(20_000)},
	{name: "publish", clients: 4, what: "PUBLISH to 1,000 subscribers", prepare: subscribers(1000), client: pipeline(16, "PUBLISH", "news", "0123456789")},
	{name: "list", clients: 4, what: "CLIENT LIST with 5,000 connections", prepare: idle(5000), client: again("CLIENT", "LIST")},
	{name: "kill", clients: 2, what: "200 connections that CLIENT KILL ends", client: killMany},
	{name: "ping", clients: 20, what: "PING, 10,000 at a time", client: pipeline(10_000, "PING")},
	{name: "inline", clients: 20, what: "inline PING, 10,000 at a time", client: inlinePings},
	{name: "info", clients: 20, what: "INFO", client: again("INFO")},
	{name: "command", clients: 4, what: "COMMAND DOCS", client: again("COMMAND", "DOCS")},
	{name: "echo", clients: 2, what: "ECHO of 64 MB", client: echoLarge(64 << 20)},
	{name: "flush", clients: 2, what: "SET of 10,000 keys, FLUSHDB, in another database", client: fillAndFlush},
	{name: "lua", clients: 10, what: "EVAL of 1,000 GET", client: again("EVAL", "for i=1,1000 do redis.call('GET','key:'..i) end", "0")},
}

func attackNamed(name string) (attack, error) {
	for _, a := range attacks {
		if a.name == name {
			return a, nil
		}
	}
	return attack{}, fmt.Errorf("-attacks: %q is none that is known", name)
}

// runAttack attacks the server at a port until it is killed. A client whose connection fails goes on with a new one: that
// a server may end it is part of the game.
func runAttack(ctx context.Context, arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("attack NAME PORT")
	}
	a, err := attackNamed(arguments[0])
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	if a.prepare != nil {
		if err := a.prepare(ctx, port); err != nil {
			return err
		}
	}
	fmt.Println(attackReady)
	var clients sync.WaitGroup
	for range a.clients {
		clients.Go(func() {
			for ctx.Err() == nil {
				if err := a.session(ctx, port); err != nil {
					fmt.Fprintln(os.Stderr, a.name+":", err)
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	clients.Wait()
	return nil
}

// errSessionEnds ends a session in an orderly way.
var errSessionEnds = errors.New("session ends")

// session attacks on one connection until it ends.
func (a *attack) session(ctx context.Context, port int) error {
	c, err := dial(ctx, port)
	if err != nil {
		return err
	}
	defer c.Close()
	for ctx.Err() == nil {
		err := a.client(ctx, &attacker{c, port})
		if err == errSessionEnds {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send writes bytes and skips so many replies.
func (a *attacker) send(bytes []byte, replies int) error {
	sent := make(chan error, 1)
	go func() {
		_, err := a.Write(bytes)
		sent <- err
	}()
	for range replies {
		if err := skipReply(a.conn); err != nil {
			return err
		}
	}
	return <-sent
}

// skipReply reads one reply, whatever it is. Its time is little, for the server is to be kept busy.
func skipReply(c *conn) error {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	n := 0
	if kind := line[0]; bytes.IndexByte([]byte("$*=%>~"), kind) >= 0 {
		if n, err = strconv.Atoi(string(line[1 : len(line)-2])); err != nil || n < 0 {
			return err
		}
		switch kind {
		case '$', '=':
			_, err = c.in.Discard(n + 2)
			return err
		case '%':
			n *= 2
		}
	}
	for range n {
		if err := skipReply(c); err != nil {
			return err
		}
	}
	return nil
}

func again(words ...string) func(context.Context, *attacker) error { return pipeline(1, words...) }

func pipeline(depth int, words ...string) func(context.Context, *attacker) error {
	commands := bytes.Repeat(appendCommand(nil, words...), depth)
	return func(_ context.Context, a *attacker) error { return a.send(commands, depth) }
}

func inlinePings(_ context.Context, a *attacker) error {
	const depth = 10_000
	return a.send(bytes.Repeat([]byte("PING\r\n"), depth), depth)
}

// manyWords returns a command on so many keys or channels.
func manyWords(name string, count int) []byte {
	words := []string{name}
	for i := range count {
		words = append(words, keyName(i))
	}
	return appendCommand(nil, words...)
}

func wide(name string, count int) func(context.Context, *attacker) error {
	command := manyWords(name, count)
	return func(_ context.Context, a *attacker) error { return a.send(command, 1) }
}

func watchMany(count int) func(context.Context, *attacker) error {
	watch, transaction := manyWords("WATCH", count), appendCommand(appendCommand(nil, "MULTI"), "EXEC")
	unwatch := appendCommand(nil, "UNWATCH")
	return func(_ context.Context, a *attacker) error {
		for _, step := range [][]byte{watch, unwatch, watch} {
			if err := a.send(step, 1); err != nil {
				return err
			}
		}
		if err := a.send(transaction, 2); err != nil {
			return err
		}
		if err := a.send(watch, 1); err != nil {
			return err
		}
		return errSessionEnds
	}
}

func connectAndGo(_ context.Context, a *attacker) error {
	if err := a.send(appendCommand(nil, "AUTH", "nobody", "wrong"), 1); err != nil {
		return err
	}
	return errSessionEnds
}

// openMany opens connections that have all been answered a command.
func openMany(ctx context.Context, port, count int, words ...string) (opened []*conn, err error) {
	defer func() {
		if err != nil {
			closeAll(opened)
		}
	}()
	for range count {
		c, err := dial(ctx, port)
		if err != nil {
			return opened, err
		}
		opened = append(opened, c)
		if err := (&attacker{c, port}).send(appendCommand(nil, words...), 1); err != nil {
			return opened, err
		}
	}
	return opened, nil
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		c.Close()
	}
}

func crowd(ctx context.Context, a *attacker) error {
	opened, err := openMany(ctx, a.port, newConns, "PING")
	closeAll(opened)
	return err
}

func killMany(ctx context.Context, a *attacker) error {
	opened, err := openMany(ctx, a.port, newConns, "SUBSCRIBE", "news")
	if err != nil {
		return err
	}
	defer closeAll(opened)
	return a.send(appendCommand(nil, "CLIENT", "KILL", "TYPE", "pubsub"), 1)
}

// idle opens connections that stay, and say nothing.
func idle(count int) func(context.Context, int) error {
	return func(ctx context.Context, port int) error {
		_, err := openMany(ctx, port, count, "PING")
		return err
	}
}

// subscribers opens connections that stay, and read what is published.
func subscribers(count int) func(context.Context, int) error {
	return func(ctx context.Context, port int) error {
		opened, err := openMany(ctx, port, count, "SUBSCRIBE", "news")
		for _, c := range opened {
			go func() { _, _ = io.Copy(io.Discard, c) }() // until the end
		}
		return err
	}
}

func subscribeMany(count int) func(context.Context, *attacker) error {
	command := manyWords("SUBSCRIBE", count)
	return func(_ context.Context, a *attacker) error {
		if err := a.send(command, count); err != nil {
			return err
		}
		return errSessionEnds
	}
}

func transactions(commands int) func(context.Context, *attacker) error {
	all := appendCommand(nil, "MULTI")
	for i := range commands {
		all = appendCommand(all, "GET", keyName(i))
	}
	all = appendCommand(all, "EXEC")
	return func(_ context.Context, a *attacker) error { return a.send(all, commands+2) }
}

func echoLarge(size int) func(context.Context, *attacker) error {
	word := string(bytes.Repeat([]byte("x"), size))
	return func(_ context.Context, a *attacker) error { return a.send(appendCommand(nil, "ECHO", word), 1) }
}

// fillAndFlush fills another database than the bystander's and empties it.
func fillAndFlush(_ context.Context, a *attacker) error {
	const keys = 10_000
	tat := strconv.FormatInt(time.Now().Add(tatAhead).UnixNano(), 10)
	all := appendCommand(nil, "SELECT", "1")
	for i := range keys {
		all = appendCommand(all, "SET", keyName(i), tat, "PXAT", strconv.FormatInt(time.Now().Add(tatAhead).UnixMilli(), 10))
	}
	all = appendCommand(all, "FLUSHDB")
	return a.send(all, keys+2)
}
