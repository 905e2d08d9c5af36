package server

import (
	"slices"
	"strings"

	"github.com/cellserver/cellserver/resp"
)

// tracking is how CLIENT TRACKING has set a connection. There is nothing to invalidate: a client may cache only what it
// read with a command that a cache can serve, and every value here changes with time by itself. So the setting is kept
// and told, and no invalidation is ever sent.
type tracking struct {
	on, broadcast, optIn, optOut, noLoop bool
	caching                              bool // CLIENT CACHING holds for the next command
	redirect                             int64
	prefixes                             []string
}

// clientTracking answers CLIENT TRACKING ON|OFF [REDIRECT id] [PREFIX p...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP].
func clientTracking(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	on, ok := parseOnOff(args[2])
	if !ok {
		w.Error(errSyntax.Error())
		return
	}
	t, err := parseTracking(l, args[3:])
	t.on = on
	if err == nil {
		err = t.validate(&c.tracking)
	}
	if err != nil {
		w.Error(err.Error())
		return
	}
	switch {
	case !on:
		c.tracking = tracking{}
	case c.tracking.broadcast:
		t.prefixes = append(c.tracking.prefixes, t.prefixes...)
		c.tracking = t
	default:
		c.tracking = t
	}
	w.OK()
}

func parseTracking(l *loop, options [][]byte) (t tracking, err error) {
	for i := 0; i < len(options); i++ {
		hasValue := i+1 < len(options)
		switch {
		case is(options[i], "BCAST"):
			t.broadcast = true
		case is(options[i], "OPTIN"):
			t.optIn = true
		case is(options[i], "OPTOUT"):
			t.optOut = true
		case is(options[i], "NOLOOP"):
			t.noLoop = true
		case is(options[i], "PREFIX") && hasValue:
			i++
			t.prefixes = append(t.prefixes, string(options[i]))
		case is(options[i], "REDIRECT") && hasValue:
			i++
			id, ok := resp.ParseRedisInt(options[i])
			switch {
			case !ok:
				return t, errNotInteger
			case t.redirect != 0:
				return t, replyError("ERR A client can only redirect to a single other client")
			case !l.hasClient(id):
				return t, replyError("ERR The client ID you want redirect to does not exist")
			}
			t.redirect = id
		default:
			return t, errSyntax
		}
	}
	return t, nil
}

// validate judges a setting that is to follow another.
func (t *tracking) validate(before *tracking) error {
	switch {
	case !t.on:
		return nil
	case len(t.prefixes) > 0 && !t.broadcast:
		return replyError("ERR PREFIX option requires BCAST mode to be enabled")
	case before.on && before.broadcast != t.broadcast:
		return replyError("ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.")
	case t.broadcast && (t.optIn || t.optOut):
		return replyError("ERR OPTIN and OPTOUT are not compatible with BCAST")
	case t.optIn && t.optOut:
		return replyError("ERR You can't specify both OPTIN mode and OPTOUT mode")
	case t.optIn && before.optOut || t.optOut && before.optIn:
		return replyError("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.")
	}
	for i, prefix := range t.prefixes {
		if other, found := overlapping(prefix, before.prefixes); found {
			return replyError("ERR Prefix '" + prefix + "' overlaps with an existing prefix '" + other + "'. Prefixes for a single client must not overlap.")
		}
		if other, found := overlapping(prefix, t.prefixes[i+1:]); found {
			return replyError("ERR Prefix '" + prefix + "' overlaps with another provided prefix '" + other + "'. Prefixes for a single client must not overlap.")
		}
	}
	return nil
}

func overlapping(prefix string, others []string) (other string, found bool) {
	i := slices.IndexFunc(others, func(other string) bool {
		return strings.HasPrefix(prefix, other) || strings.HasPrefix(other, prefix)
	})
	if i < 0 {
		return "", false
	}
	return others[i], true
}

// clientCaching answers CLIENT CACHING YES|NO, which holds for the next command that is none of CLIENT's.
func clientCaching(_ *loop, c *conn, args [][]byte, w *resp.Writer) {
	yes, no := is(args[2], "YES"), is(args[2], "NO")
	switch t := &c.tracking; {
	case !t.on:
		w.Error("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	case yes && !t.optIn:
		w.Error("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case no && !t.optOut:
		w.Error("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case yes || no:
		t.caching, c.special = true, true
		w.OK()
	default:
		w.Error(errSyntax.Error())
	}
}

func clientTrackingInfo(_ *loop, c *conn, _ [][]byte, w *resp.Writer) {
	flags := []string{"off"}
	if t := c.tracking; t.on {
		flags = []string{"on"}
		for _, option := range []struct {
			set  bool
			name string
		}{
			{t.broadcast, "bcast"},
			{t.optIn, "optin"}, {t.optIn && t.caching, "caching-yes"},
			{t.optOut, "optout"}, {t.optOut && t.caching, "caching-no"},
			{t.noLoop, "noloop"},
		} {
			if option.set {
				flags = append(flags, option.name)
			}
		}
	}
	w.Map(3)
	w.BulkString("flags")
	w.Set(len(flags))
	for _, flag := range flags {
		w.BulkString(flag)
	}
	w.BulkString("redirect")
	w.Int(c.redirect())
	w.BulkString("prefixes")
	w.Array(len(c.tracking.prefixes))
	for _, prefix := range c.tracking.prefixes {
		w.BulkString(prefix)
	}
}

// redirect returns what CLIENT GETREDIR tells: -1 where tracking is off, 0 where nothing is redirected.
func (c *conn) redirect() int64 {
	if c.tracking.on {
		return c.tracking.redirect
	}
	return -1
}

func clientGetRedir(_ *loop, c *conn, _ [][]byte, w *resp.Writer) { w.Int(c.redirect()) }
