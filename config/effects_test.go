package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPromises: a value that promises what cellserver does not do gets a line of its own and is neither kept nor shown,
// while the table's value asks for nothing. The last value of several counts.
func TestPromises(t *testing.T) {
	rows := []struct{ lines, name, value, warning string }{
		{"maxmemory 1gb", "maxmemory", "0", "maxmemory 1gb is not implemented: memory is not limited; keys take about 40 bytes each and live only until their limit is full again (CONFIG GET says 0)"},
		{"maxmemory 0", "maxmemory", "0", ""},
		{"maxmemory 1gb\nmaxmemory 0", "maxmemory", "0", ""},
		{"maxmemory 0\nmaxmemory 2gb", "maxmemory", "0", "maxmemory 2gb is not implemented: "},
		{"maxmemory-clients 5%", "maxmemory-clients", "0", "maxmemory-clients 5% is not implemented: "},
		{"maxmemory-policy ALLKEYS-LRU", "maxmemory-policy", "noeviction", "maxmemory-policy allkeys-lru is not implemented: nothing is evicted (CONFIG GET says noeviction)"},
		{"maxmemory-policy volatile-lrm", "maxmemory-policy", "noeviction", "maxmemory-policy volatile-lrm is not implemented: "},
		{"maxmemory-policy noeviction", "maxmemory-policy", "noeviction", ""},
		{"min-slaves-to-write 1", "min-replicas-to-write", "0", "min-slaves-to-write 1 is not implemented: "},
		{"min-replicas-max-lag 10", "min-replicas-max-lag", "10", ""},
		{"notify-keyspace-events KEA", "notify-keyspace-events", "", `notify-keyspace-events "AKE" is not implemented: no events are published (CONFIG GET says "")`},
		{"notify-keyspace-events KExgoT", "notify-keyspace-events", "", `notify-keyspace-events "gxKEoT" is not implemented: `},
		{`notify-keyspace-events ""`, "notify-keyspace-events", "", ""},
		{"tls-ciphersuites TLS_AES_256_GCM_SHA384", "tls-ciphersuites", "", "tls-ciphersuites "},
		{"hide-user-data-from-log yes", "hide-user-data-from-log", "no", "hide-user-data-from-log yes is not implemented: "},
	}
	for _, row := range rows {
		c, err := load(t, row.lines)
		if err != nil {
			t.Errorf("%s: %v", row.lines, err)
			continue
		}
		told := strings.Join(c.Warnings, "; ")
		if got := value(t, c, row.name); got != row.value || !strings.HasPrefix(told, row.warning) || (told == "") != (row.warning == "") || len(c.Notes) > 0 {
			t.Errorf("%s: %s is %q, warnings %q, notes %q", row.lines, row.name, got, c.Warnings, c.Notes)
		}
	}
}

// TestMissingIsTold: one line names what is asked for and not implemented, another what cannot concern a rate limiter.
func TestMissingIsTold(t *testing.T) {
	c, err := load(t, "io-threads 4\nhash-max-listpack-entries 512\nreplica-read-only yes\nprimaryauth x\nset-max-listpack-entries 9\nsearch-timeout 500\ntls-auth-clients-user off\nreplicaof no one\nhz 10\nio-threads 2")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"2 directives are not implemented and have no effect: io-threads, primaryauth",
		"4 directives do not concern a rate limiter and have no effect: hash-max-listpack-entries, set-max-listpack-entries, hz, search-timeout",
	}
	if !slices.Equal(c.Notes, want) || len(c.Warnings) > 0 {
		t.Errorf("notes %q, warnings %q", c.Notes, c.Warnings)
	}
}

// TestGet: CONFIG GET lists what Redis 7.0 lists, and returns everything else only by its name.
func TestGet(t *testing.T) {
	rows := []struct{ pattern, want string }{
		{"mastera*", "[{masterauth }]"},
		{"primaryauth", "[{primaryauth }]"},
		{"primary*", "[]"},
		{"watchdog-period", "[{watchdog-period 0}]"},
		{"watchdog-perio?", "[]"},
		{"set-max-listpack-value", "[{set-max-listpack-value 64}]"},
		{"set-max-listpack*", "[]"},
		{"slowlog-max-len", "[{slowlog-max-len 128}]"},
		{"*zset-max-ziplist-value", "[{zset-max-ziplist-value 64}]"},
		{"nosuch", "[]"},
	}
	c := Default()
	for _, row := range rows {
		if got := fmt.Sprint(c.Get(row.pattern)); got != row.want {
			t.Errorf("%s: %s", row.pattern, got)
		}
	}
}

// TestLaterDirectives: directives of later versions of Redis and Valkey are accepted, with those versions' values, and shown
// by name.
func TestLaterDirectives(t *testing.T) {
	content, err := os.ReadFile("testdata/later.conf")
	if err != nil {
		t.Fatal(err)
	}
	defaults := Default()
	for line := range strings.Lines(string(content)) {
		c, err := load(t, line)
		if err != nil {
			t.Error(err)
			continue
		}
		words, _ := splitLine(strings.TrimSpace(line))
		switch {
		case len(words) == 0:
		case isOfModule(words[0]):
			if want := "1 directive does not concern a rate limiter and has no effect: " + words[0]; strings.Join(c.Notes, "; ") != want {
				t.Errorf("%s: notes %q", words[0], c.Notes)
			}
		case len(c.Get(words[0])) != 1:
			t.Errorf("%s is not told by its name", words[0])
		case len(c.Notes)+len(c.Warnings) == 0 && find(words[0]).get(c) == find(words[0]).get(&defaults) && words[0] != "tls-auth-clients-user":
			t.Errorf("%s: has no effect, and nobody is told", words[0])
		}
	}
	for i := range later {
		if name := later[i].name; !strings.Contains(string(content), "\n"+name+" ") && name != "preload-file" && name != "close-on-replica-write" {
			t.Errorf("%s is not in the list", name)
		}
	}
}
