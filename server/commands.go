package server

import "github.com/cellserver/cellserver/engine"

// commandRows is the command table. Arity errors, routing to shards, COMMAND and its relatives all follow from it: a new
// command is a row here and a function.
func commandRows(config *Config) []*command {
	rows := append(throttleRows(config), stringRows...)
	rows = append(rows, keyRows...)
	rows = append(rows, keyspaceRows...)
	rows = append(rows, transactionRows...)
	rows = append(rows, scriptRows...)
	rows = append(rows, connectionRows...)
	for _, more := range [][]*command{replicationRows, aclRows, serverRows, measuringRows, pubsubRows, monitorRows, shutdownRows} {
		rows = append(rows, more...)
	}
	return rows
}

func throttleRows(config *Config) []*command {
	rows := []*command{
		{name: "cl.throttle", arity: -5, flags: "write denyoom fast module", categories: "@write @fast", keys: oneKey, access: "RW access update",
			group: "module", since: "0.1.0", summary: "Asks whether a call may pass, and takes its tokens if so.",
			args:   []string{"key", "max_burst", "count", "period", "[quantity]"},
			decide: (*engine.Engine).Throttle},
		{name: "cl.probe", arity: -5, flags: "readonly fast module", categories: "@read @fast", keys: oneKey, access: "RO access",
			group: "module", since: "0.1.0", summary: "Answers as CL.THROTTLE would, and takes nothing.",
			args:   []string{"key", "max_burst", "count", "period", "[quantity]"},
			decide: (*engine.Engine).Probe},
	}
	if config.ConstantReply {
		for _, row := range rows {
			row.decide = decideConstant
		}
	}
	return rows
}

var stringRows = []*command{
	{name: "get", arity: 2, flags: "readonly fast", categories: "@read @string @fast", keys: oneKey, access: "RO access",
		group: "string", since: "1.0.0", summary: "Returns a key's TAT in Unix nanoseconds.", args: []string{"key"}, keyed: get},
	{name: "mget", arity: -2, flags: "readonly fast", categories: "@read @string @fast", keys: allKeys, access: "RO access",
		group: "string", since: "1.0.0", summary: "Returns the TATs of keys.", args: []string{"key..."}, keyed: mget},
	{name: "set", arity: -3, flags: "write denyoom", categories: "@write @string @slow", keys: oneKey, access: "RW access update variable_flags", notes: "RW and ACCESS due to the optional `GET` argument",
		group: "string", since: "1.0.0", summary: "Gives a key a TAT, which is its expiry too.",
		args: []string{"key", "value", "[condition=NX|XX]", "[GET]", "[expiration=EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]"}, keyed: set},
	{name: "setnx", arity: 3, flags: "write denyoom fast", categories: "@write @string @fast", keys: oneKey, access: "OW insert",
		group: "string", since: "1.0.0", summary: "Gives a key that doesn't exist a TAT.", args: []string{"key", "value"}, keyed: setNX},
	{name: "setex", arity: 4, flags: "write denyoom", categories: "@write @string @slow", keys: oneKey, access: "OW update",
		group: "string", since: "2.0.0", summary: "Gives a key a TAT that lies so many seconds ahead.", args: []string{"key", "seconds", "value"}, keyed: setEX},
	{name: "psetex", arity: 4, flags: "write denyoom", categories: "@write @string @slow", keys: oneKey, access: "OW update",
		group: "string", since: "2.6.0", summary: "Gives a key a TAT that lies so many milliseconds ahead.", args: []string{"key", "milliseconds", "value"}, keyed: pSetEX},
	{name: "getset", arity: 3, flags: "write denyoom fast", categories: "@write @string @fast", keys: oneKey, access: "RW access update",
		group: "string", since: "1.0.0", summary: "Gives a key a TAT and returns the one before.", args: []string{"key", "value"}, keyed: getSet},
	{name: "getdel", arity: 2, flags: "write fast", categories: "@write @string @fast", keys: oneKey, access: "RW access delete",
		group: "string", since: "6.2.0", summary: "Returns a key's TAT and deletes the key.", args: []string{"key"}, keyed: getDel},
	{name: "getex", arity: -2, flags: "write fast", categories: "@write @string @fast", keys: oneKey, access: "RW access update", notes: "RW and UPDATE because it changes the TTL",
		group: "string", since: "6.2.0", summary: "Returns a key's TAT; a time is treated as by EXPIRE.", args: []string{"key", "[expiration=EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds|PERSIST]"}, keyed: getEX},
	{name: "mset", arity: -3, flags: "write denyoom", categories: "@write @string @slow", keys: everyOtherWord, access: "OW update",
		group: "string", since: "1.0.1", summary: "Gives keys TATs.", args: []string{"key_value={key value}..."}, keyed: mset},
	{name: "msetnx", arity: -3, flags: "write denyoom", categories: "@write @string @slow", keys: everyOtherWord, access: "OW insert",
		group: "string", since: "1.0.1", summary: "Gives keys TATs if none of them exists.", args: []string{"key_value={key value}..."}, keyed: msetNX},
	{name: "strlen", arity: 2, flags: "readonly fast", categories: "@read @string @fast", keys: oneKey, access: "RO",
		group: "string", since: "2.2.0", summary: "Returns how many digits a key's TAT has.", args: []string{"key"}, keyed: strlen},
	{name: "getrange", arity: 4, flags: "readonly", categories: "@read @string @slow", keys: oneKey, access: "RO access",
		group: "string", since: "2.4.0", summary: "Returns some digits of a key's TAT.", args: []string{"key", "start", "end"}, keyed: getRange},
	{name: "substr", arity: 4, flags: "readonly", categories: "@read @string @slow", keys: oneKey, access: "RO access",
		group: "string", since: "1.0.0", summary: "Returns some digits of a key's TAT, as GETRANGE does.", args: []string{"key", "start", "end"}, keyed: getRange},
}

