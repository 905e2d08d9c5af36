package server

import (
	"slices"
	"strings"
	"testing"
)

func TestParseArgs(t *testing.T) {
	c := DefaultConfig()
	err := c.ParseArgs(strings.Fields("--port 7000 --bind 127.0.0.1 -::1 --shards 2 --MAXCLIENTS 5 --unixsocket /tmp/s"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Port != 7000 || !slices.Equal(c.Bind, []string{"127.0.0.1", "-::1"}) || c.Shards != 2 || c.MaxClients != 5 || c.UnixSocket != "/tmp/s" {
		t.Errorf("%+v", c)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestParseArgsErrors(t *testing.T) {
	rows := []struct{ args, want string }{
		{"--nosuch 1", "unknown option '--nosuch'; --help lists the options"},
		{"--databases 3", "unknown option '--databases'; --help lists the options"},
		{"port 7000", "'port' is not an option; options are written --name value"},
		{"--port", "--port: one value expected, 0 given"},
		{"--port 1 2", "--port: one value expected, 2 given"},
		{"--port x", "--port: 'x' is not a number between 0 and 65535"},
		{"--port 65536", "--port: '65536' is not a number between 0 and 65535"},
		{"--port -1", "--port: '-1' is not a number between 0 and 65535"},
		{"--shards 0", "--shards: '0' is not a number between 1 and 256"},
		{"--shards 257", "--shards: '257' is not a number between 1 and 256"},
		{"--maxclients 0", "--maxclients: '0' is not a number between 1 and 1073741824"},
		{"--bind", "--bind: an address expected"},
		{"--constant-reply maybe", "--constant-reply: 'maybe' is neither yes nor no"},
	}
	for _, row := range rows {
		c := DefaultConfig()
		if err := c.ParseArgs(strings.Fields(row.args)); err == nil || err.Error() != row.want {
			t.Errorf("%s: %v", row.args, err)
		}
	}
}

func TestParseArgsAtTheLimits(t *testing.T) {
	for _, args := range []string{"--port 65535", "--shards 1", "--shards 256", "--maxclients 1"} {
		c := DefaultConfig()
		if err := c.ParseArgs(strings.Fields(args)); err != nil {
			t.Error(args, err)
		}
	}
}

// TestValidate reports all faults at once.
func TestValidate(t *testing.T) {
	c := Config{Port: -1, Bind: []string{"1:2:"}, IO: "smoke"}
	err := c.Validate()
	for _, want := range []string{"port", "shards", "maxclients", "bind", "io"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	nowhere := DefaultConfig()
	nowhere.Port = 0
	if err := nowhere.Validate(); err == nil || !strings.Contains(err.Error(), "nothing to listen on") {
		t.Error(err)
	}
}

func TestUsageListsTheOptions(t *testing.T) {
	usage := Usage()
	for _, option := range []string{"--port", "--bind", "--shards", "--maxclients", "--unixsocket", "--help", "--version"} {
		if !strings.Contains(usage, option+" ") {
			t.Errorf("%s is missing from:\n%s", option, usage)
		}
	}
	for _, hidden := range []string{"constant-reply", "--io"} {
		if strings.Contains(usage, hidden) {
			t.Errorf("%s is shown", hidden)
		}
	}
}
