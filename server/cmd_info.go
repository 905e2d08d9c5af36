package server

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
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

// configGet answers CONFIG GET pattern... from the table of directives.
func configGet(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	var found []*directive
	for i := range directives {
		d := &directives[i]
		if slices.ContainsFunc(args[2:], func(pattern []byte) bool {
			return matches([]byte(strings.ToLower(string(pattern))), []byte(d.name))
		}) {
			found = append(found, d)
		}
	}
	w.Map(len(found))
	for _, d := range found {
		w.BulkString(d.name)
		w.BulkString(d.get(&l.server.config))
	}
}

// totals is what INFO tells of all loops and shards together.
type totals struct {
	loopStats
	engine  engine.Stats
	keys    [engine.Databases]int
	bytes   int
	tracked int
	maxIn   int // longest unparsed input of a connection, bytes
	maxOut  int // longest unsent output of a connection, bytes
}

func (s *loopStats) add(other *loopStats) {
	s.commands += other.commands
	s.errorReplies += other.errorReplies
	s.inputBytes += other.inputBytes
	s.outputBytes += other.outputBytes
	s.reads += other.reads
	s.writes += other.writes
	s.queryLimitCloses += other.queryLimitCloses
	s.outputLimitCloses += other.outputLimitCloses
}

// collect adds up the counters, all loops stopped for the time.
func (l *loop) collect() *totals {
	t := &totals{}
	l.exclusively(l.server.allShards, func() {
		for _, each := range l.server.loops {
			t.loopStats.add(&each.stats)
			t.engine.Add(each.engine.Stats())
			t.bytes += each.engine.Bytes()
			for db := range t.keys {
				t.keys[db] += each.engine.Len(db)
			}
			for _, c := range each.conns {
				t.maxIn, t.maxOut = max(t.maxIn, len(c.in)), max(t.maxOut, len(c.out)-c.sent)
				if c.tracking.on {
					t.tracked++
				}
			}
		}
	})
	return t
}

// An infoSection writes one section of INFO.
type infoSection struct {
	name  string
	write func(s *Server, t *totals, b *strings.Builder)
}

var infoSections = []infoSection{
	{"server", infoServer},
	{"clients", infoClients},
	{"memory", infoMemory},
	{"persistence", infoPersistence},
	{"stats", infoStats},
	{"replication", infoReplication},
	{"cpu", infoCPU},
	{"modules", infoModules},
	{"cluster", infoCluster},
	{"keyspace", infoKeyspace},
}

// info answers INFO [section...]; sections are named as in Redis, "default", "all" and "everything" mean all.
func info(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	wanted := func(name string) bool {
		return len(args) == 1 || slices.ContainsFunc(args[1:], func(arg []byte) bool {
			return is(arg, name) || is(arg, "default") || is(arg, "all") || is(arg, "everything")
		})
	}
	t := l.collect()
	var b strings.Builder
	for _, section := range infoSections {
		if !wanted(section.name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		title := strings.ToUpper(section.name[:1]) + section.name[1:]
		if section.name == "cpu" {
			title = "CPU"
		}
		fmt.Fprintf(&b, "# %s\r\n", title)
		section.write(l.server, t, &b)
	}
	w.Verbatim("txt", b.String())
}

// line writes one field of INFO.
func line(b *strings.Builder, name string, value any) { fmt.Fprintf(b, "%s:%v\r\n", name, value) }

func infoServer(s *Server, _ *totals, b *strings.Builder) {
	executable, _ := os.Executable() // empty where it is not known
	uptime := int64(s.clock.uptime().Seconds())
	line(b, "redis_version", redisVersion)
	line(b, "cellserver_version", Version)
	line(b, "redis_mode", "standalone")
	line(b, "os", runtime.GOOS+" "+runtime.GOARCH)
	line(b, "arch_bits", 32<<(^uint(0)>>63))
	line(b, "multiplexing_api", s.config.IO)
	line(b, "go_version", runtime.Version())
	line(b, "process_id", os.Getpid())
	line(b, "run_id", s.runID)
	line(b, "tcp_port", s.config.Port)
	line(b, "server_time_usec", s.clock.now()/1000)
	line(b, "uptime_in_seconds", uptime)
	line(b, "uptime_in_days", uptime/(24*3600))
	line(b, "shards", len(s.loops))
	line(b, "executable", executable)
	line(b, "config_file", "")
}

func infoClients(s *Server, t *totals, b *strings.Builder) {
	line(b, "connected_clients", s.clients())
	line(b, "maxclients", s.config.MaxClients)
	line(b, "client_recent_max_input_buffer", t.maxIn)
	line(b, "client_recent_max_output_buffer", t.maxOut)
	line(b, "blocked_clients", 0)
	line(b, "tracking_clients", t.tracked)
}

func infoMemory(_ *Server, t *totals, b *strings.Builder) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	used := samples[0].Value.Uint64()
	mapped := samples[1].Value.Uint64() - samples[2].Value.Uint64()
	line(b, "used_memory", used)
	line(b, "used_memory_human", human(used))
	line(b, "used_memory_rss", mapped)
	line(b, "used_memory_rss_human", human(mapped))
	line(b, "used_memory_dataset", t.bytes)
	line(b, "maxmemory", 0)
	line(b, "maxmemory_human", "0B")
	line(b, "maxmemory_policy", "noeviction")
	line(b, "mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(mapped)/float64(max(used, 1))))
	line(b, "mem_allocator", "go")
}

// human writes a number of bytes as Redis does: 1.50M.
func human(bytes uint64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%dB", bytes)
	}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len("BKMGT")-1 {
		value /= 1024
		unit++
	}
	return fmt.Sprintf("%.2f%c", value, "BKMGT"[unit])
}

