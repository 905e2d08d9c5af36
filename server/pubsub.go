package server

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cellserver/cellserver/internal/glob"
	"github.com/cellserver/cellserver/resp"
)

// This file delivers what clients publish.
//
// Who has subscribed to what is kept twice. The registry, under a lock, answers a publisher how many receive its message
// and which loops serve them. Each connection has its own list, which only its loop uses: a message that arrives after
// the connection has unsubscribed is dropped there. So the confirmation of UNSUBSCRIBE is the last that a client hears of
// a channel, however many messages to it are on their way.
//
// A message travels to the subscribers of each loop in one envelope, also to those of the publisher's own loop. It is
// posted while the registry is locked: all subscribers hear all messages in one order.

// A channelKind says what a subscription's name means.
type channelKind int

const (
	plainChannel channelKind = iota
	channelPattern
	shardChannel // of SSUBSCRIBE: a namespace of its own, whose channels follow their slots in a cluster
	channelKinds
)

// pubsub is the registry of subscriptions.
type pubsub struct {
	mu          sync.Mutex
	subscribers [channelKinds]map[string]subscribers // by name; none is empty
}

// subscribers are the connections, by their subscriptions, that have subscribed to a name.
type subscribers map[*subscriptions]struct{}

// count returns how many they are.
func (s subscribers) count() (n int) {
	for subs := range s {
		if !subs.over.Load() {
			n++
		}
	}
	return n
}

func newPubsub() *pubsub {
	p := &pubsub{}
	for kind := range p.subscribers {
		p.subscribers[kind] = make(map[string]subscribers)
	}
	return p
}

// subscriptions are the names that a connection has subscribed to.
type subscriptions struct {
	conn  *conn
	names [channelKinds]map[string]struct{}
	over  atomic.Bool // the connection has left all; the registry may not know yet
}

func (s *subscriptions) count(kind channelKind) int {
	if s == nil {
		return 0
	}
	return len(s.names[kind])
}

// told is the number that confirmations tell: channels and patterns are counted together, shard channels apart.
func (s *subscriptions) told(kind channelKind) int {
	if kind == shardChannel {
		return s.count(shardChannel)
	}
	return s.count(plainChannel) + s.count(channelPattern)
}

func (s *subscriptions) has(kind channelKind, name string) (found bool) {
	if s != nil {
		_, found = s.names[kind][name]
	}
	return found
}

// sorted returns the names of a kind, sorted.
func (s *subscriptions) sorted(kind channelKind) []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.names[kind]))
}

// subscribe subscribes a connection, where it has not already.
func (p *pubsub) subscribe(c *conn, kind channelKind, name string) {
	c.special = true
	if c.subs == nil {
		c.subs = &subscriptions{conn: c}
	}
	if c.subs.names[kind] == nil {
		c.subs.names[kind] = make(map[string]struct{})
	}
	c.subs.names[kind][name] = struct{}{}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subscribers[kind][name] == nil {
		p.subscribers[kind][name] = make(subscribers)
	}
	p.subscribers[kind][name][c.subs] = struct{}{}
}

// unsubscribe ends a subscription, if there is one.
func (p *pubsub) unsubscribe(c *conn, kind channelKind, name string) {
	subs := c.subs
	if !subs.has(kind, name) {
		return
	}
	delete(subs.names[kind], name)
	if subs.told(plainChannel)+subs.told(shardChannel) == 0 {
		c.subs = nil
	}
	p.remove(subs, kind, name)
}

// remove takes a subscription out of the registry.
func (p *pubsub) remove(subs *subscriptions, kind channelKind, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.subscribers[kind][name], subs)
	if len(p.subscribers[kind][name]) == 0 {
		delete(p.subscribers[kind], name)
	}
}

// leave ends all subscriptions of a connection of the loop. The registry learns of them a piece at a time.
func (l *loop) leave(c *conn) {
	subs := c.subs
	if subs == nil {
		return
	}
	c.subs = nil
	subs.over.Store(true)
	for kind := range channelKinds {
		names := slices.Collect(maps.Keys(subs.names[kind]))
		l.do(inPieces(names, pieceLength, func(name string) { l.server.pubsub.remove(subs, kind, name) }))
	}
}

