package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func with(t *testing.T, c *Config, words ...string) *Config {
	t.Helper()
	var pairs []Pair
	for i := 0; i < len(words); i += 2 {
		pairs = append(pairs, Pair{words[i], words[i+1]})
	}
	next, err := c.With(pairs, true)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// changed returns the names of the directives whose values differ, in the order of the table.
func changed(before, after *Config) []string {
	var names []string
	for i := range directives {
		if d := &directives[i]; d.get(before) != d.get(after) {
			names = append(names, d.name)
		}
	}
	return names
}

// TestWith: CONFIG SET takes all pairs or none, with Redis's words.
func TestWith(t *testing.T) {
	rows := []struct{ args, want string }{
		{"maxclients x", "CONFIG SET failed (possibly related to argument 'maxclients') - argument couldn't be parsed into an integer"},
		{"nosuch 1", "Unknown option or number of arguments for CONFIG SET - 'nosuch'"},
		{"maxclients 0 nosuch 1", "Unknown option or number of arguments for CONFIG SET - 'nosuch'"},
		{"maxclients 0 databases 1", "CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config"},
		{"port 1", "CONFIG SET failed (possibly related to argument 'port') - can't set immutable config"},
		{"bind 127.0.0.1", "CONFIG SET failed (possibly related to argument 'bind') - can't set immutable config"},
		{"tls-port 1", "CONFIG SET failed (possibly related to argument 'tls-port') - can't set immutable config"},
		{"maxclients 3 MAXclients 4", "CONFIG SET failed (possibly related to argument 'MAXclients') - duplicate parameter"},
		{"maxclients 5 maxmemory x", "CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value"},
		{"dbfilename x", "CONFIG SET failed (possibly related to argument 'dbfilename') - can't set protected config"},
		{"maxmemory 1gb", "CONFIG SET failed (possibly related to argument 'maxmemory') - not implemented: memory is not limited; keys take about 40 bytes each and live only until their limit is full again"},
		{"min-slaves-to-write 1", "CONFIG SET failed (possibly related to argument 'min-slaves-to-write') - not implemented: there are no replicas, and writes are accepted without them"},
		{"Slave-Read-Only x", "CONFIG SET failed (possibly related to argument 'Slave-Read-Only') - argument must be 'yes' or 'no'"},
	}
	for _, row := range rows {
		c := Default()
		var pairs []Pair
		words := strings.Fields(row.args)
		for i := 0; i < len(words); i += 2 {
			pairs = append(pairs, Pair{words[i], words[i+1]})
		}
		next, err := c.With(pairs, false)
		var failure *SetError
		if next != nil || !errors.As(err, &failure) || err.Error() != row.want {
			t.Errorf("%s: %v", row.args, err)
		}
		if unchanged := Default(); len(changed(&unchanged, &c)) > 0 {
			t.Errorf("%s: changed %v", row.args, changed(&unchanged, &c))
		}
	}
	c := Default()
	next := with(t, &c, "maxmemory", "0", "maxclients", "7", "save", "5 6", "hz", "20", "lua-time-limit", "3", "busy-reply-threshold", "4", "dbfilename", "x.rdb")
	if got := strings.Join(changed(&c, next), " "); got != "maxclients busy-reply-threshold save dbfilename hz" {
		t.Error(got)
	}
	if next.MaxClients != 7 || len(next.Save) != 1 || next.Save[0] != (SavePoint{5, 6}) || next.BusyReplyThresholdMillis != 4 {
		t.Errorf("%+v", next)
	}
}

const written = `# my conf
PORT 7399
maxclients 100

# keep
save 3600 1
save 300 100
rename-command GET G2
user bob on >x
loglevel verbose
slave-read-only yes
repl-backlog-size 1024mb
loglevel notice
`

func TestRewrite(t *testing.T) {
	rows := []struct {
		name   string
		before string
		set    []string
		users  []string
		after  string
	}{
		{"nothing has changed", written, nil, nil, written},
		{"the value is the file's, spelled otherwise", written, []string{"repl-backlog-size", "1gb"}, nil, written},
		{"what the file asks for in vain", "maxmemory 1gb\nhz 20\n", []string{"hz", "30", "maxmemory", "0"}, nil, "maxmemory 1gb\nhz 30\n"},
		{"in its place", written, []string{"maxclients", "120"}, nil, strings.Replace(written, "maxclients 100", "maxclients 120", 1)},
		{"lines that are too many", written, []string{"save", "60 1"}, nil, strings.Replace(written, "save 3600 1\nsave 300 100\n", "save 60 1\n", 1)},
		{"lines that are too few", "save 1 1\nport 5\n", []string{"save", "60 1 30 2 15 3"}, nil, "save 60 1\nsave 30 2\nsave 15 3\nport 5\n"},
		{"none", written, []string{"save", ""}, nil, strings.Replace(written, "save 3600 1\nsave 300 100\n", "save \"\"\n", 1)},
		{"an older name", written, []string{"slave-read-only", "no"}, nil, strings.Replace(written, "slave-read-only yes", "replica-read-only no", 1)},
		{"the default is written where the file says otherwise", "timeout 5\n", []string{"timeout", "0"}, nil, "timeout 0\n"},
		{"at the end", "port 5", []string{"timeout", "7", "requirepass", "a \"b\"\x01", "repl-backlog-size", "2097152"}, nil,
			"port 5\n\n# Generated by CONFIG REWRITE\ntimeout 7\nrequirepass \"a \\\"b\\\"\\x01\"\nrepl-backlog-size 2mb\n"},
		{"at the end again", "port 5\n\n# Generated by CONFIG REWRITE\ntimeout 7\n", []string{"hz", "20"}, nil,
			"port 5\n\n# Generated by CONFIG REWRITE\ntimeout 7\nhz 20\n"},
		{"users", written, nil, []string{"user a on", "user b off"}, strings.Replace(written, "user bob on >x\n", "user a on\nuser b off\n", 1)},
		{"a class of clients", "", []string{"client-output-buffer-limit", "pubsub 1mb 0 0"}, nil,
			"\n# Generated by CONFIG REWRITE\nclient-output-buffer-limit normal 0 0 0\nclient-output-buffer-limit replica 256mb 64mb 60\nclient-output-buffer-limit pubsub 1mb 0 0\n"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c, err := load(t, row.before)
			if err != nil {
				t.Fatal(err)
			}
			now := with(t, c, row.set...)
			if err := now.Rewrite(row.users); err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadFile(c.File)
			if err != nil {
				t.Fatal(err)
			}
			if string(after) != row.after {
				t.Errorf("the file is now\n%s", after)
			}
			again := Default()
			if err := again.Load([]string{c.File}, nil); err != nil || len(changed(&again, now)) > 0 {
				t.Error("read again:", err, changed(&again, now))
			}
			if info, err := os.Stat(c.File); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
				t.Error(err, info.Mode())
			}
			if rest, err := filepath.Glob(c.File + ".*"); err != nil || len(rest) > 0 {
				t.Error("left behind:", rest, err)
			}
		})
	}
}

// TestRewriteOfIncludedSave: save lines add up, so those of an included file must be cleared first.
func TestRewriteOfIncludedSave(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "more", "save 1 1\n")
	c := Default()
	if err := c.Load([]string{write(t, folder, "main", "include more\n")}, nil); err != nil {
		t.Fatal(err)
	}
	now := with(t, &c, "save", "60 1")
	if err := now.Rewrite(nil); err != nil {
		t.Fatal(err)
	}
	again := Default()
	if err := again.Load([]string{c.File}, nil); err != nil || len(changed(&again, now)) > 0 {
		t.Error(err, again.Save)
	}
}

func TestRewriteErrors(t *testing.T) {
	c, err := load(t, "port 5\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(c.File); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(nil); err == nil || err.Error() != "No such file or directory" {
		t.Error(err)
	}
}
