package config

import "slices"

// missing are the directives of Redis 7.0 that may concern the operator of a rate limiter, and that are not implemented. Their
// values are checked, kept and shown.
var missing = areMissing([]directive{
	{name: "active-expire-effort", kind: integer{1, 10}, value: "1"},
	{name: "aof-disable-auto-gc", kind: boolean{}, value: "no"},
	{name: "aof-rewrite-incremental-fsync", kind: boolean{}, value: "yes"},
	{name: "aof-use-rdb-preamble", kind: boolean{}, value: "yes"},
	{name: "aof_rewrite_cpulist", later: "aof-rewrite-cpulist", kind: anyText, when: atStart},
	{name: "bgsave_cpulist", later: "bgsave-cpulist", kind: anyText, when: atStart},
	{name: "bind-source-addr", kind: anyText},
	{name: "bio_cpulist", later: "bio-cpulist", kind: anyText, when: atStart},
	{name: "cluster-allow-pubsubshard-when-down", kind: boolean{}, value: "yes"},
	{name: "cluster-allow-reads-when-down", kind: boolean{}, value: "no"},
	{name: "cluster-allow-replica-migration", kind: boolean{}, value: "yes"},
	{name: "cluster-announce-bus-port", kind: port, value: "0"},
	{name: "cluster-announce-hostname", kind: anyText},
	{name: "cluster-announce-ip", kind: anyText},
	{name: "cluster-announce-port", kind: port, value: "0"},
	{name: "cluster-announce-tls-port", kind: port, value: "0"},
	{name: "cluster-config-file", kind: anyText, value: "nodes.conf", when: atStart},
	{name: "cluster-link-sendbuf-limit", kind: anyBytes, value: "0"},
	{name: "cluster-migration-barrier", kind: count, value: "1"},
	{name: "cluster-node-timeout", kind: long, value: "15000"},
	{name: "cluster-port", kind: port, value: "0", when: atStart},
	{name: "cluster-preferred-endpoint-type", kind: choice{"ip", "hostname", "unknown-endpoint"}, value: "ip"},
	{name: "cluster-replica-no-failover", alias: "cluster-slave-no-failover", kind: boolean{}, value: "no"},
	{name: "cluster-replica-validity-factor", alias: "cluster-slave-validity-factor", kind: count, value: "10"},
	{name: "cluster-require-full-coverage", kind: boolean{}, value: "yes"},
	{name: "enable-module-command", kind: noYesLocal, value: "no", when: atStart},
	{name: "io-threads", kind: integer{1, 256}, value: "1", when: atStart},
	{name: "io-threads-do-reads", kind: boolean{}, value: "no", when: atStart},
	{name: "lfu-decay-time", kind: count, value: "1"},
	{name: "lfu-log-factor", kind: count, value: "10"},
	{name: "masterauth", later: "primaryauth", kind: anyText},
	{name: "masteruser", later: "primaryuser", kind: anyText},
	{name: "maxmemory-eviction-tenacity", kind: integer{0, 100}, value: "10"},
	{name: "maxmemory-samples", kind: integer{1, maxInt}, value: "5"},
	{name: "no-appendfsync-on-rewrite", kind: boolean{}, value: "no"},
	{name: "oom-score-adj", kind: choice{"no", "yes", "relative", "absolute"}, value: "no"},
	{name: "oom-score-adj-values", kind: oomScores{}, value: "0 200 800"},
	{name: "propagation-error-behavior", kind: choice{"ignore", "panic", "panic-on-replicas"}, value: "ignore"},
	{name: "rdb-del-sync-files", kind: boolean{}, value: "no"},
	{name: "rdb-save-incremental-fsync", kind: boolean{}, value: "yes"},
	{name: "rdbchecksum", kind: boolean{}, value: "yes", when: atStart},
	{name: "repl-backlog-size", kind: anyBytes, value: "1048576"},
	{name: "repl-backlog-ttl", kind: long, value: "3600"},
	{name: "repl-disable-tcp-nodelay", kind: boolean{}, value: "no"},
	{name: "repl-diskless-load", kind: widened{choice{"disabled", "on-empty-db", "swapdb"}, choice{"flush-before-load"}}, value: "disabled"},
	{name: "repl-diskless-sync", kind: boolean{}, value: "yes"},
	{name: "repl-diskless-sync-delay", kind: count, value: "5"},
	{name: "repl-diskless-sync-max-replicas", kind: count, value: "0"},
	{name: "repl-ping-replica-period", alias: "repl-ping-slave-period", kind: integer{1, maxInt}, value: "10"},
	{name: "repl-timeout", kind: integer{1, maxInt}, value: "60"},
	{name: "replica-announce-ip", alias: "slave-announce-ip", kind: anyText},
	{name: "replica-announce-port", alias: "slave-announce-port", kind: port, value: "0"},
	{name: "replica-announced", kind: boolean{}, value: "yes"},
	{name: "replica-ignore-disk-write-errors", kind: boolean{}, value: "no"},
	{name: "replica-ignore-maxmemory", alias: "slave-ignore-maxmemory", kind: boolean{}, value: "yes"},
	{name: "replica-lazy-flush", alias: "slave-lazy-flush", kind: boolean{}, value: "no"},
	{name: "replica-priority", alias: "slave-priority", kind: count, value: "100"},
	{name: "replica-read-only", alias: "slave-read-only", kind: boolean{}, value: "yes"},
	{name: "replica-serve-stale-data", alias: "slave-serve-stale-data", kind: boolean{}, value: "yes"},
	{name: "server_cpulist", later: "server-cpulist", kind: anyText, when: atStart},
	{name: "shutdown-timeout", kind: count, value: "10"},
	{name: "tls-client-cert-file", kind: anyText},
	{name: "tls-client-key-file", kind: anyText},
	{name: "tls-client-key-file-pass", kind: anyText},
	{name: "tls-cluster", kind: boolean{}, value: "no"},
	{name: "tls-dh-params-file", kind: anyText},
	{name: "tls-replication", kind: boolean{}, value: "no"},
	{name: "tls-session-cache-size", kind: count, value: "20480"},
	{name: "tls-session-cache-timeout", kind: count, value: "300"},
	{name: "tls-session-caching", kind: boolean{}, value: "yes"},
	{name: "tracking-table-max-keys", kind: long, value: "1000000"},
	{name: "key-load-delay", kind: integer{-maxInt - 1, maxInt}, value: "0", hidden: true},
	{name: "rdb-key-save-delay", kind: integer{-maxInt - 1, maxInt}, value: "0", hidden: true},
	{name: "lua-enable-deprecated-api", later: "lua-enable-insecure-api", kind: boolean{}, value: "no", when: atStart, hidden: true},
	{name: "watchdog-period", kind: count, value: "0", hidden: true},
	{name: "tls-prefer-server-ciphers", kind: boolean{}, value: "no"},
})

