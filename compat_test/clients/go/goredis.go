package main

import (
	"context"
	"crypto/tls"

	"github.com/redis/go-redis/v9"
)

type goRedis struct {
	client *redis.Client
	idiom  *redis.Script
}

func newGoRedis(encryption *tls.Config) library {
	options := &redis.Options{
		Addr: address(), Username: user(), Password: password(), TLSConfig: encryption, Protocol: protocol(),
	}
	return goRedis{redis.NewClient(options), redis.NewScript(script)}
}

func (l goRedis) ping(ctx context.Context) error { return l.client.Ping(ctx).Err() }

func (l goRedis) throttle(ctx context.Context, key string, maxBurst int) ([]int64, error) {
	return l.client.Do(ctx, "CL.THROTTLE", key, maxBurst, count, period).Int64Slice()
}

func (l goRedis) pipeline(ctx context.Context, key string, maxBurst, calls int) ([][]int64, error) {
	return l.many(ctx, l.client.Pipeline(), key, maxBurst, calls)
}

func (l goRedis) transaction(ctx context.Context, key string, maxBurst, calls int) ([][]int64, error) {
	return l.many(ctx, l.client.TxPipeline(), key, maxBurst, calls)
}

func (l goRedis) many(ctx context.Context, pipe redis.Pipeliner, key string, maxBurst, calls int) ([][]int64, error) {
	for range calls {
		pipe.Do(ctx, "CL.THROTTLE", key, maxBurst, count, period)
	}
	commands, err := pipe.Exec(ctx)
	if err != nil {
		return nil, err
	}
	replies := make([][]int64, len(commands))
	for i, command := range commands {
		if replies[i], err = command.(*redis.Cmd).Int64Slice(); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (l goRedis) script(ctx context.Context, key string, maxBurst int) ([]int64, error) {
	return l.idiom.Run(ctx, l.client, []string{key}, maxBurst, count, period, 1).Int64Slice()
}
