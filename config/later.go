package config

import (
	"slices"
	"strings"
)

// The directives that came after Redis 7.0: with Redis 7.2 to 8.10, and with Valkey 7.2 to 9.1. Their values are checked as those
// servers check them. CONFIG GET * does not list them, so that it answers as Redis 7.0 does; asked for by name, each is shown.
var later = hide(slices.Concat(laterInert, areMissing(laterMissing), laterPromises, areMissing(laterRefused)))

// laterInert are those that cannot concern a rate limiter.
var laterInert = []directive{
	{name: "active-defrag-cycle-us", kind: integer{0, 100000}, value: "500"},
	{name: "array-slice-size", kind: long, value: "4096"},
	{name: "array-sparse-kmax", kind: long, value: "10"},
	{name: "array-sparse-kmin", kind: long, value: "5"},
	{name: "extended-redis-compatibility", kind: boolean{}, value: "no"},
	{name: "hash-max-template-entries", kind: long, value: "0"},
	{name: "hash-min-template-entries", kind: long, value: "0"},
	{name: "hash-rdb-load-max-template-entries", kind: long, value: "0"},
	{name: "hash-rdb-load-min-template-entries", kind: long, value: "0"},
	{name: "hash-rdb-load-template-disassembly-threshold", kind: long, value: "0"},
	{name: "key-memory-histograms", kind: boolean{}, value: "no"},
	{name: "lazyexpire-nested-arbitrary-keys", kind: boolean{}, value: "yes"},
	{name: "locale-collate", kind: anyText},
	{name: "rdb-compression-algo", kind: choice{"lzf", "lz4", "zstd"}, value: "lzf"},
	{name: "rdb-compression-level", kind: integer{-1000, 22}, value: "0"},
	{name: "set-max-listpack-entries", kind: long, value: "128"},
	{name: "set-max-listpack-value", kind: anyBytes, value: "64"},
	{name: "stream-idmp-duration", kind: long, value: "100"},
	{name: "stream-idmp-maxsize", kind: long, value: "100"},
}