// promises are the directives of Redis 7.0 that promise something that cellserver does not do. A value that asks for it is
// checked and neither kept nor shown: a file that has it loads with a warning, and CONFIG SET refuses it.
var promises = []directive{
	{name: "maxmemory", kind: anyBytes, value: "0", promise: "memory is not limited; keys take about 40 bytes each and live only until their limit is full again"},
	{name: "maxmemory-clients", kind: memory{percent: true}, value: "0", promise: "no client is closed for its use of memory"},
	{name: "maxmemory-policy", kind: maxmemoryPolicies, value: "noeviction", promise: "nothing is evicted"},
	{name: "min-replicas-max-lag", alias: "min-slaves-max-lag", kind: count, value: "10", promise: "there are no replicas"},
	{name: "min-replicas-to-write", alias: "min-slaves-to-write", kind: count, value: "0", promise: "there are no replicas, and writes are accepted without them"},
	{name: "notify-keyspace-events", kind: events{}, promise: "no events are published"},
	{name: "socket-mark-id", kind: integer{0, maxUint}, value: "0", when: atStart, promise: "sockets are not marked"},
	{name: "tls-ciphersuites", kind: anyText, promise: "all of Go's TLS 1.3 cipher suites are in use; they cannot be chosen"},
}

// refused are the directives of Redis 7.0 that stop the start when they ask for something that does not exist here: a server
// that ran anyway would not be the one that the file asks for.
var refused = []directive{
	{name: "cluster-enabled", kind: only{"no", "cellserver does not support clusters"}, value: "no", when: atStart},
	{name: "replicaof", alias: "slaveof", kind: noReplica{}, when: atStart},
	{name: "tls-key-file-pass", kind: only{"", "cellserver does not read encrypted keys; openssl pkey removes the password"}},
}

// maxmemoryPolicies are those of Redis 7.0, and two more of Redis 8.6.
var maxmemoryPolicies = widened{
	choice{"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction"},
	choice{"volatile-lrm", "allkeys-lrm"},
}

// areMissing marks directives as ones that are not implemented.
func areMissing(rows []directive) []directive {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].missing = true
	}
	return rows
}
