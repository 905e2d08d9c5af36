package server

// commandTips are the hints of COMMAND INFO for clients that spread commands over several servers.
var commandTips = map[string]string{
	"ping":        "request_policy:all_shards response_policy:all_succeeded",
	"del":         "request_policy:multi_shard response_policy:agg_sum",
	"unlink":      "request_policy:multi_shard response_policy:agg_sum",
	"exists":      "request_policy:multi_shard response_policy:agg_sum",
	"touch":       "request_policy:multi_shard response_policy:agg_sum",
	"mget":        "request_policy:multi_shard",
	"mset":        "request_policy:multi_shard response_policy:all_succeeded",
	"msetnx":      "request_policy:multi_shard response_policy:agg_min",
	"ttl":         "nondeterministic_output",
	"pttl":        "nondeterministic_output",
	"keys":        "request_policy:all_shards nondeterministic_output_order",
	"scan":        "nondeterministic_output request_policy:special",
	"randomkey":   "request_policy:all_shards nondeterministic_output",
	"dbsize":      "request_policy:all_shards response_policy:agg_sum",
	"flushdb":     "request_policy:all_shards response_policy:all_succeeded",
	"flushall":    "request_policy:all_shards response_policy:all_succeeded",
	"time":        "nondeterministic_output",
	"info":        "nondeterministic_output request_policy:all_shards response_policy:special",
	"client|list": "nondeterministic_output",
}
