package script

import lua "github.com/yuin/gopher-lua"

const (
	// DefaultMaxStringBytes is the longest string a script may build: Redis's proto-max-bulk-len.
	DefaultMaxStringBytes = 512 << 20
	// DefaultMaxHeapBytes is by how much the process may grow while a script runs.
	DefaultMaxHeapBytes = 1 << 30
	// MaxBodyBytes is the longest script. Redis has no limit but that of a bulk string; parsing takes some 50 times the memory.
	MaxBodyBytes = 1 << 20

	// maxCalls is how deep calls may nest: errors then say "stack overflow", as in Lua.
	maxCalls = 2000
	// maxCoroutineCalls is maxCalls for coroutines, which pay for their stack in advance.
	maxCoroutineCalls = 200
	// maxNestedCoroutines is how many may resume each other: each takes Go's stack. It is Lua's limit of C calls.
	maxNestedCoroutines = 200
	// maxRegisters bounds the stack of values, 16 bytes each.
	maxRegisters = 256 << 10
	// maxUnpacked is how many values unpack returns at most, and string.byte: what Redis's Lua has stack for.
	maxUnpacked = 7990
	// maxSyntaxDepth bounds the recursion of the compiler. Lua's is 200 for all but chains of operators.
	maxSyntaxDepth = 1000
	// maxConstants of one script: the compiler's search for one takes time in proportion.
	maxConstants = 20000
	// maxArrayIndex is up to where a table's numbered elements are an array. A single assignment may fill all below its index.
	maxArrayIndex = 128 << 10
	// maxJSONDepth bounds what cjson's own limits of depth can be set to: each level takes Go's stack, of which there is 1 GB.
	maxJSONDepth = 100000
	// maxReplyDepth is how deep the result of a script may nest.
	maxReplyDepth = 2000
)

// The machine's setting is one for the process. Its own value lets one assignment take a gigabyte.
func init() { lua.MaxArrayIndex = maxArrayIndex }