func infoPersistence(_ *Server, t *totals, b *strings.Builder) {
	line(b, "loading", 0)
	line(b, "rdb_changes_since_last_save", t.engine.Changes)
	line(b, "rdb_bgsave_in_progress", 0)
	line(b, "aof_enabled", 0)
	line(b, "aof_rewrite_in_progress", 0)
}

func infoStats(s *Server, t *totals, b *strings.Builder) {
	line(b, "total_connections_received", s.accepted.Load())
	line(b, "total_commands_processed", t.commands)
	line(b, "total_net_input_bytes", t.inputBytes)
	line(b, "total_net_output_bytes", t.outputBytes)
	line(b, "rejected_connections", s.rejected.Load())
	line(b, "expired_keys", t.engine.Expired)
	line(b, "evicted_keys", 0)
	line(b, "keyspace_hits", t.engine.Hits)
	line(b, "keyspace_misses", t.engine.Misses)
	line(b, "total_error_replies", t.errorReplies)
	line(b, "total_reads_processed", t.reads)
	line(b, "total_writes_processed", t.writes)
	line(b, "client_query_buffer_limit_disconnections", t.queryLimitCloses)
	line(b, "client_output_buffer_limit_disconnections", t.outputLimitCloses)
	line(b, "throttle_allowed", t.engine.Allowed)
	line(b, "throttle_limited", t.engine.Limited)
}

func infoReplication(s *Server, _ *totals, b *strings.Builder) {
	line(b, "role", "master")
	line(b, "connected_slaves", 0)
	line(b, "master_replid", s.runID)
	line(b, "master_repl_offset", 0)
}

func infoCPU(_ *Server, _ *totals, b *strings.Builder) {
	user, system, known := processCPU()
	if known {
		line(b, "used_cpu_sys", fmt.Sprintf("%.6f", system.Seconds()))
		line(b, "used_cpu_user", fmt.Sprintf("%.6f", user.Seconds()))
	}
}

func infoModules(_ *Server, _ *totals, b *strings.Builder) {
	fmt.Fprintf(b, "module:name=%s,ver=%d,api=1,filters=0,usedby=[],using=[],options=[]\r\n", moduleName, moduleVersion)
}

func infoCluster(_ *Server, _ *totals, b *strings.Builder) { line(b, "cluster_enabled", 0) }

func infoKeyspace(_ *Server, t *totals, b *strings.Builder) {
	for db, n := range t.keys {
		if n > 0 {
			fmt.Fprintf(b, "db%d:keys=%d,expires=%d,avg_ttl=0\r\n", db, n, n)
		}
	}
}
