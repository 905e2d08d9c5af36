package server

import (
	"time"

	"github.com/cellserver/cellserver/resp"
)

// This file has the commands of publishing and subscribing.

var pubsubRows = []*command{
	{name: "subscribe", arity: -2, flags: pubsubFlags, categories: "@pubsub @slow", group: "pubsub", since: "2.0.0",
		summary: "Subscribes to channels.", args: []string{"channel..."}, local: subscribeTo(plainChannel)},
	{name: "unsubscribe", arity: -1, flags: pubsubFlags, categories: "@pubsub @slow", group: "pubsub", since: "2.0.0",
		summary: "Unsubscribes from channels, or from all.", args: []string{"[channel...]"}, local: unsubscribeFrom(plainChannel)},
	{name: "psubscribe", arity: -2, flags: pubsubFlags, categories: "@pubsub @slow", group: "pubsub", since: "2.0.0",
		summary: "Subscribes to all channels that match patterns.", args: []string{"pattern={pattern}..."}, local: subscribeTo(channelPattern)},
	{name: "punsubscribe", arity: -1, flags: pubsubFlags, categories: "@pubsub @slow", group: "pubsub", since: "2.0.0",
		summary: "Unsubscribes from patterns, or from all.", args: []string{"[pattern...]"}, local: unsubscribeFrom(channelPattern)},
	{name: "ssubscribe", arity: -2, flags: pubsubFlags, categories: "@pubsub @slow", keys: allKeys, access: "not_key", group: "pubsub", since: "7.0.0",
		summary: "Subscribes to shard channels.", args: []string{"shardchannel..."}, local: subscribeTo(shardChannel)},
	{name: "sunsubscribe", arity: -1, flags: pubsubFlags, categories: "@pubsub @slow", keys: allKeys, access: "not_key", group: "pubsub", since: "7.0.0",
		summary: "Unsubscribes from shard channels, or from all.", args: []string{"[shardchannel...]"}, local: unsubscribeFrom(shardChannel)},
	{name: "publish", arity: 3, flags: "pubsub loading stale fast", categories: "@pubsub @fast", group: "pubsub", since: "2.0.0",
		summary: "Sends a message to a channel's subscribers.", args: []string{"channel", "message"}, local: publishTo(plainChannel), publishes: true},
	{name: "spublish", arity: 3, flags: "pubsub loading stale fast", categories: "@pubsub @fast", keys: oneKey, access: "not_key", group: "pubsub", since: "7.0.0",
		summary: "Sends a message to a shard channel's subscribers.", args: []string{"shardchannel", "message"}, local: publishTo(shardChannel), publishes: true},
	{name: "pubsub", arity: -2, categories: "@slow", group: "pubsub", since: "2.8.0", summary: "Tells about channels and patterns.", subcommands: []*command{
		{name: "channels", arity: -2, flags: pubsubTellFlags, categories: "@pubsub @slow", group: "pubsub", since: "2.8.0", summary: "Lists the channels that have subscribers.", args: []string{"[pattern]"}, local: listChannels(plainChannel)},
		{name: "numsub", arity: -2, flags: pubsubTellFlags, categories: "@pubsub @slow", group: "pubsub", since: "2.8.0", summary: "Counts the subscribers of channels.", args: []string{"[channel...]"}, local: countSubscribers(plainChannel)},
		{name: "numpat", arity: 2, flags: pubsubTellFlags, categories: "@pubsub @slow", group: "pubsub", since: "2.8.0", summary: "Counts the patterns that have subscribers.", local: pubsubNumPat},
		{name: "shardchannels", arity: -2, flags: pubsubTellFlags, categories: "@pubsub @slow", group: "pubsub", since: "7.0.0", summary: "Lists the shard channels that have subscribers.", args: []string{"[pattern]"}, local: listChannels(shardChannel)},
		{name: "shardnumsub", arity: -2, flags: pubsubTellFlags, categories: "@pubsub @slow", group: "pubsub", since: "7.0.0", summary: "Counts the subscribers of shard channels.", args: []string{"[shardchannel...]"}, local: countSubscribers(shardChannel)},
		{name: "help", arity: 2, flags: "loading stale", categories: "@slow", group: "pubsub", since: "6.2.0", summary: "Lists the subcommands.", local: help},
	}},
}

