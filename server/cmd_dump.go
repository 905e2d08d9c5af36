package server

import (
	"math"

	"github.com/cellserver/cellserver/persistence"
	"github.com/cellserver/cellserver/resp"
)

// This file has DUMP and RESTORE, by which keys move between servers: redis-cell's and ours, one by one.

const (
	errBusyKey         = "BUSYKEY Target key name already exists."
	errInvalidTTL      = "ERR Invalid TTL value, must be >= 0"
	errInvalidIdleTime = "ERR Invalid IDLETIME value, must be >= 0"
	errInvalidFreq     = "ERR Invalid FREQ value, must be >= 0 and <= 255"
)

func dump(s *Server, c *call, w *resp.Writer) {
	tatNanos, live := s.engineOf(c.key).Get(c.key)
	if !live {
		w.Null()
		return
	}
	w.Bulk(persistence.AppendPayload(nil, tatNanos))
}

// restore answers RESTORE key ttl payload [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]. Redis's checks are made in
// Redis's order. Only a limiter's key can be restored; one that has expired is none, whatever it was.
func restore(s *Server, c *call, w *resp.Writer) {
	options, err := parseRestoreOptions(c.args[4:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	e := s.engineOf(c.key)
	_, taken := e.Get(c.key)
	if taken && !options.replace {
		w.Error(errBusyKey)
		return
	}
	ttl, ok := resp.ParseRedisInt(c.args[2])
	if !ok {
		w.Error(errNotInteger.Error())
		return
	}
	if ttl < 0 {
		w.Error(errInvalidTTL)
		return
	}
	expiry := int64(persistence.NoExpiry)
	switch nowMillis := e.Now() / nanosPerMilli; {
	case options.absolute && ttl > 0:
		expiry = ttl
	case ttl > 0:
		expiry = nowMillis + min(ttl, math.MaxInt64-1-nowMillis)
	}
	tatNanos, err := persistence.ParsePayload(c.args[3], expiry, e.Now())
	if err != nil {
		w.Error(err.Error())
		return
	}
	e.Store(c.key, tatNanos)
	w.OK()
}

type restoreOptions struct{ replace, absolute bool }

func parseRestoreOptions(words [][]byte) (options restoreOptions, err error) {
	for i := 0; i < len(words); i++ {
		word, more := words[i], i+1 < len(words)
		switch {
		case is(word, "REPLACE"):
			options.replace = true
		case is(word, "ABSTTL"):
			options.absolute = true
		case is(word, "IDLETIME") && more:
			i++
			if n, ok := resp.ParseRedisInt(words[i]); !ok {
				return options, errNotInteger
			} else if n < 0 {
				return options, replyError(errInvalidIdleTime)
			}
		case is(word, "FREQ") && more:
			i++
			if n, ok := resp.ParseRedisInt(words[i]); !ok {
				return options, errNotInteger
			} else if n < 0 || n > 255 {
				return options, replyError(errInvalidFreq)
			}
		default:
			return options, errSyntax
		}
	}
	return options, nil
}