var keyRows = []*command{
	{name: "del", arity: -2, flags: "write", categories: "@keyspace @write @slow", keys: allKeys, access: "RM delete",
		group: "generic", since: "1.0.0", summary: "Deletes keys: their limits are at a full bucket again.", args: []string{"key..."}, keyed: del},
	{name: "unlink", arity: -2, flags: "write fast", categories: "@keyspace @write @fast", keys: allKeys, access: "RM delete",
		group: "generic", since: "4.0.0", summary: "Deletes keys, as DEL does.", args: []string{"key..."}, keyed: del},
	{name: "exists", arity: -2, flags: "readonly fast", categories: "@keyspace @read @fast", keys: allKeys, access: "RO",
		group: "generic", since: "1.0.0", summary: "Counts which of the keys exist.", args: []string{"key..."}, keyed: exists},
	{name: "touch", arity: -2, flags: "readonly fast", categories: "@keyspace @read @fast", keys: allKeys, access: "RO",
		group: "generic", since: "3.2.1", summary: "Counts which of the keys exist.", args: []string{"key..."}, keyed: exists},
	{name: "type", arity: 2, flags: "readonly fast", categories: "@keyspace @read @fast", keys: oneKey, access: "RO",
		group: "generic", since: "1.0.0", summary: "Returns string, or none for a missing key.", args: []string{"key"}, keyed: typeOf},
	{name: "ttl", arity: 2, flags: "readonly fast", categories: "@keyspace @read @fast", keys: oneKey, access: "RO access",
		group: "generic", since: "1.0.0", summary: "Returns the seconds until a key's TAT.", args: []string{"key"}, keyed: ttl},
	{name: "pttl", arity: 2, flags: "readonly fast", categories: "@keyspace @read @fast", keys: oneKey, access: "RO access",
		group: "generic", since: "2.6.0", summary: "Returns the milliseconds until a key's TAT.", args: []string{"key"}, keyed: pttl},
	{name: "expiretime", arity: 2, flags: "readonly fast", categories: "@keyspace @read @fast", keys: oneKey, access: "RO access",
		group: "generic", since: "7.0.0", summary: "Returns a key's TAT in Unix seconds.", args: []string{"key"}, keyed: expireTime},
	{name: "pexpiretime", arity: 2, flags: "readonly fast", categories: "@keyspace @read @fast", keys: oneKey, access: "RO access",
		group: "generic", since: "7.0.0", summary: "Returns a key's TAT in Unix milliseconds.", args: []string{"key"}, keyed: pexpireTime},
	{name: "expire", arity: -3, flags: "write fast", categories: "@keyspace @write @fast", keys: oneKey, access: "RW update",
		group: "generic", since: "1.0.0", summary: "Deletes a key where the time has passed; one before its TAT is refused, a later one changes nothing.", args: []string{"key", "seconds", "[condition=NX|XX|GT|LT]"}, keyed: expire},
	{name: "pexpire", arity: -3, flags: "write fast", categories: "@keyspace @write @fast", keys: oneKey, access: "RW update",
		group: "generic", since: "2.6.0", summary: "Deletes a key where the time has passed; one before its TAT is refused, a later one changes nothing.", args: []string{"key", "milliseconds", "[condition=NX|XX|GT|LT]"}, keyed: pexpire},
	{name: "expireat", arity: -3, flags: "write fast", categories: "@keyspace @write @fast", keys: oneKey, access: "RW update",
		group: "generic", since: "1.2.0", summary: "Deletes a key where the time has passed; one before its TAT is refused, a later one changes nothing.", args: []string{"key", "unix-time-seconds", "[condition=NX|XX|GT|LT]"}, keyed: expireAt},
	{name: "pexpireat", arity: -3, flags: "write fast", categories: "@keyspace @write @fast", keys: oneKey, access: "RW update",
		group: "generic", since: "2.6.0", summary: "Deletes a key where the time has passed; one before its TAT is refused, a later one changes nothing.", args: []string{"key", "unix-time-milliseconds", "[condition=NX|XX|GT|LT]"}, keyed: pexpireAt},
	{name: "persist", arity: 2, flags: "write fast", categories: "@keyspace @write @fast", keys: oneKey, access: "RW update",
		group: "generic", since: "2.2.0", summary: "Refused for a key that exists: its TAT is its expiry.", args: []string{"key"}, keyed: persist},
	{name: "rename", arity: 3, flags: "write", categories: "@keyspace @write @slow", keys: twoKeys, access: "RW access delete", access2: "OW update",
		group: "generic", since: "1.0.0", summary: "Gives a key's TAT to another name.", args: []string{"key", "newkey"}, keyed: rename},
	{name: "renamenx", arity: 3, flags: "write fast", categories: "@keyspace @write @fast", keys: twoKeys, access: "RW access delete", access2: "OW insert",
		group: "generic", since: "1.0.0", summary: "Gives a key's TAT to another name that doesn't exist.", args: []string{"key", "newkey"}, keyed: renameNX},
	{name: "copy", arity: -3, flags: "write denyoom", categories: "@keyspace @write @slow", keys: twoKeys, access: "RO access", access2: "OW update",
		group: "generic", since: "6.2.0", summary: "Gives a key's TAT to another key too.", args: []string{"source", "destination", "[DB destination-db]", "[REPLACE]"}, keyed: copyKey},
	{name: "move", arity: 3, flags: "write fast", categories: "@keyspace @write @fast", keys: oneKey, access: "RW access update",
		group: "generic", since: "1.0.0", summary: "Moves a key to another database.", args: []string{"key", "db"}, keyed: moveKey},
	{name: "dump", arity: 2, flags: "readonly", categories: "@keyspace @read @slow", keys: oneKey, access: "RO access",
		group: "generic", since: "2.6.0", summary: "Returns what RESTORE makes the key of.", args: []string{"key"}, keyed: dump},
	{name: "restore", arity: -4, flags: "write denyoom", categories: "@keyspace @write @slow @dangerous", keys: oneKey, access: "OW update",
		group: "generic", since: "2.6.0", summary: "Makes a key of what DUMP returned.", args: []string{"key", "ttl", "serialized-value", "[REPLACE]", "[ABSTTL]", "[IDLETIME seconds]", "[FREQ frequency]"}, keyed: restore},
	{name: "object", arity: -2, categories: "@slow", group: "generic", since: "2.2.3", summary: "Looks at how a key is stored.", subcommands: []*command{
		{name: "encoding", arity: 3, flags: "readonly", categories: "@keyspace @read @slow", keys: subKey, access: "RO", group: "generic", since: "2.2.3", summary: "Returns how a key is stored.", args: []string{"key"}, keyed: objectEncoding},
		{name: "refcount", arity: 3, flags: "readonly", categories: "@keyspace @read @slow", keys: subKey, access: "RO", group: "generic", since: "2.2.3", summary: "Returns 1.", args: []string{"key"}, keyed: objectRefcount},
		{name: "idletime", arity: 3, flags: "readonly", categories: "@keyspace @read @slow", keys: subKey, access: "RO", group: "generic", since: "2.2.3", summary: "Refused: access times are not kept.", args: []string{"key"}, keyed: objectIdleTime},
		{name: "freq", arity: 3, flags: "readonly", categories: "@keyspace @read @slow", keys: subKey, access: "RO", group: "generic", since: "4.0.0", summary: "Refused: access frequencies are not kept.", args: []string{"key"}, keyed: objectFreq},
		{name: "help", arity: 2, flags: "loading stale", categories: "@keyspace @slow", group: "generic", since: "6.2.0", summary: "Lists the subcommands.", local: help},
	}},
}

