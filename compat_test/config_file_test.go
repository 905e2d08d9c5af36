package compat_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestConfigFile starts the server with a file, changes what it says and starts it again.
func TestConfigFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "redis.conf")
	content := "# ours\nmaxclients 100\nloadmodule /usr/lib/redis/modules/libredis_cell.so\nactiverehashing yes\nrename-command FLUSHALL \"\"\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	p := startWithFile(t, path, port)
	ctx := context.Background()
	client := goRedis(t, p, nil)
	if got, err := client.ConfigGet(ctx, "maxclients").Result(); err != nil || got["maxclients"] != "100" {
		t.Error(got, err)
	}
	if err := client.FlushAll(ctx).Err(); err == nil || !strings.HasPrefix(err.Error(), "ERR unknown command 'flushall'") {
		t.Error(err)
	}
	if err := client.ConfigSet(ctx, "maxclients", "90").Err(); err != nil {
		t.Error(err)
	}
	if err := client.ConfigRewrite(ctx).Err(); err != nil {
		t.Error(err)
	}
	p.stop(syscall.SIGTERM)
	for _, want := range []string{
		" * loadmodule /usr/lib/redis/modules/libredis_cell.so: redis-cell's commands are built in; the file is not loaded\n",
		" * 1 directive does not concern a rate limiter and has no effect: activerehashing\n",
		" * CONFIG REWRITE executed with success.\n",
	} {
		if !strings.Contains(p.stdout, want) {
			t.Errorf("no %q in %s", want, p.stdout)
		}
	}
	again := goRedis(t, startWithFile(t, path, port), nil)
	if got, err := again.ConfigGet(ctx, "maxclients").Result(); err != nil || got["maxclients"] != "90" {
		t.Error(got, err)
	}
}

// TestBadConfigFile: a directive that Redis does not know is told with its file and line.
func TestBadConfigFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "redis.conf")
	if err := os.WriteFile(path, []byte("port 7000\n\nnosuch 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := exitCode(t, path)
	want := "*** FATAL CONFIG FILE ERROR (cellserver) ***\nReading the configuration file " + path + ", at line 3\n>>> 'nosuch 1'\nBad directive or wrong number of arguments\n"
	if code != 1 || stdout != "" || stderr != want {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}
