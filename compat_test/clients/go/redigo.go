package main

import (
	"context"
	"crypto/tls"

	"github.com/gomodule/redigo/redis"
)

type redigo struct {
	pool  *redis.Pool
	idiom *redis.Script
}

func newRedigo(encryption *tls.Config) library {
	dial := func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", address(), redis.DialUsername(user()), redis.DialPassword(password()),
			redis.DialUseTLS(encryption != nil), redis.DialTLSConfig(encryption))
	}
	return redigo{&redis.Pool{DialContext: dial, MaxIdle: 1}, redis.NewScript(1, script)}
}

func (l redigo) ping(ctx context.Context) error {
	_, err := l.do(ctx, "PING")
	return err
}

func (l redigo) do(ctx context.Context, command string, arguments ...any) (any, error) {
	connection := l.pool.Get()
	defer connection.Close()
	return redis.DoContext(connection, ctx, command, arguments...)
}

func (l redigo) throttle(ctx context.Context, key string, maxBurst int) ([]int64, error) {
	return redis.Int64s(l.do(ctx, "CL.THROTTLE", key, maxBurst, count, period))
}

func (l redigo) pipeline(_ context.Context, key string, maxBurst, calls int) ([][]int64, error) {
	connection := l.pool.Get()
	defer connection.Close()
	for range calls {
		if err := connection.Send("CL.THROTTLE", key, maxBurst, count, period); err != nil {
			return nil, err
		}
	}
	return many(connection.Do("")) // flushes, and takes all replies that are due
}

func (l redigo) transaction(_ context.Context, key string, maxBurst, calls int) ([][]int64, error) {
	connection := l.pool.Get()
	defer connection.Close()
	if err := connection.Send("MULTI"); err != nil {
		return nil, err
	}
	for range calls {
		if err := connection.Send("CL.THROTTLE", key, maxBurst, count, period); err != nil {
			return nil, err
		}
	}
	return many(connection.Do("EXEC"))
}

func many(reply any, err error) ([][]int64, error) {
	values, err := redis.Values(reply, err)
	if err != nil {
		return nil, err
	}
	replies := make([][]int64, len(values))
	for i, value := range values {
		if replies[i], err = redis.Int64s(value, nil); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (l redigo) script(_ context.Context, key string, maxBurst int) ([]int64, error) {
	connection := l.pool.Get()
	defer connection.Close()
	return redis.Int64s(l.idiom.Do(connection, key, maxBurst, count, period, 1))
}
