package script

import lua "github.com/yuin/gopher-lua"

const (
	// DefaultMaxStringBytes is the longest string a script may build, and the longest reply. Redis has no limit but the machine's
	// memory; ours keeps each single allocation small compared to what the process may grow by.
	DefaultMaxStringBytes = 64 << 20
	// DefaultMaxGrowthBytes is by how much the process may grow while a script runs.
	DefaultMaxGrowthBytes = 1 << 30
	// MaxBodyBytes is the longest script. Redis has no limit but that of a bulk string; parsing takes compileFactor times the memory
	// at most: a..a..a is the worst.
	MaxBodyBytes  = 1 << 20
	compileFactor = 450

	// maxCalls is how deep calls may nest: errors then say "stack overflow", as in Lua.
	maxCalls = 2000
	// maxCoroutineCalls is maxCalls for coroutines, which pay for their stack in advance.
	maxCoroutineCalls = 200
	// maxNested is how many coroutines may resume each other, of which protected calls are one more at most: each takes Go's stack.
	// It is Lua's limit of C calls.
	maxNested = 199
	// maxNestedHandlers is maxNested for xpcall's handlers, which are to handle that error too.
	maxNestedHandlers = maxNested + 25
	// maxDeepProtections is how many nested protected calls may be maxCalls deep each; those nested further may be
	// maxCoroutineCalls deep: all of them together, each call a metamethod's, take 60,000 frames of Go's stack at most.
	maxDeepProtections = 8
	// maxStackLevel is the highest level of the stack that error looks for: more than there are.
	maxStackLevel = maxNested * maxCalls
	// maxRegisters bounds the stack of values, 16 bytes each. A function's arguments and the copy that {...} is made of both
	// lie there, so that such a table has no more elements than maxArrayIndex.
	maxRegisters = 64 << 10
	// maxCStack is how many arguments and results together unpack has, and string.byte: what Redis's Lua lets a function in C
	// have on its stack.
	maxCStack = 8000
	// maxSyntaxDepth bounds the recursion of the compiler. Lua's is 200 for all but chains of operators.
	maxSyntaxDepth = 1000
	// maxConstants of one script: the compiler searches all of them for each. This many take it 0.4 s, during which no client is
	// answered and SCRIPT KILL has no effect.
	maxConstants = 10000
	// maxFunctions of one script: the compiler reserves 8 KB for each.
	maxFunctions = 5000
	// maxCodeBytes bounds the compiled code that is kept for the next run: enough for some thousand scripts, of which a server has
	// seldom more than a dozen in use. Compiling takes as long as 10 to 100 runs.
	maxCodeBytes = 8 << 20
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