var keyspaceRows = []*command{
	{name: "keys", arity: 2, flags: "readonly", categories: "@keyspace @read @slow @dangerous", group: "generic", since: "1.0.0",
		summary: "Returns all keys that match a pattern.", args: []string{"pattern"}, local: keys},
	{name: "scan", arity: -2, flags: "readonly", categories: "@keyspace @read @slow", group: "generic", since: "2.8.0",
		summary: "Walks over the keys.", args: []string{"cursor", "[MATCH pattern]", "[COUNT count]", "[TYPE type]"}, local: scan},
	{name: "randomkey", arity: 1, flags: "readonly", categories: "@keyspace @read @slow", group: "generic", since: "1.0.0",
		summary: "Returns some key.", local: randomKey},
	{name: "dbsize", arity: 1, flags: "readonly fast", categories: "@keyspace @read @fast", group: "server", since: "1.0.0",
		summary: "Counts the keys of the database.", local: dbSize},
	{name: "flushdb", arity: -1, flags: "write", categories: "@keyspace @write @slow @dangerous", group: "server", since: "1.0.0",
		summary: "Deletes all keys of the database.", args: []string{"[async=ASYNC|SYNC]"}, local: flushDB},
	{name: "flushall", arity: -1, flags: "write", categories: "@keyspace @write @slow @dangerous", group: "server", since: "1.0.0",
		summary: "Deletes all keys of all databases.", args: []string{"[async=ASYNC|SYNC]"}, local: flushAll},
	{name: "save", arity: 1, flags: "admin noscript no_async_loading no_multi", categories: "@admin @slow @dangerous", group: "server", since: "1.0.0",
		summary: "Takes a snapshot while nothing else is done.", local: save},
	{name: "bgsave", arity: -1, flags: "admin noscript no_async_loading", categories: "@admin @slow @dangerous", group: "server", since: "1.0.0",
		summary: "Takes a snapshot while calls go on.", args: []string{"[SCHEDULE]"}, local: backgroundSave},
	{name: "bgrewriteaof", arity: 1, flags: "admin noscript no_async_loading", categories: "@admin @slow @dangerous", group: "server", since: "1.0.0",
		summary: "Makes the log as short as it can be while calls go on.", local: backgroundRewrite},
	{name: "lastsave", arity: 1, flags: "loading stale fast", categories: "@admin @fast @dangerous", group: "server", since: "1.0.0",
		summary: "Returns when the last good snapshot was taken.", local: lastSave},
	{name: "swapdb", arity: 3, flags: "write fast", categories: "@keyspace @write @fast @dangerous", group: "server", since: "4.0.0",
		summary: "Exchanges two databases.", args: []string{"index1", "index2"}, local: swapDB},
}

