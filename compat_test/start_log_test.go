package compat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// readyPatterns are what tools wait for that start a server and read its output: by name, the tool's own expression.
var readyPatterns = map[string]string{
	"npm redis-server":                   `(?i)ready\s+to\s+accept`,
	"npm redis-memory-server":            `(?i)Ready to accept connections`,
	"testcontainers for Java":            `.*Ready to accept connections.*\n`,
	"testcontainers for Go":              `\* Ready to accept connections`,
	"embedded-redis of before Redis 7.2": `(?m)^.*Ready to accept connections$`,
	"containers of Redis 7.2 and later":  `\* Ready to accept connections tcp`,
	"Debian's and others' own scripts":   `# Server initialized\n`,
}

// socketPatterns are the same for a server with a Unix socket alone.
var socketPatterns = map[string]string{
	"tempredis":          `The server is now ready to accept connections`,
	"a Redis of 7.2":     `\* Ready to accept connections unix`,
	"npm redis-server":   `(?i)ready\s+to\s+accept`,
	"Server initialized": `# Server initialized\n`,
}

// failurePattern is what npm's redis-server takes for the end of a start, where it comes before the server is ready.
var failurePattern = regexp.MustCompile(`(?i)already\s+in\s+use|not\s+listen|error|denied|can't`)

// TestReadyLines: tools that wait for Redis's lines find them, and nothing before that they take for a failure.
func TestReadyLines(t *testing.T) {
	path := socketPath(t)
	for _, row := range []struct {
		patterns map[string]string
		port     int
		options  []string
	}{
		{readyPatterns, freePort(t), nil},
		{readyPatterns, freePort(t), []string{"--unixsocket", path, "--appendonly", "yes", "--maxmemory-policy volatile-ttl"}},
		{socketPatterns, 0, []string{"--unixsocket", path}},
	} {
		p := startAs(t, false, row.port, row.options...)
		p.stop(syscall.SIGTERM)
		for tool, pattern := range row.patterns {
			if !regexp.MustCompile(pattern).MatchString(p.stdout) {
				t.Errorf("%s waits for %s: %s", tool, pattern, p.stdout)
			}
		}
		before, _, _ := strings.Cut(p.stdout, "eady to accept")
		if found := failurePattern.FindString(before); found != "" {
			t.Errorf("%q before it is ready: %s", found, p.stdout)
		}
	}
}

// TestStartIsTold: the log of a start tells the program, the configuration, where the files are and what is loaded, and then where
// clients of which kind are served.
func TestStartIsTold(t *testing.T) {
	files := makeCertificates(t)
	folder, socket := t.TempDir(), socketPath(t)
	port, tlsPort := freePort(t), freePort(t)
	conf := filepath.Join(folder, "cell.conf")
	content := fmt.Sprintf("dir %s\ntls-port %d\ntls-cert-file %s\ntls-key-file %s\ntls-auth-clients no\nunixsocket %s\nshards 1\n",
		folder, tlsPort, files.certificate, files.key, socket)
	if err := os.WriteFile(conf, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startWithFile(t, conf, port)
	client := goRedis(t, p, func(o *redis.Options) { o.Network, o.Addr = "unix", socket })
	throttle(t, client, "k", 15, 30, 60)
	p.stop(syscall.SIGTERM)
	p = startWithFile(t, conf, port)
	p.stop(syscall.SIGTERM)
	rest := p.stdout
	for _, want := range []string{
		" # cellserver 0.1.0, Redis version=7.0.15, bits=64, commit=",
		fmt.Sprintf(" # Configuration loaded from %s and the command line\n", conf),
		fmt.Sprintf(" * Running mode=standalone, port=%d.\n", port),
		fmt.Sprintf(" * Persistence: dir=%s, dbfilename=dump.rdb, save=\"3600 1 300 100 60 10000\", appendonly=no\n", folder),
		" # Server initialized\n",
		" * DB loaded from " + filepath.Join(folder, "dump.rdb") + ": 1 keys (1 entries read, 0 CL.THROTTLE calls applied, 0 expired entries left out) in ",
		fmt.Sprintf(" * cellserver 0.1.0 serves tcp 127.0.0.1:%d, tls 127.0.0.1:%d, unix %s (shards: 1)\n", port, tlsPort, socket),
		" * Ready to accept connections\n",
		" * The server is now ready to accept connections at " + socket + "\n",
		" * Ready to accept connections tcp\n",
		" * Ready to accept connections tls\n",
		" * Ready to accept connections unix\n",
		" # Received SIGTERM scheduling shutdown...\n",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("no %q, or not in its place, in\n%s", want, p.stdout)
			continue
		}
		rest = after
	}
}

// TestVersionLine: tools find the version of Redis and ours.
func TestVersionLine(t *testing.T) {
	_, line, _ := exitCode(t, "--version")
	for name, pattern := range map[string]string{
		"pytest-redis":          `^\D*(7\.0\.15)`, // the first number with dots
		"scripts with awk":      `^\S+ \S+ v=7\.0\.15 `,
		"scripts with patterns": `^Redis server v=7\.0\.15 sha=[0-9a-f]{8}:[01] malloc=\S+ bits=(32|64) build=[0-9a-f]+ `,
		"people":                ` cellserver=0\.1\.0\n$`,
	} {
		if !regexp.MustCompile(pattern).MatchString(line) {
			t.Errorf("%s look for %s: %q", name, pattern, line)
		}
	}
}
