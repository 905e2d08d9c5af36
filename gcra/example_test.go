package gcra_test

import (
	"fmt"
	"time"

	"github.com/cellserver/cellserver/gcra"
)

// A bucket of 3 tokens that gains 1 every 10 seconds. The caller keeps one number per key.
func ExampleDecide() {
	limit := gcra.Limit{MaxBurst: 2, Count: 6, Period: 60}
	now := time.Date(2027, time.January, 15, 8, 0, 0, 0, time.UTC).UnixNano()

	keys := map[string]int64{} // a key that is missing reads as TAT 0, long past: a full bucket
	throttle := func(quantity int64) {
		var decision gcra.Decision
		if err := gcra.Decide(keys["user123"], now, &limit, quantity, &decision); err != nil {
			fmt.Println(err)
			return
		}
		switch decision.Write {
		case gcra.Store:
			keys["user123"] = decision.TAT
		case gcra.Remove:
			delete(keys, "user123")
		}
		fmt.Printf("take %2d: limited %t, remaining %d, retry after %d, reset after %d\n",
			quantity, decision.Limited, decision.Remaining, decision.RetryAfter, decision.ResetAfter)
	}

	throttle(2)
	throttle(2)
	now += 10 * int64(time.Second)
	throttle(2)
	throttle(-3)
	// Output:
	// take  2: limited false, remaining 1, retry after -1, reset after 20
	// take  2: limited true, remaining 1, retry after 10, reset after 20
	// take  2: limited false, remaining 0, retry after -1, reset after 30
	// take -3: limited false, remaining 3, retry after -1, reset after 0
}