var transactionRows = []*command{
	{name: "multi", arity: 1, flags: "noscript loading stale fast allow_busy", categories: "@fast @transaction", group: "transactions", since: "1.2.0",
		summary: "Begins a transaction.", local: multi},
	{name: "exec", arity: 1, flags: "noscript loading stale skip_slowlog", categories: "@slow @transaction", group: "transactions", since: "1.2.0",
		summary: "Carries the commands of a transaction out, as one step.", local: exec},
	{name: "discard", arity: 1, flags: "noscript loading stale fast allow_busy", categories: "@fast @transaction", group: "transactions", since: "2.0.0",
		summary: "Drops a transaction.", local: discard},
	{name: "watch", arity: -2, flags: "noscript loading stale fast allow_busy", categories: "@fast @transaction", keys: allKeys, access: "RO",
		group: "transactions", since: "2.2.0", summary: "Makes EXEC fail if one of the keys changes.", args: []string{"key..."}, local: watch},
	{name: "unwatch", arity: 1, flags: "noscript loading stale fast allow_busy", categories: "@fast @transaction", group: "transactions", since: "2.2.0",
		summary: "Forgets the watched keys.", local: unwatch},
}

const (
	evalFlags        = "noscript stale skip_monitor no_mandatory_keys movablekeys"
	scriptCategories = "@slow @scripting"
)

