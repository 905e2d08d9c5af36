package main

import (
	"context"
	"crypto/tls"
	"strconv"

	"github.com/redis/rueidis"
)

type rueidisLibrary struct {
	client rueidis.Client
	idiom  *rueidis.Lua
}

func newRueidis(encryption *tls.Config) (library, error) {
	// Client-side caching, which is on by default, is a thing of RESP3.
	resp2 := protocol() == 2
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address()}, Username: user(), Password: password(), TLSConfig: encryption,
		AlwaysRESP2: resp2, DisableCache: resp2,
	})
	if err != nil {
		return nil, err
	}
	return rueidisLibrary{client, rueidis.NewLuaScript(script)}, nil
}

func (l rueidisLibrary) ping(ctx context.Context) error {
	return l.client.Do(ctx, l.client.B().Ping().Build()).Error()
}

func (l rueidisLibrary) throttle(ctx context.Context, key string, maxBurst int) ([]int64, error) {
	return l.client.Do(ctx, l.call(key, maxBurst)).AsIntSlice()
}

func (l rueidisLibrary) call(key string, maxBurst int) rueidis.Completed {
	return l.client.B().ClThrottle().Key(key).MaxBurst(int64(maxBurst)).CountPerPeriod(count).Period(period).Build()
}

func (l rueidisLibrary) pipeline(ctx context.Context, key string, maxBurst, calls int) ([][]int64, error) {
	commands := make(rueidis.Commands, calls)
	for i := range commands {
		commands[i] = l.call(key, maxBurst)
	}
	replies := make([][]int64, calls)
	for i, result := range l.client.DoMulti(ctx, commands...) {
		var err error
		if replies[i], err = result.AsIntSlice(); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (l rueidisLibrary) transaction(ctx context.Context, key string, maxBurst, calls int) ([][]int64, error) {
	commands := rueidis.Commands{l.client.B().Multi().Build()}
	for range calls {
		commands = append(commands, l.call(key, maxBurst))
	}
	results := l.client.DoMulti(ctx, append(commands, l.client.B().Exec().Build())...)
	executed, err := results[len(results)-1].ToArray()
	if err != nil {
		return nil, err
	}
	replies := make([][]int64, len(executed))
	for i, message := range executed {
		if replies[i], err = message.AsIntSlice(); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (l rueidisLibrary) script(ctx context.Context, key string, maxBurst int) ([]int64, error) {
	limit := []string{strconv.Itoa(maxBurst), strconv.Itoa(count), strconv.Itoa(period), "1"}
	return l.idiom.Exec(ctx, l.client, []string{key}, limit).AsIntSlice()
}
