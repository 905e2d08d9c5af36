package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/resp"
)

// timeOfStore answers TIME with the clock that decides: seconds and microseconds.
func timeOfStore(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	now := l.server.clock.now()
	w.Array(2)
	w.BulkString(fmt.Sprint(now / nanosPerSecond))
	w.BulkString(fmt.Sprint(now % nanosPerSecond / 1000))
}

// totals is what INFO tells of all loops and shards together.
type totals struct {
	loopStats
	engine               engine.Stats
	keys                 [engine.Databases]int
	ttlNanos             [engine.Databases]float64 // sum over the keys, as far as samples tell
	live, dead           int                       // of the keys drawn for that
	bytes                int
	tracked              int
	maxIn                int // longest unparsed input of a connection, bytes
	maxOut               int // longest unsent output of a connection, bytes
	clientBytes          int // of all connections' buffers
	scripts, scriptBytes int // loaded
	waiting              int // connections that wait for the end of a pause

	commandRate, inputRate, outputRate float64 // per second, lately
}

// collect adds up the counters, all loops stopped for the time.
func (l *loop) collect() *totals {
	t := &totals{loopStats: newLoopStats(len(l.server.commands.all))}
	l.exclusively(l.server.allShards, func() {
		for _, each := range l.server.loops {
			t.addLoop(each)
		}
		t.loopStats.add(&l.server.scripting.executor.stats)
		t.scripts, t.scriptBytes = l.server.scripting.runtime.Count(), l.server.scripting.runtime.CacheBytes()
	})
	return t
}

// ttlSamples is how many keys of a database and shard are drawn for the average TTL: enough for about a tenth of it.
const ttlSamples = 64

func (t *totals) addLoop(l *loop) {
	t.loopStats.add(&l.stats)
	t.engine.Add(l.engine.Stats())
	t.bytes += l.engine.Bytes()
	for db := range t.keys {
		t.keys[db] += l.engine.Len(db)
		live, dead, mean := l.engine.SampleTTL(db, ttlSamples, rand.Uint64)
		t.live += live
		t.dead += dead
		t.ttlNanos[db] += mean * float64(l.engine.Len(db))
	}
	for _, c := range l.conns {
		t.maxIn, t.maxOut = max(t.maxIn, len(c.in)), max(t.maxOut, c.unsentBytes())
		t.clientBytes += cap(c.buffer) + cap(c.out) + c.unsent.held
		if c.tracking.on {
			t.tracked++
		}
		if c.waiting {
			t.waiting++
		}
	}
	commands, input, output := l.rates.perSecond()
	t.commandRate += commands
	t.inputRate += input
	t.outputRate += output
}

// resetStatistics zeroes what CONFIG RESETSTAT zeroes in Redis: the counters, not what is so now, and neither SLOWLOG nor
// LATENCY.
func (l *loop) resetStatistics() {
	l.exclusively(l.server.allShards, func() {
		for _, each := range l.server.loops {
			each.stats = newLoopStats(len(l.server.commands.all))
			each.rates = rates{}
			each.engine.ResetStats()
		}
		l.server.scripting.executor.stats = newLoopStats(len(l.server.commands.all))
	})
	l.server.accepted.Store(0)
	l.server.rejected.Store(0)
}

func configResetStat(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	l.resetStatistics()
	w.OK()
}

// An infoSection writes one section of INFO.
type infoSection struct {
	title string
	extra bool // not among those that INFO tells unless asked for more
	write func(s *Server, t *totals, b *strings.Builder)
}

var infoSections = []infoSection{
	{"Server", false, infoServer},
	{"Clients", false, infoClients},
	{"Memory", false, infoMemory},
	{"Persistence", false, infoPersistence},
	{"Stats", false, infoStats},
	{"Replication", false, infoReplication},
	{"CPU", false, infoCPU},
	{"Modules", false, infoModules},
	{"Commandstats", true, infoCommandStats},
	{"Errorstats", false, infoErrorStats},
	{"Latencystats", true, infoLatencyStats},
	{"Cluster", false, infoCluster},
	{"Keyspace", false, infoKeyspace},
}

// wantedIn says whether the words of INFO [section...] name the section: by its title, or as one of a group.
func (i *infoSection) wantedIn(words [][]byte) bool {
	if len(words) == 0 {
		return !i.extra
	}
	return slices.ContainsFunc(words, func(word []byte) bool {
		return is(word, i.title) || is(word, "all") || is(word, "everything") || is(word, "default") && !i.extra
	})
}

func info(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	t := l.collect()
	var b strings.Builder
	for _, section := range infoSections {
		if !section.wantedIn(args[1:]) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "# %s\r\n", section.title)
		section.write(l.server, t, &b)
	}
	w.Verbatim("txt", b.String())
}
