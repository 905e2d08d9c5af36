package server

import "sync/atomic"

// An envelope carries one message to a loop. It is part of what it carries, so that sending allocates nothing; it may
// be sent again once it was delivered.
type envelope struct {
	next    *envelope
	deliver func(l *loop) // runs on the receiving loop, between its batches
	onShard bool          // deliver uses the loop's shard
}

// inbox is where other goroutines leave messages for a loop: a stack that any number push to with a compare-and-swap
// and that the loop takes whole.
type inbox struct{ top atomic.Pointer[envelope] }

func (in *inbox) push(e *envelope) {
	for {
		top := in.top.Load()
		e.next = top
		if in.top.CompareAndSwap(top, e) {
			return
		}
	}
}

func (in *inbox) empty() bool { return in.top.Load() == nil }

// take returns all messages, oldest first.
func (in *inbox) take() *envelope {
	var oldest *envelope
	for e := in.top.Swap(nil); e != nil; {
		next := e.next
		e.next = oldest
		oldest, e = e, next
	}
	return oldest
}

// post sends a message to the loop and wakes the loop if it may be asleep.
//
// No message is overlooked: the loop says that it is waiting before it looks at its inbox for the last time, and post
// looks at the loop's state after it has pushed.
func (l *loop) post(e *envelope) {
	l.inbox.push(e)
	if l.owner.state.Load() != running && !l.woken.Swap(true) {
		l.poller.Wake()
	}
}

// drain delivers all messages, but in a busyPass those that use the shard, which wait for the next.
func (l *loop) drain() {
	if !l.refusing && len(l.deferred) > 0 {
		deferred := l.deferred
		l.deferred = nil
		for _, e := range deferred {
			e.deliver(l)
		}
	}
	for e := l.inbox.take(); e != nil; {
		next := e.next // before delivery: a delivered envelope may be on its way elsewhere
		if l.refusing && e.onShard {
			l.deferred = append(l.deferred, e)
		} else {
			e.deliver(l)
		}
		e = next
	}
}
