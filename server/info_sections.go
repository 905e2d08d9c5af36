package server

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file has the sections of INFO, with the fields of Redis 7.0 that mean something here, in its order. Fields that a
// feature would fill which this server does not have stand at the zero that is true, since monitoring asks for them; fields
// about Redis's own insides (jemalloc's arenas, its main thread, the LRU clock) are left out.

// line writes one field.
func line(b *strings.Builder, name string, value any) { fmt.Fprintf(b, "%s:%v\r\n", name, value) }

// flagLine writes a field that is 1 or 0.
func flagLine(b *strings.Builder, name string, on bool) {
	value := 0
	if on {
		value = 1
	}
	line(b, name, value)
}

// never writes fields of things that do not happen here.
func never(b *strings.Builder, names ...string) {
	for _, name := range names {
		line(b, name, 0)
	}
}

// bytesLine writes a field in bytes and the same for people.
func bytesLine(b *strings.Builder, name string, bytes uint64) {
	line(b, name, bytes)
	line(b, name+"_human", human(bytes))
}

// ratio writes a quotient as Redis does.
func ratio(b *strings.Builder, name string, part, whole uint64) {
	line(b, name, fmt.Sprintf("%.2f", float64(part)/float64(max(whole, 1))))
}

// percentOf writes a part in per cent as Redis does.
func percentOf(b *strings.Builder, name string, part, whole uint64) {
	line(b, name, fmt.Sprintf("%.2f%%", 100*float64(part)/float64(max(whole, 1))))
}

// excess returns by how much a exceeds b, which is negative where it does not.
func excess(a, b uint64) int64 { return int64(a) - int64(b) }

// build returns what is known of the sources that the program was built from: the first digits of the revision, whether
// they had changes, and a number that other builds do not have.
func build() (revision string, dirty int, id uint64) {
	revision = "00000000"
	info, known := debug.ReadBuildInfo()
	if !known {
		return revision, 0, 0
	}
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision" && len(setting.Value) >= len(revision):
			revision = setting.Value[:len(revision)]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = 1
		}
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(info.String())) // never fails
	return revision, dirty, sum.Sum64()
}

func infoServer(s *Server, _ *totals, b *strings.Builder) {
	executable, _ := os.Executable() // empty where it is not known
	uptime := int64(s.clock.uptime().Seconds())
	revision, dirty, buildID := build()
	line(b, "redis_version", redisVersion)
	line(b, "redis_git_sha1", revision)
	line(b, "redis_git_dirty", dirty)
	line(b, "redis_build_id", fmt.Sprintf("%x", buildID))
	line(b, "redis_mode", "standalone")
	line(b, "cellserver_version", Version)
	line(b, "os", runtime.GOOS+" "+runtime.GOARCH)
	line(b, "arch_bits", strconv.IntSize)
	line(b, "multiplexing_api", s.config().IO)
	line(b, "go_version", runtime.Version())
	line(b, "process_id", os.Getpid())
	line(b, "process_supervised", "no")
	line(b, "run_id", s.runID)
	line(b, "tcp_port", s.config().Port)
	line(b, "server_time_usec", s.clock.now()/1000)
	line(b, "uptime_in_seconds", uptime)
	line(b, "uptime_in_days", uptime/(24*3600))
	line(b, "hz", int(time.Second/tick))
	line(b, "configured_hz", int(time.Second/tick))
	line(b, "shards", len(s.loops))
	line(b, "executable", executable)
	line(b, "config_file", s.config().File)
	never(b, "io_threads_active")
}

func infoClients(s *Server, t *totals, b *strings.Builder) {
	line(b, "connected_clients", s.clients())
	never(b, "cluster_connections")
	line(b, "maxclients", s.config().MaxClients)
	line(b, "client_recent_max_input_buffer", t.maxIn)
	line(b, "client_recent_max_output_buffer", t.maxOut)
	line(b, "blocked_clients", t.waiting)
	line(b, "tracking_clients", t.tracked)
	never(b, "clients_in_timeout_table")
}

