package server

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// infoField returns a field of INFO's sections.
func infoField(c *client, sections, name string) string {
	c.t.Helper()
	text, err := strconv.Unquote(c.do(append([]string{"INFO"}, strings.Fields(sections)...)...))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, l := range strings.Split(text, "\r\n") {
		if value, found := strings.CutPrefix(l, name+":"); found {
			return value
		}
	}
	return ""
}

// TestCommandStats: calls, rejections and failures are counted by command, on whichever shard they were carried out.
func TestCommandStats(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		var pipeline strings.Builder
		for i := range 300 {
			pipeline.WriteString(encode("CL.THROTTLE", fmt.Sprint("k", i), "5", "1", "1"))
			pipeline.WriteString(encode("GET", fmt.Sprint("k", i)))
		}
		pipeline.WriteString(encode("CL.THROTTLE", "k", "1", "0", "1") + encode("GET") + encode("MGET", "a", "b", "c", "d", "e", "f") +
			encode("SELECT", "99") + encode("FOO") + encode("OBJECT", "FOO"))
		c.send(pipeline.String())
		for range 606 {
			c.reply()
		}
		for name, want := range map[string]string{
			"cl.throttle": `calls=301,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=0,failed_calls=1`,
			"get":         `calls=300,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=1,failed_calls=0`,
			"mget":        `calls=1,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=0,failed_calls=0`,
			"select":      `calls=1,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=0,failed_calls=1`,
			"object":      ``, // an unknown subcommand counts nowhere, as in Redis
		} {
			if got := infoField(c, "commandstats", "cmdstat_"+name); !regexp.MustCompile("^" + want + "$").MatchString(got) {
				t.Errorf("%s: %s", name, got)
			}
		}
		for name, want := range map[string]string{"errorstat_ERR": "count=4", "errorstat_Cell": "count=1"} {
			if got := infoField(c, "errorstats", name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		if got := infoField(c, "latencystats", "latency_percentiles_usec_cl.throttle"); !regexp.MustCompile(`^p50=\d+\.\d{3},p99=\d+\.\d{3},p99.9=\d+\.\d{3}$`).MatchString(got) {
			t.Errorf("latencystats: %s", got)
		}
		c.do("CONFIG", "SET", "latency-tracking-info-percentiles", "25 99.99")
		if got := infoField(c, "latencystats", "latency_percentiles_usec_cl.throttle"); !regexp.MustCompile(`^p25=\d+\.\d{3},p99.99=\d+\.\d{3}$`).MatchString(got) {
			t.Error("other percentiles:", got)
		}
		if got := c.run("LATENCY HISTOGRAM get"); !fits(`["get" ["calls" 300 "histogram_usec" [* 300]]]`, got) {
			t.Error("LATENCY HISTOGRAM", got)
		}
		if got := infoField(c, "stats", "total_error_replies"); got != "5" {
			t.Errorf("total_error_replies:%s", got)
		}
		c.run("CONFIG RESETSTAT")
		if got := infoField(c, "stats", "total_commands_processed"); got != "1" { // RESETSTAT itself, as in Redis
			t.Errorf("after CONFIG RESETSTAT total_commands_processed:%s", got)
		}
		if got := infoField(c, "all", "cmdstat_get"); got != "" {
			t.Errorf("after CONFIG RESETSTAT cmdstat_get:%s", got)
		}
	})
}

