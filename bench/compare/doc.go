// Command compare measures cellserver and its references side by side, in one run on one machine, and says whether
// cellserver meets its bars.
//
//	go run ./bench/compare                                     # 5 rounds against redis-lua and null, about 4 minutes
//	REDIS_CELL_SO=/path/libredis_cell.so go run ./bench/compare -out result.md
//	go run ./bench/compare persistence                         # what each policy of the log costs, about 4 minutes
//	go run ./bench/compare load -keys 10000000 -rounds 1       # what files cost that keep the keys, about 2 minutes
//	go run ./bench/compare snapshot                            # latency while the keys are saved, about 4 minutes
//	go run ./bench/compare bystander                           # latency while others attack, about 20 minutes
//
// Without REDIS_CELL_SO the reference is redis-lua. The command needs Linux, two cores, taskset, and Debian's redis-server
// and redis-benchmark (7.0). Each server has a folder of its own below a temporary one in -dir, which should be on a
// real disk; the report says what it is on.
//
// # What is measured
//
// Without a mode, or with mode throughput, every server is pinned to one core and redis-benchmark to another;
// redis-benchmark sends
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
// and how busy that kept its core. The bars are set on CPU per request: it suffers far less from what else the machine does
// than requests/s and the latencies, which measure redis-benchmark instead of the server wherever the server's core is far
// from busy.
//
// # How
//
// All servers run throughout. A round measures every load on every server in turn, and each round starts with another
// server, so that a slow minute of the machine meets all of them. A ratio is taken within a round, cellserver over the
// reference measured seconds apart; the table shows the median ratio over the rounds, and the range. A range that is
// wide, or straddles the bar, means: measure again on a quieter machine.
//
// CPU time is the sum over the server's threads of the first field of /proc/PID/task/*/schedstat: nanoseconds on a
// core, user and system. /proc/PID/stat has the same in ticks of 10 ms, and /proc/PID/schedstat has only the main
// thread. Children that have ended count as well, in ticks: Redis forks to write a snapshot or a new base
// of its log. On the loopback interface a sender's system time includes the receiver's part of the kernel's work, for
// all servers alike. Counting ends when the server has come to rest after its load, not when the load ends: a server
// that puts off its sweeping pays for it all the same, and not at the expense of the server measured next. The command
// waits for a log that is written once a second, and for anything that is being saved in the background.
//
// There is no FLUSHALL between rounds. At 1000 calls a minute a key lives for 60 ms after a single call, so that of the
// million keys only 0.06 s × requests/s are alive at a time (6,000 at 100,000 requests/s), nearly every call creates
// its key, and all of them are gone when the next load starts. What the load weighs is create, decide and expire.
// Before the first round each server gets a million calls, so that its tables and its allocator have grown, and two
// short runs per load, from which the number of requests of a round is chosen.
//
// # Mode persistence
//
// The loads of 50 clients at depths 1 and 16, as above, on each server with each policy of its log: off (appendonly
// no), no, everysec and always. The log is rewritten when the server's defaults say so. All servers are measured in
// each round. There are two tables of ratios: each policy over none on the same server, and ours over the reference's with the
// same policy. A reference that leaves its calls out of the log, as redis-cell before 0.3.0 does, is refused: it would
// be fast with any policy.
//
// Nearly every call is on a key of its own, so everysec saves little by writing a key once a second. With -keys 1000 it
// saves much.
//
// # Mode load
//
// A server is filled by SET with -keys keys of 16 bytes, as redis-cell stores them and with their expiry hours away. It
// saves them by SAVE and by BGSAVE and is started again with the snapshot; then it turns its log on, rewrites it, gets
// another million records, and is started again with that. The time of a start runs from the launch of the process
// until it answers PING and has the right DBSIZE; an answer of LOADING counts as none. Rewrites by size are off. Each
// round goes through that with new servers.
//
// # Mode snapshot
//
// Servers filled as above, with a log that is synced every second, get -rate calls per second on random keys, each of
// which changes its key. The calls come on one connection, each when it is due and not when the one before is answered:
// if a server is away for long, all calls of that time count, with all of their waiting. The client spins on its core.
// When something else takes that core, the client's clock stands still; the report says for how much of the time it did.
// Percentiles are exact.
//
// In each round each server is measured while it saves nothing, during BGSAVE, and during BGREWRITEAOF. The bar: our
// p99 must stay within twice that without. What saves shares the server's one core, and so does Redis's child, which would
// otherwise have one to itself.
//
// A pass of its own looks at how memory grows: the resident memory of the process at the beginning, and the most on top of
// it, with what children have to themselves (pages copied since the fork).
//
// # Mode bystander
//
// 50 connections make -rate calls per second together, on random keys, while other clients do what may slow a server: the report lists
// the attacks, and -attacks chooses among them. Each attack meets a server of its own that has been filled as above. The
// attackers are a process of their own on the clients' core, of the scheduling class SCHED_IDLE, so that a bystander's answer is taken
// as soon as it comes. A call that is due while its connection still waits for the one before counts from when it was due.
//
// The bar: with the attacks that the report says, a bystander's p99 with ours is to be below 10 ms. The first row, nobody, is what
// the machine itself costs: where its p99 is milliseconds, measure again.
//
// # The bars
//
// Of throughput: the median CPU ratio must be at or below the bar. They hold for one shard and the loads above; see
// bars.go. If redis-cell is measured, its bars count; otherwise those of redis-lua.
package main