var scriptRows = []*command{
	{name: "eval", arity: -3, flags: evalFlags, categories: scriptCategories, countedAt: 2, access: "RW access update", notes: "We cannot tell how the keys will be used so we assume the worst, RW and UPDATE", group: "scripting", since: "2.6.0",
		summary: "Runs a Lua script.", args: evalArgs, local: eval},
	{name: "evalsha", arity: -3, flags: evalFlags, categories: scriptCategories, countedAt: 2, access: "RW access update", group: "scripting", since: "2.6.0",
		summary: "Runs a Lua script that is loaded.", args: evalSHAArgs, local: evalSHA},
	{name: "eval_ro", arity: -3, flags: "readonly " + evalFlags, categories: scriptCategories, countedAt: 2, access: "RO access", notes: "We cannot tell how the keys will be used so we assume the worst, RO and ACCESS", group: "scripting", since: "7.0.0",
		summary: "Runs a Lua script that only reads.", args: evalArgs, local: evalReadOnly},
	{name: "evalsha_ro", arity: -3, flags: "readonly " + evalFlags, categories: scriptCategories, countedAt: 2, access: "RO access", group: "scripting", since: "7.0.0",
		summary: "Runs a Lua script that is loaded and only reads.", args: evalSHAArgs, local: evalSHAReadOnly},
	{name: "script", arity: -2, categories: "@slow", group: "scripting", since: "2.6.0", summary: "Tells about scripts and loads them.", subcommands: []*command{
		{name: "load", arity: 3, flags: "noscript stale", categories: scriptCategories, group: "scripting", since: "2.6.0", summary: "Loads a script and returns its SHA1.", args: []string{"script"}, local: scriptLoad},
		{name: "exists", arity: -3, flags: "noscript", categories: scriptCategories, group: "scripting", since: "2.6.0", summary: "Tells which scripts are loaded.", args: []string{"sha1..."}, local: scriptExists},
		{name: "flush", arity: -2, flags: "noscript", categories: scriptCategories, group: "scripting", since: "2.6.0", summary: "Forgets all scripts.", args: []string{"[async=ASYNC|SYNC]"}, local: scriptFlush},
		{name: "kill", arity: 2, flags: "noscript allow_busy", categories: scriptCategories, group: "scripting", since: "2.6.0", summary: "Ends the script that runs.", local: scriptKill},
		{name: "help", arity: 2, flags: "loading stale", categories: scriptCategories, group: "scripting", since: "5.0.0", summary: "Lists the subcommands.", local: help},
	}},
}

var (
	evalArgs    = []string{"script", "numkeys", "[key...]", "[arg...]"}
	evalSHAArgs = []string{"sha1", "numkeys", "[key...]", "[arg...]"}
)

// connectionFlags are the flags of the commands on the connection itself, which Redis accepts at any time.
const (
	connectionFlags      = "noscript loading stale"
	connectionAdminFlags = "admin noscript loading stale"
	connectionAdminSets  = "@admin @slow @dangerous @connection"
)