func infoMemory(s *Server, t *totals, b *strings.Builder) {
	m := readMemory()
	s.memory.look(m.allocated)
	peak, data := s.memory.peak.Load(), min(uint64(t.bytes), m.allocated)
	bytesLine(b, "used_memory", m.allocated)
	bytesLine(b, "used_memory_rss", m.resident)
	bytesLine(b, "used_memory_peak", peak)
	percentOf(b, "used_memory_peak_perc", m.allocated, peak)
	line(b, "used_memory_overhead", m.allocated-data)
	line(b, "used_memory_startup", s.memory.startup)
	line(b, "used_memory_dataset", data)
	percentOf(b, "used_memory_dataset_perc", data, m.allocated)
	line(b, "allocator_allocated", m.allocated)
	line(b, "allocator_active", m.active)
	line(b, "allocator_resident", m.mapped)
	if total := systemMemory(); total > 0 {
		bytesLine(b, "total_system_memory", total)
	}
	line(b, "number_of_cached_scripts", t.scripts)
	line(b, "used_memory_scripts_eval", t.scriptBytes)
	bytesLine(b, "used_memory_scripts", uint64(t.scriptBytes))
	never(b, "used_memory_lua", "used_memory_vm_eval", "number_of_functions",
		"number_of_libraries", "used_memory_vm_functions", "used_memory_vm_total", "used_memory_functions")
	bytesLine(b, "maxmemory", 0)
	line(b, "maxmemory_policy", "noeviction")
	ratio(b, "allocator_frag_ratio", m.active, m.allocated)
	line(b, "allocator_frag_bytes", excess(m.active, m.allocated))
	ratio(b, "allocator_rss_ratio", m.mapped, m.active)
	line(b, "allocator_rss_bytes", excess(m.mapped, m.active))
	ratio(b, "rss_overhead_ratio", m.resident, m.mapped)
	line(b, "rss_overhead_bytes", excess(m.resident, m.mapped))
	ratio(b, "mem_fragmentation_ratio", m.resident, m.allocated)
	line(b, "mem_fragmentation_bytes", excess(m.resident, m.allocated))
	never(b, "mem_not_counted_for_evict", "mem_replication_backlog", "mem_total_replication_buffers", "mem_clients_slaves")
	line(b, "mem_clients_normal", t.clientBytes)
	never(b, "mem_cluster_links", "mem_aof_buffer")
	line(b, "mem_allocator", "go")
	never(b, "active_defrag_running", "lazyfree_pending_objects", "lazyfreed_objects")
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

// infoPersistence shows what is being loaded, the snapshots and the log. Redis's counts of forks for modules are 0 here.
func infoPersistence(s *Server, t *totals, b *strings.Builder) {
	s.loading.info(b)
	s.snapshots.info(b, t.engine.Changes)
	s.infoLog(b)
	never(b, "module_fork_in_progress", "module_fork_last_cow_size")
	s.loading.infoProgress(b, time.Now())
}

func infoStats(s *Server, t *totals, b *strings.Builder) {
	kilobytes := func(rate float64) string { return fmt.Sprintf("%.2f", rate/1024) }
	line(b, "total_connections_received", s.accepted.Load())
	line(b, "total_commands_processed", t.commands)
	line(b, "instantaneous_ops_per_sec", int64(t.commandRate))
	line(b, "total_net_input_bytes", t.inputBytes)
	line(b, "total_net_output_bytes", t.outputBytes)
	never(b, "total_net_repl_input_bytes", "total_net_repl_output_bytes")
	line(b, "instantaneous_input_kbps", kilobytes(t.inputRate))
	line(b, "instantaneous_output_kbps", kilobytes(t.outputRate))
	line(b, "instantaneous_input_repl_kbps", kilobytes(0))
	line(b, "instantaneous_output_repl_kbps", kilobytes(0))
	line(b, "rejected_connections", s.rejected.Load())
	never(b, "sync_full", "sync_partial_ok", "sync_partial_err")
	line(b, "expired_keys", t.engine.Expired)
	line(b, "expired_stale_perc", fmt.Sprintf("%.2f", 100*float64(t.dead)/float64(max(t.live+t.dead, 1))))
	line(b, "expired_time_cap_reached_count", t.sweepsCutShort)
	line(b, "expire_cycle_cpu_milliseconds", t.sweepNanos/int64(time.Millisecond))
	never(b, "evicted_keys", "evicted_clients", "total_eviction_exceeded_time", "current_eviction_exceeded_time")
	line(b, "keyspace_hits", t.engine.Hits)
	line(b, "keyspace_misses", t.engine.Misses)
	line(b, "pubsub_channels", s.pubsub.size(plainChannel))
	line(b, "pubsub_patterns", s.pubsub.size(channelPattern))
	line(b, "pubsubshard_channels", s.pubsub.size(shardChannel))
	never(b, "latest_fork_usec", "total_forks", "migrate_cached_sockets",
		"slave_expires_tracked_keys", "active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses",
		"total_active_defrag_time", "current_active_defrag_time", "tracking_total_keys", "tracking_total_items",
		"tracking_total_prefixes", "unexpected_error_replies")
	line(b, "total_error_replies", t.errorReplies)
	never(b, "dump_payload_sanitizations")
	line(b, "total_reads_processed", t.reads)
	line(b, "total_writes_processed", t.writes)
	never(b, "io_threaded_reads_processed", "io_threaded_writes_processed")
	line(b, "client_query_buffer_limit_disconnections", t.queryLimitCloses)
	line(b, "client_output_buffer_limit_disconnections", t.outputLimitCloses)
	line(b, "throttle_allowed", t.engine.Allowed)
	line(b, "throttle_limited", t.engine.Limited)
}

func infoReplication(s *Server, _ *totals, b *strings.Builder) {
	line(b, "role", "master")
	never(b, "connected_slaves")
	line(b, "master_failover_state", "no-failover")
	line(b, "master_replid", s.runID)
	line(b, "master_replid2", strings.Repeat("0", len(s.runID)))
	never(b, "master_repl_offset")
	line(b, "second_repl_offset", -1)
	never(b, "repl_backlog_active", "repl_backlog_size", "repl_backlog_first_byte_offset", "repl_backlog_histlen")
}

func infoCPU(_ *Server, _ *totals, b *strings.Builder) {
	user, system, known := processCPU()
	if !known {
		return
	}
	seconds := func(name string, spent time.Duration) { line(b, name, fmt.Sprintf("%.6f", spent.Seconds())) }
	seconds("used_cpu_sys", system)
	seconds("used_cpu_user", user)
	seconds("used_cpu_sys_children", 0) // there are no child processes
	seconds("used_cpu_user_children", 0)
}

func infoModules(_ *Server, _ *totals, b *strings.Builder) {
	fmt.Fprintf(b, "module:name=%s,ver=%d,api=1,filters=0,usedby=[],using=[],options=[]\r\n", moduleName, moduleVersion)
}

func infoCommandStats(s *Server, t *totals, b *strings.Builder) {
	for i, c := range t.byCommand {
		if c.calls == 0 && c.rejected == 0 && c.failed == 0 {
			continue
		}
		micros := c.nanos / 1000
		fmt.Fprintf(b, "cmdstat_%s:calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d\r\n",
			s.commands.all[i].fullName(), c.calls, micros, float64(c.nanos)/1000/float64(max(c.calls, 1)), c.rejected, c.failed)
	}
}

func infoErrorStats(_ *Server, t *totals, b *strings.Builder) {
	for _, kind := range slices.SortedFunc(maps.Keys(t.errors), cmp.Compare[string]) {
		fmt.Fprintf(b, "errorstat_%s:count=%d\r\n", kind, t.errors[kind])
	}
}

func infoLatencyStats(s *Server, t *totals, b *strings.Builder) {
	for i, c := range t.byCommand {
		if c.latency == nil {
			continue
		}
		var parts []string
		for _, percent := range s.config().LatencyTrackingInfoPercentiles {
			parts = append(parts, fmt.Sprintf("p%g=%.3f", percent, float64(c.latency.percentile(percent))/1000))
		}
		fmt.Fprintf(b, "latency_percentiles_usec_%s:%s\r\n", s.commands.all[i].fullName(), strings.Join(parts, ","))
	}
}

func infoCluster(_ *Server, _ *totals, b *strings.Builder) { never(b, "cluster_enabled") }

// infoKeyspace tells of the databases that hold keys. The average TTL is an estimate from samples, as Redis's is.
func infoKeyspace(_ *Server, t *totals, b *strings.Builder) {
	for db, n := range t.keys {
		if n > 0 {
			averageMillis := int64(t.ttlNanos[db] / float64(n) / nanosPerMilli)
			fmt.Fprintf(b, "db%d:keys=%d,expires=%d,avg_ttl=%d\r\n", db, n, n, averageMillis)
		}
	}
}