// TestBatchTimeIsDividedByKeys: in a batch of a call with 90 keys and ten with one, the first has 90% of the time.
func TestBatchTimeIsDividedByKeys(t *testing.T) {
	l, conns := newScriptedLoop(t, 1, 1, 1)
	find := func(name string) *command { return l.server.commands.named([]byte(name)) }
	b := l.takeBatch()
	words := [][]byte{[]byte("mget")}
	for range 90 {
		words = append(words, []byte("k"))
	}
	for range 10 {
		call := l.add(b, conns[0], find("cl.throttle"), 0)
		call.key = l.server.key(0, []byte("k"))
	}
	l.addKeyed(b, conns[0], find("mget"), words, l.server.key(0, words[1]))
	b.spent = 100 * time.Millisecond
	measuring := l.server.config().Clone()
	measuring.SlowlogLogSlowerThanMicros, measuring.LatencyMonitorThresholdMillis = 50_000, 100
	l.server.settings.Store(measuring)
	l.bookBatch(b)
	for name, want := range map[string]time.Duration{"mget": 90 * time.Millisecond, "cl.throttle": 10 * time.Millisecond} {
		if got := time.Duration(l.stats.byCommand[find(name).index].nanos); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if slow := l.server.slowlog.last(-1); len(slow) != 1 || slow[0].words[0] != "mget" || slow[0].spent != 90*time.Millisecond {
		t.Errorf("slow are %v", slow)
	}
	if e := l.server.latency.event(eventFastCommand); len(e.samples) != 1 || e.worst != 100 {
		t.Errorf("latency event %v", e)
	}
}

// TestErrorKindsAreBounded: 128 kinds of errors are counted apart, the 129th in the total only.
func TestErrorKindsAreBounded(t *testing.T) {
	s := newLoopStats(1)
	for i := range maxErrorKinds + 1 {
		s.countError(nil, fmt.Appendf(nil, "-KIND%d text\r\n", i))
	}
	s.countError(nil, []byte("-KIND0 again\r\n"))
	s.countError(&command{}, []byte("-noword\r\n"))
	if len(s.errors) != maxErrorKinds || s.errors["KIND0"] != 2 || s.errors["KIND127"] != 1 || s.errors["KIND128"] != 0 {
		t.Errorf("%d kinds: %v", len(s.errors), s.errors)
	}
	if s.errorReplies != maxErrorKinds+3 || s.byCommand[0].failed != 1 {
		t.Errorf("%d errors, %d failed", s.errorReplies, s.byCommand[0].failed)
	}
}

func TestRates(t *testing.T) {
	var r rates
	s := newLoopStats(0)
	if commands, _, _ := r.perSecond(); commands != 0 {
		t.Error("a rate without samples")
	}
	for i := range 3 * rateSamples {
		now := int64(1 + i*int(rateEvery))
		if !r.due(now) || i > 0 && r.due(now-1) {
			t.Fatal("not due when it should be at ", i)
		}
		r.sample(now, &s)
		s.commands += 10
		s.inputBytes += 100
		s.outputBytes += 1000
	}
	perSecond := float64(time.Second / rateEvery)
	if commands, input, output := r.perSecond(); commands != 10*perSecond || input != 100*perSecond || output != 1000*perSecond {
		t.Error(commands, input, output)
	}
	for i := range rateSamples {
		r.sample(int64(1+(3*rateSamples+i)*int(rateEvery)), &s)
	}
	if commands, _, _ := r.perSecond(); commands != 0 {
		t.Error("the rate of an idle time is", commands)
	}
}

// TestInfoForMonitoring: INFO has the fields that redis_exporter and RedisInsight read of Redis 7.0, each with a value.
func TestInfoForMonitoring(t *testing.T) {
	c := dial(t, startServer(t, nil))
	c.run("CL.THROTTLE k 15 30 3600")
	c.run("FOO")
	for _, name := range strings.Fields(`redis_version redis_build_id redis_mode os run_id tcp_port process_id uptime_in_seconds
		uptime_in_days io_threads_active connected_clients blocked_clients maxclients client_recent_max_input_buffer
		client_recent_max_output_buffer used_memory used_memory_rss used_memory_peak used_memory_overhead used_memory_startup
		used_memory_dataset maxmemory maxmemory_policy mem_fragmentation_ratio mem_clients_normal allocator_allocated allocator_active
		allocator_resident allocator_frag_ratio allocator_rss_ratio number_of_cached_scripts loading async_loading
		rdb_changes_since_last_save rdb_bgsave_in_progress rdb_last_save_time rdb_last_bgsave_status rdb_last_bgsave_time_sec aof_enabled
		aof_rewrite_in_progress aof_last_rewrite_time_sec aof_last_write_status aof_last_bgrewrite_status total_connections_received
		total_commands_processed instantaneous_ops_per_sec instantaneous_input_kbps instantaneous_output_kbps rejected_connections
		total_net_input_bytes total_net_output_bytes expired_keys expired_stale_perc expired_time_cap_reached_count evicted_keys
		keyspace_hits keyspace_misses total_reads_processed total_writes_processed unexpected_error_replies total_error_replies
		latest_fork_usec pubsub_channels pubsub_patterns role connected_slaves master_replid master_repl_offset second_repl_offset
		repl_backlog_active used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children module cluster_enabled
		cmdstat_cl.throttle errorstat_ERR latency_percentiles_usec_cl.throttle db0`) {
		if name == "used_cpu_sys" {
			if _, _, known := processCPU(); !known {
				continue
			}
		}
		if infoField(c, "everything", name) == "" {
			t.Errorf("no %s", name)
		}
	}
	millis, err := strconv.Atoi(strings.TrimPrefix(infoField(c, "keyspace", "db0"), "keys=1,expires=1,avg_ttl="))
	if err != nil || millis < 100_000 || millis > 120_000 {
		t.Errorf("avg_ttl of a key that lives for 120 s is %d ms (%v)", millis, err)
	}
	if all := c.run("INFO"); strings.Contains(all, "# Commandstats") || !strings.Contains(all, "# Errorstats") {
		t.Error("INFO alone has other sections than Redis's")
	}
}

// TestTransactionStats: the commands of a transaction count when they are carried out, each with its own time, and EXEC
// with the time of all.
func TestTransactionStats(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, func(c *Config) {
			configure(c)
			c.EnableDebugCommand = debugForAll
		}))
		for _, line := range []string{"MULTI", "GET a", "CL.THROTTLE k 5 1 1", "DEBUG SLEEP 0.02", "SELECT 99", "EXEC", "MULTI", "GET", "EXEC"} {
			c.run(line)
		}
		for name, want := range map[string]string{
			"get":         `calls=1,.*,rejected_calls=1,failed_calls=0`,
			"cl.throttle": `calls=1,.*,rejected_calls=0,failed_calls=0`,
			"select":      `calls=1,.*,rejected_calls=0,failed_calls=1`,
			"debug":       `calls=1,usec=\d{5,},.*,rejected_calls=0,failed_calls=0`,
			"exec":        `calls=2,usec=\d{5,},.*,rejected_calls=0,failed_calls=1`,
			"multi":       `calls=2,.*,rejected_calls=0,failed_calls=0`,
		} {
			if got := infoField(c, "commandstats", "cmdstat_"+name); !regexp.MustCompile("^" + want + "$").MatchString(got) {
				t.Errorf("%s: %s", name, got)
			}
		}
		if got := c.run("SLOWLOG GET"); !fits(`[[* ["DEBUG" "SLEEP" "0.02"] *]]`, got) || strings.Contains(got, "EXEC") {
			t.Error("SLOWLOG GET", got)
		}
	})
}
