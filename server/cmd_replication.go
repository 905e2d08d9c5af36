package server

import "github.com/cellserver/cellserver/resp"

// This file answers what tools ask about replication and cluster: that there is neither.

const errNoReplication = "ERR replication is not implemented"

const errNoCluster = "ERR This instance has cluster support disabled"

var replicaOfArgs = []string{"args=host-port={host port}|no-one={NO ONE}"}

var replicationRows = []*command{
	{name: "role", arity: 1, flags: "noscript loading stale fast", categories: "@admin @fast @dangerous", group: "server", since: "2.8.12",
		summary: "Tells that the server is a master without replicas.", local: role},
	{name: "replicaof", arity: 3, flags: "admin noscript stale no_async_loading", categories: "@admin @slow @dangerous", group: "server", since: "5.0.0",
		summary: "Accepts NO ONE, for the server is a master; a host is refused.", args: replicaOfArgs, local: replicaOf},
	{name: "slaveof", arity: 3, flags: "admin noscript stale no_async_loading", categories: "@admin @slow @dangerous", group: "server", since: "1.0.0",
		summary: "Accepts NO ONE, for the server is a master; a host is refused.", args: replicaOfArgs, local: replicaOf},
	{name: "cluster", arity: -2, categories: "@slow", group: "cluster", since: "3.0.0", summary: "Refused: there is no cluster.", args: []string{"[arg...]"}, local: noCluster},
	{name: "readonly", arity: 1, flags: "loading stale fast", categories: "@fast @connection", group: "cluster", since: "3.0.0", summary: "Refused: there is no cluster.", local: noCluster},
	{name: "readwrite", arity: 1, flags: "loading stale fast", categories: "@fast @connection", group: "cluster", since: "3.0.0", summary: "Refused: there is no cluster.", local: noCluster},
	{name: "asking", arity: 1, flags: "fast", categories: "@fast @connection", group: "cluster", since: "3.0.0", summary: "Refused: there is no cluster.", local: noCluster},
}

func role(_ *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	w.Array(3)
	w.BulkString("master")
	w.Int(0)
	w.Array(0)
}

// replicaOf answers REPLICAOF NO ONE and REPLICAOF host port.
func replicaOf(_ *loop, _ *conn, args [][]byte, w *resp.Writer) {
	if is(args[1], "NO") && is(args[2], "ONE") {
		w.OK()
		return
	}
	if port, ok := resp.ParseRedisInt(args[2]); !ok || port < 0 || port > 65535 {
		w.Error("ERR Invalid master port")
		return
	}
	w.Error(errNoReplication)
}

func noCluster(_ *loop, _ *conn, _ [][]byte, w *resp.Writer) { w.Error(errNoCluster) }
