// Command compare measures cellserver and its references side by side, in one run on one machine, and says whether
// cellserver meets its bars.
//
//	go run ./bench/compare                                     # 5 rounds against redis-lua and null, about 4 minutes
//	REDIS_CELL_SO=/path/libredis_cell.so go run ./bench/compare -out result.md
//
// It needs Linux, two cores, taskset, and Debian's redis-server, redis-cli and redis-benchmark (7.0).
//
// # What is measured
//
// Every server is pinned to one core and redis-benchmark to another; redis-benchmark sends
//
//	cl.throttle key:__rand_int__ 100 1000 60 1
//
// with keys drawn from a million, once for each load: 50 clients at pipeline depths 1, 16 and 128, and one client alone
// at depth 1. The servers:
//
//	cellserver   ours, built from ./cmd/cellserver unless -cellserver names a binary
//	redis-cell   redis-server with the module that REDIS_CELL_SO names
//	redis-lua    redis-server and gcra.lua by EVALSHA: what a careful user has without the module
//	null         cellserver with --constant-reply yes: parses, looks nothing up, replies a constant. It is the floor:
//	             what is left between it and cellserver is the decision and the table.
//
// Per load and server it reports requests/s, p50 and p99 as redis-benchmark saw them, the server's CPU time per request
// and how busy that kept its core. CPU per request is the figure the bars are set on. It suffers far less from what else the machine
// does than requests/s and the latencies, and those measure redis-benchmark instead of the server wherever
// the server's core is far from busy.
//
// # How
//
// All servers run throughout. A round measures every load on every server in turn, and each round starts with another
// server, so that a slow minute of the machine meets all of them. A ratio is taken within a round, cellserver over the
// reference measured seconds apart; the table shows the median ratio over the rounds, and the range. A range that is
// wide, or straddles the bar, means: measure again on a quieter machine.
//
// CPU time is the sum over the server's threads of the first field of /proc/PID/task/*/schedstat: nanoseconds on a
// core, user and system. /proc/PID/stat would tell the same in ticks of 10 ms, and /proc/PID/schedstat would tell only
// of the main thread. On the loopback interface a sender's system time includes the receiver's part of the kernel's work, for all
// servers alike. Counting ends when the server has come to rest after its load, not when the load ends: a server that
// puts its sweeping off pays for it all the same, and never at the expense of the server measured next.
//
// There is no FLUSHALL between rounds. At 1000 calls a minute a key lives for 60 ms after a single call, so that of the
// million keys only 0.06 s × requests/s are alive at a time (6,000 at 100,000 requests/s), nearly every call creates
// its key, and all of them are gone when the next load starts. What the load weighs is create, decide and expire. Before the first round
// each server gets a million calls, so that its tables and its allocator have grown, and two short runs per load, from which
// the number of requests of a round is chosen.
//
// # The bars
//
// The median CPU ratio must be at or below the bar. They hold for one shard and the loads above; see bars.go. Where
// redis-cell is measured it is what counts, else redis-lua.
package main
