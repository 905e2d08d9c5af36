package server

// screen judges a command by the state of its connection and of the server: it may be refused, or have to wait, in which
// case nothing was done. Only commands of connections with such a state come here, and all commands during a pause.
//
// The order is Redis's: what the connection may not do at all is refused also during a pause.
func (l *loop) screen(c *conn, cmd *command) (mayRun bool, refusal error) {
	c.special = c.subs != nil || c.monitoring || c.tracking.caching
	if c.tracking.caching && cmd.container != "client" {
		c.tracking.caching = false
	}
	switch {
	case c.subs != nil && c.version == 2 && !cmd.whileSubscribed():
		return true, replyError("ERR Can't execute '" + cmd.fullName() +
			"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
	case c.monitoring && (cmd.has("readonly") || cmd.has("write") || cmd.publishes):
		return true, replyError("ERR Replica can't interact with the keyspace")
	case l.holdsBack(c, cmd):
		l.awaitUnpause(c)
		return false, nil
	case cmd.publishes && l.server.congested():
		return false, nil // it is tried again in the next pass
	}
	return true, nil
}

// whileSubscribed says whether a RESP2 connection that has subscriptions may use the command. Its replies could be taken
// for messages, and messages for its replies.
func (c *command) whileSubscribed() bool {
	switch c.fullName() {
	case "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe", "ping", "quit", "reset":
		return true
	}
	return false
}