var connectionRows = []*command{
	{name: "ping", arity: -1, flags: "fast", categories: "@fast @connection", group: "connection", since: "1.0.0", summary: "Returns PONG, or its argument.", args: []string{"[message]"}, local: ping},
	{name: "echo", arity: 2, flags: "loading stale fast", categories: "@fast @connection", group: "connection", since: "1.0.0", summary: "Returns its argument.", args: []string{"message"}, local: echo},
	{name: "quit", arity: -1, flags: "noscript loading stale fast no_auth allow_busy", categories: "@fast @connection", group: "connection", since: "1.0.0", summary: "Closes the connection.", local: quit},
	{name: "select", arity: 2, flags: "loading stale fast", categories: "@fast @connection", group: "connection", since: "1.0.0", summary: "Chooses the database.", args: []string{"index"}, local: selectDB},
	{name: "auth", arity: -2, flags: "noscript loading stale fast no_auth allow_busy", categories: "@fast @connection", group: "connection", since: "1.0.0", summary: "Authenticates the connection.", args: []string{"[username]", "password"}, local: auth},
	{name: "hello", arity: -1, flags: "noscript loading stale fast no_auth allow_busy", categories: "@fast @connection", group: "connection", since: "6.0.0", summary: "Greets, and chooses the protocol's version.", args: []string{"[arguments={protover [username_password=AUTH {username password}] [SETNAME clientname]}]"}, local: hello},
	{name: "reset", arity: 1, flags: "noscript loading stale fast no_auth allow_busy", categories: "@fast @connection", group: "connection", since: "6.2.0", summary: "Makes the connection as new.", local: reset},
	{name: "client", arity: -2, categories: "@slow", group: "connection", since: "2.4.0", summary: "Tells about connections and sets them.", subcommands: append([]*command{
		{name: "id", arity: 2, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "5.0.0", summary: "Returns the connection's number.", local: clientID},
		{name: "setname", arity: 3, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "2.6.9", summary: "Names the connection.", args: []string{"connection-name"}, local: clientSetName},
		{name: "getname", arity: 2, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "2.6.9", summary: "Returns the connection's name.", local: clientGetName},
		{name: "setinfo", arity: 4, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "7.2.0", summary: "Tells the client library's name or version.", args: []string{"attribute", "value"}, local: clientSetInfo},
		{name: "info", arity: 2, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "6.2.0", summary: "Describes the connection.", local: clientInfo},
		{name: "list", arity: -2, flags: connectionAdminFlags, categories: connectionAdminSets, group: "connection", since: "2.4.0", summary: "Describes the connections.", args: []string{"[normal_master_replica_pubsub=TYPE (NORMAL|MASTER|REPLICA|PUBSUB)]", "[id=ID {client-id...}]"}, local: clientList},
		{name: "no-evict", arity: 3, flags: connectionAdminFlags, categories: connectionAdminSets, group: "connection", since: "7.0.0", summary: "Sets whether the connection may be evicted.", args: []string{"enabled=ON|OFF"}, local: clientNoEvict},
		{name: "no-touch", arity: 3, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "7.2.0", summary: "Sets whether reads count as use.", args: []string{"enabled=ON|OFF"}, local: clientNoTouch},
		{name: "tracking", arity: -3, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "6.0.0", summary: "Sets client-side caching on or off.", args: []string{"status=ON|OFF", "[REDIRECT client-id]", "[PREFIX prefix]...", "[BCAST]", "[OPTIN]", "[OPTOUT]", "[NOLOOP]"}, local: clientTracking},
		{name: "trackinginfo", arity: 2, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "6.2.0", summary: "Tells how client-side caching is set.", local: clientTrackingInfo},
		{name: "getredir", arity: 2, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "6.0.0", summary: "Tells where invalidations go.", local: clientGetRedir},
		{name: "reply", arity: 3, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "3.2.0", summary: "Sets whether commands are answered.", args: []string{"on_off_skip=ON|OFF|SKIP"}, local: clientReply},
		{name: "help", arity: 2, flags: "loading stale", categories: "@slow @connection", group: "connection", since: "5.0.0", summary: "Lists the subcommands.", local: help},
	}, clientAdminRows...)},
}