// laterMissing are those that may concern the operator of a rate limiter, and are not implemented.
var laterMissing = []directive{
	{name: "aof-load-corrupt-tail-max-size", kind: anyBytes, value: "0"},
	{name: "auto-failover-on-shutdown", kind: boolean{}, value: "no"},
	{name: "availability-zone", kind: anyText},
	{name: "backup-sealed-ttl", kind: long, value: "0"},
	{name: "backupdirname", kind: fileName("backupdirname", "dirname"), value: "backupdir", when: atStart},
	{name: "close-on-replica-write", alias: "close-on-slave-write", kind: boolean{}, value: "yes"},
	{name: "cluster-announce-client-ipv4", kind: anyText},
	{name: "cluster-announce-client-ipv6", kind: anyText},
	{name: "cluster-announce-client-port", kind: port, value: "0"},
	{name: "cluster-announce-client-tls-port", kind: port, value: "0"},
	{name: "cluster-announce-human-nodename", kind: anyText},
	{name: "cluster-blacklist-ttl", kind: long, value: "60"},
	{name: "cluster-compatibility-sample-ratio", kind: integer{0, 100}, value: "0"},
	{name: "cluster-config-save-behavior", kind: choice{"sync", "best-effort"}, value: "sync"},
	{name: "cluster-databases", kind: integer{1, maxInt}, value: "1", when: atStart},
	{name: "cluster-manual-failover-timeout", kind: integer{1, maxInt}, value: "5000"},
	{name: "cluster-message-gossip-perc", kind: integer{1, 100}, value: "10"},
	{name: "cluster-ping-interval", kind: long, value: "0"},
	{name: "cluster-slot-migration-handoff-max-lag-bytes", kind: anyBytes, value: "1048576"},
	{name: "cluster-slot-migration-log-max-len", kind: long, value: "1000"},
	{name: "cluster-slot-migration-max-archived-tasks", kind: integer{1, maxInt}, value: "32"},
	{name: "cluster-slot-migration-sync-buffer-drain-timeout", kind: long, value: "60000"},
	{name: "cluster-slot-migration-write-pause-timeout", kind: long, value: "10000"},
	{name: "cluster-slot-stats-enabled", kind: flags{choice: choice{"no", "yes", "cpu", "net", "mem"}}, value: "no"},
	{name: "commandlog-large-reply-max-len", kind: long, value: "128"},
	{name: "commandlog-large-request-max-len", kind: long, value: "128"},
	{name: "commandlog-reply-larger-than", kind: integer{-1, maxLong}, value: "1048576"},
	{name: "commandlog-request-larger-than", kind: integer{-1, maxLong}, value: "1048576"},
	{name: "debug-context", kind: anyText},
	{name: "dual-channel-replication-enabled", kind: boolean{}, value: "no"},
	{name: "enable-debug-assert", alias: "debug-assert-enabled", kind: boolean{}, value: "no", when: atStart},
	{name: "events-per-io-thread", kind: count, value: "2"},
	{name: "hash-seed", kind: anyText, when: atStart},
	{name: "import-mode", kind: boolean{}, value: "no"},
	{name: "io-threads-always-active", kind: boolean{}, value: "no"},
	{name: "log-format", kind: choice{"legacy", "logfmt", "json"}, value: "legacy"},
	{name: "log-timestamp-format", kind: choice{"legacy", "iso8601", "milliseconds"}, value: "legacy"},
	{name: "lookahead", kind: integer{1, maxInt}, value: "16"},
	{name: "max-new-connections-per-cycle", kind: integer{1, 1000}, value: "10"},
	{name: "max-new-tls-connections-per-cycle", kind: integer{1, 1000}, value: "1"},
	{name: "min-io-threads-avoid-copy-reply", kind: count, value: "7"},
	{name: "min-string-size-avoid-copy-reply", kind: count, value: "16384"},
	{name: "min-string-size-avoid-copy-reply-threaded", kind: count, value: "65536"},
	{name: "mptcp", kind: boolean{}, value: "no", when: atStart},
	{name: "prefetch-batch-max-size", kind: integer{0, 128}, value: "16"},
	{name: "rdb-version-check", kind: choice{"strict", "relaxed"}, value: "strict"},
	{name: "rdma-bind", kind: addresses{}},
	{name: "rdma-completion-vector", kind: integer{-1, 1024}, value: "-1", when: atStart},
	{name: "rdma-rx-size", kind: integer{64 << 10, 16 << 20}, value: "1048576", when: atStart},
	{name: "repl-mptcp", kind: boolean{}, value: "no", when: atStart},
	{name: "repl-rdb-channel", kind: boolean{}, value: "no"},
	{name: "replica-full-sync-buffer-limit", kind: anyBytes, value: "0"},
	{name: "slot-migration-max-failover-repl-bytes", kind: anyBytes, value: "0"},
	{name: "slowlog-entry-max-argc", kind: integer{2, maxLong}, value: "32"},
	{name: "slowlog-entry-max-string-len", kind: long, value: "128"},
	{name: "tls-expected-peer-name", kind: anyText},
}

// laterPromises are those that promise something that cellserver does not do.
var laterPromises = []directive{
	{name: "hide-user-data-from-log", kind: boolean{}, value: "no", promise: "the log shows what scripts write to it, and may name keys that a load leaves out"},
	{name: "rdma-port", kind: port, value: "0", promise: "nothing listens for RDMA"},
	{name: "tls-auto-reload-interval", kind: count, value: "0", promise: "certificates are reloaded on SIGHUP and by CONFIG SET"},
	{name: "unixsocketgroup", kind: anyText, when: atStart, promise: "the socket belongs to the process's group"},
}

// laterRefused are those that stop the start when they ask for something that does not exist here.
var laterRefused = []directive{
	{name: "preload-file", kind: only{"", "cellserver loads only the files in dir"}, when: atStart},
	{name: "tls-auth-clients-user", kind: only{"off", "cellserver does not take a client's user from its certificate"}, value: "off"},
}

func hide(rows []directive) []directive {
	for i := range rows {
		rows[i].hidden = true
	}
	return rows
}

// isOfModule recognizes the names of directives that belong to the modules of Redis 8. Without loadmodule, which is refused, they
// mean nothing.
func isOfModule(name string) bool {
	return slices.ContainsFunc([]string{"bf-", "cf-", "search-", "ts-", "vset-"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