const (
	pubsubFlags     = "pubsub noscript loading stale"
	pubsubTellFlags = "pubsub loading stale"
)

// confirmations are the first words of what SUBSCRIBE and its relatives answer.
var confirmations = [channelKinds]struct{ subscribed, unsubscribed string }{
	plainChannel:   {"subscribe", "unsubscribe"},
	channelPattern: {"psubscribe", "punsubscribe"},
	shardChannel:   {"ssubscribe", "sunsubscribe"},
}

// subscribeTo returns the handler of SUBSCRIBE, PSUBSCRIBE or SSUBSCRIBE. Each name is confirmed by a push of its own.
func subscribeTo(kind channelKind) func(*loop, *conn, [][]byte, *resp.Writer) {
	return func(l *loop, c *conn, args [][]byte, w *resp.Writer) {
		l.inSteps(c, args, w, &naming{do: func(name []byte, w *resp.Writer) {
			l.server.pubsub.subscribe(c, kind, string(name))
			confirm(w, confirmations[kind].subscribed, name, c.subs.told(kind))
		}})
	}
}

// unsubscribeFrom returns the handler of UNSUBSCRIBE, PUNSUBSCRIBE or SUNSUBSCRIBE.
func unsubscribeFrom(kind channelKind) func(*loop, *conn, [][]byte, *resp.Writer) {
	verb := confirmations[kind].unsubscribed
	return func(l *loop, c *conn, args [][]byte, w *resp.Writer) {
		if len(args) == 1 {
			for _, name := range c.subs.sorted(kind) {
				args = append(args, []byte(name))
			}
		}
		if len(args) == 1 {
			c.answersAnyway = true
			confirm(w, verb, nil, c.subs.told(kind))
			return
		}
		l.inSteps(c, args, w, &naming{do: func(name []byte, w *resp.Writer) {
			l.server.pubsub.unsubscribe(c, kind, string(name))
			confirm(w, verb, name, c.subs.told(kind))
		}})
	}
}

// naming is SUBSCRIBE or UNSUBSCRIBE, or one of their relatives: a name after the other.
type naming struct {
	done int // names
	do   func(name []byte, w *resp.Writer)
}

func (t *naming) step(l *loop, c *conn, words [][]byte, w *resp.Writer, until time.Duration) (done bool) {
	c.answersAnyway = true
	names := words[1:]
	for next := true; next; next = t.done < len(names) && l.server.clock.uptime() < until {
		some := names[t.done:min(len(names), t.done+pieceLength)]
		for _, name := range some {
			t.do(name, w)
		}
		t.done += len(some)
	}
	return t.done == len(names)
}

func (t *naming) reply(*resp.Writer) {}

func (t *naming) gathered() *gathering { return nil }

// confirm writes one confirmation: what was done, the name (nil: there was none) and how many subscriptions there are now.
func confirm(w *resp.Writer, verb string, name []byte, count int) {
	w.Push(3)
	w.BulkString(verb)
	if name == nil {
		w.Null()
	} else {
		w.Bulk(name)
	}
	w.Int(int64(count))
}

func publishTo(kind channelKind) func(*loop, *conn, [][]byte, *resp.Writer) {
	return func(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
		w.Int(int64(l.server.publish(kind, args[1], args[2])))
	}
}

// listChannels returns the handler of PUBSUB CHANNELS or SHARDCHANNELS.
func listChannels(kind channelKind) func(*loop, *conn, [][]byte, *resp.Writer) {
	return func(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
		var pattern []byte
		switch len(args) {
		case 2:
		case 3:
			pattern = args[2]
		default:
			w.Error(resp.UnknownSubcommandOrArity("pubsub", args[1]))
			return
		}
		names := l.server.pubsub.channels(kind, pattern)
		w.Array(len(names))
		for _, name := range names {
			w.BulkString(name)
		}
	}
}

// countSubscribers returns the handler of PUBSUB NUMSUB or SHARDNUMSUB.
func countSubscribers(kind channelKind) func(*loop, *conn, [][]byte, *resp.Writer) {
	return func(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
		names := args[2:]
		w.Array(2 * len(names))
		for i, count := range l.server.pubsub.counts(kind, names) {
			w.Bulk(names[i])
			w.Int(int64(count))
		}
	}
}

func pubsubNumPat(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	w.Int(int64(l.server.pubsub.size(channelPattern)))
}