var serverRows = []*command{
	{name: "time", arity: 1, flags: "loading stale fast", categories: "@fast", group: "server", since: "2.6.0", summary: "Returns the store's clock.", local: timeOfStore},
	{name: "info", arity: -1, flags: "loading stale", categories: "@slow @dangerous", group: "server", since: "1.0.0", summary: "Tells about the server.", args: []string{"[section...]"}, local: info},
	{name: "command", arity: -1, flags: "loading stale", categories: "@slow @connection", group: "server", since: "2.8.13", summary: "Describes the commands.", local: commandAll, subcommands: []*command{
		{name: "count", arity: 2, flags: "loading stale", categories: "@slow @connection", group: "server", since: "2.8.13", summary: "Counts the commands.", local: commandCount},
		{name: "info", arity: -2, flags: "loading stale", categories: "@slow @connection", group: "server", since: "2.8.13", summary: "Describes commands.", args: []string{"[command-name...]"}, local: commandInfo},
		{name: "docs", arity: -2, flags: "loading stale", categories: "@slow @connection", group: "server", since: "7.0.0", summary: "Documents commands.", args: []string{"[command-name...]"}, local: commandDocs},
		{name: "list", arity: -2, flags: "loading stale", categories: "@slow @connection", group: "server", since: "7.0.0", summary: "Lists the commands' names.", args: []string{"[filterby=FILTERBY (MODULE module-name|ACLCAT category|PATTERN pattern)]"}, local: commandList},
		{name: "getkeys", arity: -4, flags: "loading stale", categories: "@slow @connection", group: "server", since: "2.8.13", summary: "Returns which words of a command are keys.", args: []string{"command", "[arg...]"}, local: commandGetKeys},
		{name: "getkeysandflags", arity: -4, flags: "loading stale", categories: "@slow @connection", group: "server", since: "7.0.0", summary: "Returns which words of a command are keys, and what it does with them.", args: []string{"command", "[arg...]"}, local: commandGetKeysAndFlags},
		{name: "help", arity: 2, flags: "loading stale", categories: "@slow @connection", group: "server", since: "5.0.0", summary: "Lists the subcommands.", local: help},
	}},
	{name: "config", arity: -2, categories: "@slow", group: "server", since: "2.0.0", summary: "Tells the configuration.", subcommands: []*command{
		{name: "get", arity: -3, flags: connectionAdminFlags, categories: "@admin @slow @dangerous", group: "server", since: "2.0.0", summary: "Returns the directives that match patterns.", args: []string{"parameter={parameter}..."}, local: configGet},
		{name: "set", arity: -4, flags: connectionAdminFlags, categories: "@admin @slow @dangerous", group: "server", since: "2.0.0", summary: "Changes directives, all or none.", args: []string{"parameter_value={parameter value}..."}, local: configSet},
		{name: "rewrite", arity: 2, flags: connectionAdminFlags, categories: "@admin @slow @dangerous", group: "server", since: "2.8.0", summary: "Writes the configuration file again.", local: configRewrite},
		{name: "resetstat", arity: 2, flags: connectionAdminFlags, categories: "@admin @slow @dangerous", group: "server", since: "2.0.0", summary: "Sets the counters to zero.", local: configResetStat},
		{name: "help", arity: 2, flags: "loading stale", categories: "@slow", group: "server", since: "5.0.0", summary: "Lists the subcommands.", local: help},
	}},
	{name: "module", arity: -2, categories: "@slow", group: "server", since: "4.0.0", summary: "Tells about modules.", subcommands: []*command{
		{name: "list", arity: 2, flags: "admin noscript", categories: "@admin @slow @dangerous", group: "server", since: "4.0.0", summary: "Lists redis-cell, whose commands are built in.", local: moduleList},
		{name: "help", arity: 2, flags: "loading stale", categories: "@slow", group: "server", since: "5.0.0", summary: "Lists the subcommands.", local: help},
	}},
}
