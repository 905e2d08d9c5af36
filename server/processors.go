package server

import (
	"math"
	"os"
	"runtime"
	"sync"

	"github.com/cellserver/cellserver/internal/cores"
)

// lowerProcessors has the runtime use no more processors than the quotas of all control groups around the process allow, unless
// GOMAXPROCS in the environment says how many. (The runtime itself looks at the innermost group alone.) Once for the process: more
// than one server may run in it, and each may have raised the number.
var lowerProcessors = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), int(math.Ceil(cores.Available()))))
	}
})

// setProcessors gives the scheduler a processor for each loop, which keeps it for itself while it is busy, and one for the rest,
// which must not have to wait.
//
// The number is set even where the runtime has chosen the same: one that is set stays. The runtime would follow a quota that is
// lowered later, below what the loops need, and a quota that takes time from all is better than loops that take it from the rest.
func setProcessors(loops int) {
	lowerProcessors()
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), loops+1))
}

// tooManyShards says whether there are more loops than cores for them.
func tooManyShards(loops int, available float64) bool { return float64(loops) > max(1, available) }
