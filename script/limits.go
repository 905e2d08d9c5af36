package script

import lua "github.com/yuin/gopher-lua"

const (
	// DefaultMaxStringBytes is the longest string a script may build, and the longest reply. Redis has no limit but the machine's
	// memory; ours keeps each single allocation small beside what the process may grow by.
	DefaultMaxStringBytes = 64 << 20
	// DefaultMaxGrowthBytes is by how much the process may grow while a script runs.
	DefaultMaxGrowthBytes = 1 << 30
	// MaxBodyBytes is the longest script. Redis has no limit but that of a bulk string; parsing takes compileFactor times the memory.
	MaxBodyBytes  = 1 << 20
	compileFactor = 100

	// maxCalls is how deep calls may nest: errors then say "stack overflow", as in Lua.
	maxCalls = 2000
	// maxCoroutineCalls is maxCalls for coroutines, which pay for their stack in advance.
	maxCoroutineCalls = 200
	// maxNestedCoroutines is how many may resume each other: each takes Go's stack. It is Lua's limit of C calls.
	maxNestedCoroutines = 200
	// maxRegisters bounds the stack of values, 16 bytes each. A function's arguments and the copy that {...} is made of both
	// lie there, so that such a table has no more elements than maxArrayIndex.
	maxRegisters = 64 << 10
	// maxUnpacked is how many values unpack returns at most, and string.byte: what Redis's Lua has stack for.
	maxUnpacked = 7990
	// maxSyntaxDepth bounds the recursion of the compiler. Lua's is 200 for all but chains of operators.
	maxSyntaxDepth = 1000
	// maxConstants of one script: the compiler's search for one takes time in proportion.
	maxConstants = 20000
	// maxArrayIndex is up to where a table's numbered elements are an array. A single assignment may fill all below its index:
	// see instructionBytes.
	maxArrayIndex = 32 << 10
	// maxNumberBytes is the longest text that is taken for a number: the conversion copies it where it fails.
	maxNumberBytes = 64 << 10
	// maxJSONDepth bounds what cjson's own limits of depth can be set to: each level takes Go's stack, of which there is 1 GB.
	maxJSONDepth = 100000
	// maxReplyDepth is how deep the result of a script may nest.
	maxReplyDepth = 2000
)

// The machine's setting is one for the process. Its own value lets one assignment take a gigabyte.
func init() { lua.MaxArrayIndex = maxArrayIndex }
