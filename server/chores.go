package server

// This file has the work that a connection leaves behind and that nobody waits for, such as letting go of the keys that it has
// watched. Where it is much it is done a piece at a time between passes.

// choreTime is how long chores take between two passes. A key is watched in more time than it is let go of, so chores keep up.
const choreTime = heavyTime

// pieceLength is how many keys, names or connections are dealt with before the clock is looked at: some 10 to 100 microseconds' work.
const pieceLength = 128

// A chore does a piece of work and says whether there is more. It may use the loop's shard.
type chore func() (more bool)

// do does the first piece of a chore now and the rest between passes.
func (l *loop) do(work chore) {
	if work() {
		l.chores = append(l.chores, work)
	}
}

// doChores goes on with the oldest chores.
func (l *loop) doChores() {
	if len(l.chores) == 0 {
		return
	}
	for began := l.server.clock.uptime(); len(l.chores) > 0 && l.server.clock.uptime()-began < choreTime; {
		if !l.chores[0]() {
			l.chores[0] = nil
			l.chores = l.chores[1:]
		}
	}
	if len(l.chores) == 0 {
		l.chores = nil
	}
}

// inPieces returns a chore that does something with each element of a list, with so many at once.
func inPieces[T any](list []T, pieceLength int, do func(T)) chore {
	return func() (more bool) {
		n := min(pieceLength, len(list))
		for _, each := range list[:n] {
			do(each)
		}
		list = list[n:]
		return len(list) > 0
	}
}

// closeAll closes connections, which must be marked as killed.
func (l *loop) closeAll(conns []*conn) { l.do(inPieces(conns, closedAtOnce, l.close)) }

// closedAtOnce is how many connections are closed before the clock is looked at: each takes some 10 microseconds.
const closedAtOnce = 8
