package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	// tatAhead is how far ahead of the clock the keys of a fill are: none expires while it is measured.
	tatAhead = 10 * time.Hour
	// fillBytes is about how much of a fill is in one write.
	fillBytes = 64 << 10
	// fillLimit is how long a server may take to tell that it has the keys of a fill.
	fillLimit = 2 * time.Minute
	// pollInterval is how often a server at rest is asked how far it is, where that makes a figure.
	pollInterval = 5 * time.Millisecond
)

// keyName returns the name of a key of 16 bytes: the one that redis-benchmark makes of key:__rand_int__.
func keyName(number int) string { return fmt.Sprintf("key:%012d", number) }

// fill stores a TAT for each of so many keys by SET, as redis-cell would store it, and returns when the server has all of them.
func (s *server) fill(ctx context.Context, keys int) error {
	c, err := dial(ctx, s.port)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()

	sent := make(chan error, 1)
	go func() { sent <- s.sendFill(c, keys) }()
	for range keys {
		if _, err := readReply(c.in); err != nil {
			return fmt.Errorf("%s: SET: %w", s.name, err)
		}
	}
	return <-sent
}

func (s *server) sendFill(c *conn, keys int) error {
	first := time.Now().Add(tatAhead)
	var buf []byte
	for i := range keys {
		tat := first.Add(time.Duration(i) * time.Microsecond)
		expiry := tat.Add(time.Millisecond).UnixMilli() // rounded up
		buf = appendCommand(buf, "SET", keyName(i), strconv.FormatInt(s.stored(tat), 10), "PXAT", strconv.FormatInt(expiry, 10))
		if len(buf) >= fillBytes || i == keys-1 {
			if _, err := c.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return nil
}

// waitKeys returns when the server answers and has so many keys.
func (s *server) waitKeys(ctx context.Context, keys int) error {
	if err := s.waitFor(ctx, fillLimit, pollInterval, "PONG", "PING"); err != nil {
		return err
	}
	return s.waitFor(ctx, fillLimit, pollInterval, strconv.Itoa(keys), "DBSIZE")
}

// save has the server write a snapshot or a new base of its log in the background, and returns how long that took, by asking every
// interval.
func (s *server) save(ctx context.Context, command string, interval time.Duration) (time.Duration, error) {
	began := time.Now()
	if _, err := s.call(ctx, command); err != nil {
		return 0, err
	}
	err := s.waitSaved(ctx, interval)
	return time.Since(began), err
}

// waitSaved asks the server every interval, and returns when nothing is being written in the background, and what was is good.
func (s *server) waitSaved(ctx context.Context, interval time.Duration) error {
	for {
		saving, err := s.saving(ctx)
		if err != nil {
			return err
		}
		if !saving {
			break
		}
		if err := sleep(ctx, interval); err != nil {
			return err
		}
	}
	info, err := s.call(ctx, "INFO", "persistence")
	if err != nil {
		return err
	}
	for _, field := range []string{"rdb_last_bgsave_status", "aof_last_bgrewrite_status"} {
		if got := infoField(info, field); got != "ok" {
			return fmt.Errorf("%s: %s is %q\n%s", s.name, field, got, s.logTail())
		}
	}
	return nil
}