// channels returns the channels of a kind that have subscribers and match a pattern (nil: all), sorted.
func (p *pubsub) channels(kind channelKind, pattern []byte) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name, subscribers := range p.subscribers[kind] {
		if (pattern == nil || glob.Match(pattern, []byte(name))) && subscribers.count() > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// counts returns how many connections have subscribed to each of the names.
func (p *pubsub) counts(kind channelKind, names [][]byte) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := make([]int, len(names))
	for i, name := range names {
		counts[i] = p.subscribers[kind][string(name)].count()
	}
	return counts
}

// size returns how many different names of a kind have subscribers.
func (p *pubsub) size(kind channelKind) (names int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, subscribers := range p.subscribers[kind] {
		if subscribers.count() > 0 {
			names++
		}
	}
	return names
}

// any says whether there are subscriptions at all.
func (p *pubsub) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.subscribers[:], func(names map[string]subscribers) bool { return len(names) > 0 })
}

// A message is what was published.
type message struct {
	kind             channelKind
	channel, payload []byte
}

// A target is one subscription that a message goes to. A connection with several that fit gets it several times.
type target struct {
	conn *conn
	kind channelKind
	name string // the channel, or the pattern that it fits
}

// A delivery brings a message to the subscribers of one loop.
type delivery struct {
	envelope
	message *message
	targets []target
	bytes   int64 // that it is taken to hold: see loop.undelivered
}

// targetBytes is what a target takes up in memory.
const targetBytes = 40

// publish sends a message to all whom it concerns, and returns to how many subscriptions that is.
func (s *Server) publish(kind channelKind, channel, payload []byte) (receivers int) {
	p := s.pubsub
	p.mu.Lock()
	defer p.mu.Unlock()
	deliveries := make([]*delivery, len(s.loops))
	m := &message{kind: kind}
	add := func(kind channelKind, name string, subscribers subscribers) {
		for subs := range subscribers {
			if subs.over.Load() {
				continue
			}
			receivers++
			c := subs.conn
			d := deliveries[c.loop.index]
			if d == nil {
				d = &delivery{message: m}
				d.deliver = d.arrive
				deliveries[c.loop.index] = d
			}
			d.targets = append(d.targets, target{c, kind, name})
		}
	}
	add(kind, string(channel), p.subscribers[kind][string(channel)])
	if kind == plainChannel {
		for pattern, subscribers := range p.subscribers[channelPattern] {
			if glob.Match([]byte(pattern), channel) {
				add(channelPattern, pattern, subscribers)
			}
		}
	}
	if receivers == 0 {
		return 0
	}
	m.channel, m.payload = slices.Clone(channel), slices.Clone(payload)
	for index, d := range deliveries {
		if d != nil {
			d.bytes = int64(len(channel) + len(payload) + targetBytes*len(d.targets))
			s.loops[index].undelivered.Add(d.bytes)
			s.loops[index].post(&d.envelope)
		}
	}
	return receivers
}

// arrive is the delivery at the subscribers' loop.
func (d *delivery) arrive(l *loop) {
	l.undelivered.Add(-d.bytes)
	var last target
	var encoded [2][]byte // for the last target's name, by version of RESP: most targets need what the one before did
	for _, t := range d.targets {
		c := t.conn
		if !c.subs.has(t.kind, t.name) {
			continue
		}
		if t.kind != last.kind || t.name != last.name {
			encoded = [2][]byte{}
		}
		last = t
		version := c.version - 2
		if encoded[version] == nil {
			encoded[version] = d.message.encode(t, c.version)
		}
		c.push(encoded[version])
	}
}

// encode returns the message as a subscriber is told it.
func (m *message) encode(t target, version int) []byte {
	w := resp.Writer{Version: version}
	switch t.kind {
	case channelPattern:
		w.Push(4)
		w.BulkString("pmessage")
		w.BulkString(t.name)
	case shardChannel:
		w.Push(3)
		w.BulkString("smessage")
	default:
		w.Push(3)
		w.BulkString("message")
	}
	w.Bulk(m.channel)
	w.Bulk(m.payload)
	return w.Buf
}

// maxUndelivered is how many bytes of messages may be on their way to a loop before those who publish have to wait: the
// loop that has to write a message a thousand times is slower than the one that publishes it.
const maxUndelivered = 16 << 20

// congested says whether messages must wait to be published. They are many, or one is large; a single one is never
// refused, however large it is.
func (s *Server) congested() bool {
	return slices.ContainsFunc(s.loops, func(l *loop) bool { return l.undelivered.Load() > maxUndelivered })
}
