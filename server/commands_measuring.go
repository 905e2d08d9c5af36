package server

// The rows of the commands that observe the server: SLOWLOG, LATENCY, MEMORY, DEBUG, and some that have no better place.

const (
	observeFlags = "admin loading stale"
	observeSets  = "@admin @slow @dangerous"
)

var measuringRows = []*command{
	{name: "slowlog", arity: -2, categories: "@slow", group: "server", since: "2.2.12", summary: "Tells which commands took long.", subcommands: []*command{
		{name: "get", arity: -2, flags: observeFlags, categories: observeSets, group: "server", since: "2.2.12", summary: "Returns the last commands that took long.", args: []string{"[count]"}, local: slowlogGet},
		{name: "len", arity: 2, flags: observeFlags, categories: observeSets, group: "server", since: "2.2.12", summary: "Counts the commands kept.", local: slowlogLen},
		{name: "reset", arity: 2, flags: observeFlags, categories: observeSets, group: "server", since: "2.2.12", summary: "Forgets them.", local: slowlogReset},
		{name: "help", arity: 2, flags: "loading stale", categories: "@slow", group: "server", since: "6.2.0", summary: "Lists the subcommands.", local: help},
	}},
	{name: "latency", arity: -2, categories: "@slow", group: "server", since: "2.8.13", summary: "Tells what took how long.", subcommands: []*command{
		{name: "latest", arity: 2, flags: connectionAdminFlags, categories: observeSets, group: "server", since: "2.8.13", summary: "Returns the last spike of every event.", local: latencyLatest},
		{name: "history", arity: 3, flags: connectionAdminFlags, categories: observeSets, group: "server", since: "2.8.13", summary: "Returns the spikes of an event.", args: []string{"event"}, local: latencyHistory},
		{name: "graph", arity: 3, flags: connectionAdminFlags, categories: observeSets, group: "server", since: "2.8.13", summary: "Draws the spikes of an event.", args: []string{"event"}, local: latencyGraph},
		{name: "reset", arity: -2, flags: connectionAdminFlags, categories: observeSets, group: "server", since: "2.8.13", summary: "Forgets the spikes of events, or of all.", args: []string{"[event...]"}, local: latencyReset},
		{name: "doctor", arity: 2, flags: connectionAdminFlags, categories: observeSets, group: "server", since: "2.8.13", summary: "Tells about the spikes in words.", local: latencyDoctor},
		{name: "histogram", arity: -2, flags: connectionAdminFlags, categories: observeSets, group: "server", since: "7.0.0", summary: "Returns how the times of commands are distributed.", args: []string{"[command...]"}, local: latencyHistogram},
		{name: "help", arity: 2, flags: "loading stale", categories: "@slow", group: "server", since: "2.8.13", summary: "Lists the subcommands.", local: help},
	}},
	{name: "memory", arity: -2, categories: "@slow", group: "server", since: "4.0.0", summary: "Tells about memory.", subcommands: []*command{
		{name: "usage", arity: -3, flags: "readonly", categories: "@read @slow", keys: subKey, access: "RO", group: "server", since: "4.0.0", summary: "Returns the bytes that a key takes.", args: []string{"key", "[SAMPLES count]"}, keyed: memoryUsage},
		{name: "stats", arity: 2, categories: "@slow", group: "server", since: "4.0.0", summary: "Returns what memory is used for.", local: memoryStats},
		{name: "doctor", arity: 2, categories: "@slow", group: "server", since: "4.0.0", summary: "Tells in words what is wrong with the memory.", local: memoryDoctor},
		{name: "purge", arity: 2, categories: "@slow", group: "server", since: "4.0.0", summary: "Gives unused memory back to the system.", local: memoryPurge},
		{name: "malloc-stats", arity: 2, categories: "@slow", group: "server", since: "4.0.0", summary: "Returns the allocator's own statistics.", local: memoryMallocStats},
		{name: "help", arity: 2, flags: "loading stale", categories: "@slow", group: "server", since: "4.0.0", summary: "Lists the subcommands.", local: help},
	}},
	{name: "debug", arity: -2, flags: "admin noscript loading stale", categories: observeSets, group: "server", since: "1.0.0", summary: "Does what tests need.", args: []string{"subcommand", "[arg...]"}, local: runDebug, debugs: true},
	{name: "lolwut", arity: -1, flags: "readonly fast", categories: "@read @fast", group: "server", since: "5.0.0", summary: "Draws something.", args: []string{"[VERSION version]"}, local: lolwut},
	{name: "wait", arity: 3, flags: "noscript", categories: "@slow @connection", group: "generic", since: "3.0.0", summary: "Returns how many replicas have what was written: 0.", args: []string{"numreplicas", "timeout"}, local: wait},
}
