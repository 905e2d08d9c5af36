package server

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cellserver/cellserver/resp"
)

// lolwut answers LOLWUT [VERSION version] with a drawing, the same for all versions.
func lolwut(_ *loop, _ *conn, args [][]byte, w *resp.Writer) {
	if len(args) > 2 && is(args[1], "VERSION") {
		if _, ok := resp.ParseRedisInt(args[2]); !ok {
			w.Error(errNotInteger.Error())
			return
		}
	}
	w.Verbatim("txt", drawBucket(rand.IntN)+fmt.Sprintf("cellserver ver. %s, as Redis ver. %s\n", Version, redisVersion))
}

// drawBucket draws time to the right and a bucket's level upwards: the bucket fills by a token with every column, calls
// take some at random, and one that finds too few is refused, an x.
func drawBucket(intN func(n int) int) string {
	const columns, burst = 64, 8
	var levels, refused [columns]int
	level := burst
	for column := range columns {
		level = min(level+1, burst)
		switch wanted := intN(4); {
		case wanted > level:
			refused[column] = 1
		default:
			level -= wanted
		}
		levels[column] = level
	}
	var b strings.Builder
	for height := burst; height > 0; height-- {
		for _, level := range levels {
			if level >= height {
				b.WriteString("█")
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
	for _, r := range refused {
		b.WriteByte("_x"[r])
	}
	return b.String() + "\n\n"
}
