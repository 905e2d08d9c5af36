package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strconv"
	"time"
)

const script = "return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])"

// The limit of every call: one in a minute, beyond the burst.
const (
	count  = 1
	period = 60
)

// slack is how many seconds a program may spend, on a busy machine, between calls of one step.
const slack = 5

// A library asks CL.THROTTLE in the ways that applications do.
type library interface {
	ping(ctx context.Context) error
	throttle(ctx context.Context, key string, maxBurst int) ([]int64, error)
	pipeline(ctx context.Context, key string, maxBurst, calls int) ([][]int64, error)
	transaction(ctx context.Context, key string, maxBurst, calls int) ([][]int64, error)
	script(ctx context.Context, key string, maxBurst int) ([]int64, error)
}

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func connect(ctx context.Context, name string) (library, error) {
	encryption, err := tlsConfig()
	if err != nil {
		return nil, err
	}
	switch name {
	case "go-redis":
		return newGoRedis(encryption), nil
	case "rueidis":
		return newRueidis(encryption)
	case "redigo":
		return newRedigo(encryption), nil
	}
	return nil, fmt.Errorf("no library %q", name)
}

func run(ctx context.Context, name string) error {
	client, err := connect(ctx, name)
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		take func(context.Context, library) error
	}{
		{"connect", func(ctx context.Context, client library) error { return client.ping(ctx) }},
		{"throttle", throttle}, {"pipeline", pipeline}, {"transaction", transaction}, {"script", scripted},
		{"reconnect", reconnect},
	}
	for _, step := range steps {
		if err := step.take(ctx, client); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Println("ok", step.name)
	}
	return nil
}

func throttle(ctx context.Context, client library) error {
	for i := range 4 {
		reply, err := client.throttle(ctx, "throttle", 2)
		if err := compare(reply, err, 2, i); err != nil {
			return err
		}
	}
	return nil
}

func pipeline(ctx context.Context, client library) error {
	replies, err := client.pipeline(ctx, "pipeline", 999, 1000)
	return compareAll(replies, err, 999, 1000)
}

func transaction(ctx context.Context, client library) error {
	replies, err := client.transaction(ctx, "transaction", 2, 4)
	return compareAll(replies, err, 2, 4)
}

func scripted(ctx context.Context, client library) error {
	for i := range 4 {
		reply, err := client.script(ctx, "script", 2)
		if err := compare(reply, err, 2, i); err != nil {
			return err
		}
	}
	return nil
}

// reconnect goes on asking, as an application would, until the restarted server answers.
func reconnect(ctx context.Context, client library) error {
	fmt.Println("restart")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	reply, err := client.throttle(ctx, "reconnect", 2)
	for attempts := 1; err != nil && attempts < 50; attempts++ {
		time.Sleep(100 * time.Millisecond)
		reply, err = client.throttle(ctx, "reconnect", 2)
	}
	return compare(reply, err, 2, 0)
}

func compareAll(replies [][]int64, err error, maxBurst, calls int) error {
	if err != nil {
		return err
	}
	if len(replies) != calls {
		return fmt.Errorf("%d replies to %d calls", len(replies), calls)
	}
	for i, reply := range replies {
		if err := compare(reply, nil, maxBurst, i); err != nil {
			return err
		}
	}
	return nil
}

// compare checks the reply to a call after a number of earlier ones. The times may have run for a few seconds.
func compare(reply []int64, err error, maxBurst, earlier int) error {
	if err != nil {
		return err
	}
	limit := int64(maxBurst + 1)
	want := []int64{0, limit, limit - 1 - int64(earlier), -1, int64(earlier+1) * period}
	if int64(earlier) >= limit {
		want = []int64{1, limit, 0, period, limit * period}
	}
	equal := len(reply) == len(want)
	for i := 0; equal && i < len(want); i++ {
		equal = reply[i] == want[i] || i >= 3 && want[i] > 0 && reply[i] < want[i] && reply[i] >= want[i]-slack
	}
	if !equal {
		return fmt.Errorf("reply %v to call %d, want %v", reply, earlier, want)
	}
	return nil
}

func address() string { return os.Getenv("CELLSERVER_HOST") + ":" + os.Getenv("CELLSERVER_PORT") }

func user() string { return os.Getenv("CELLSERVER_USER") }

func password() string { return os.Getenv("CELLSERVER_PASSWORD") }

// protocol is the version of RESP to use, or 0 for the library's default.
func protocol() int {
	version, _ := strconv.Atoi(os.Getenv("CELLSERVER_RESP"))
	return version
}

// tlsConfig is nil where no TLS is wanted.
func tlsConfig() (*tls.Config, error) {
	path := os.Getenv("CELLSERVER_CA")
	if path == "" {
		return nil, nil
	}
	authority, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &tls.Config{RootCAs: pool, ServerName: os.Getenv("CELLSERVER_HOST")}, nil
}
