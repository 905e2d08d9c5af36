package server

import "github.com/cellserver/cellserver/resp"

// wait answers WAIT numreplicas timeout. There are no replicas, so no time brings more of them: the answer that Redis
// gives when the timeout is over is given at once.
func wait(_ *loop, _ *conn, args [][]byte, w *resp.Writer) {
	if _, ok := resp.ParseRedisInt(args[1]); !ok {
		w.Error(errNotInteger.Error())
		return
	}
	timeout, ok := resp.ParseRedisInt(args[2])
	switch {
	case !ok:
		w.Error("ERR timeout is not an integer or out of range")
	case timeout < 0:
		w.Error("ERR timeout is negative")
	default:
		w.Int(0)
	}
}
