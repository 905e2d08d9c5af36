package main

import (
	"slices"
	"strings"
	"testing"
)

func TestPlanDefaults(t *testing.T) {
	p, err := parsePlan(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := []load{{1, 50}, {16, 50}, {128, 50}, {1, 1}}; !slices.Equal(p.loads, want) {
		t.Errorf("loads %v, want %v", p.loads, want)
	}
	if want := []string{redisLua, null}; !slices.Equal(p.references, want) {
		t.Errorf("references %v, want %v", p.references, want)
	}
	for _, b := range bars {
		if !slices.Contains(p.loads, b.load) {
			t.Errorf("no default load for the bar %+v", b)
		}
	}
	if p, err = parsePlan(nil, "cell.so"); err != nil || !slices.Contains(p.references, redisCell) {
		t.Errorf("with a module at hand: references %v, %v", p.references, err)
	}
}

func TestPlanRefuses(t *testing.T) {
	for _, test := range []struct {
		arguments string
		want      string // in the error
	}{
		{"-rounds 0", "-rounds"},
		{"-seconds 0", "-seconds"},
		{"-seconds NaN", "-seconds"},
		{"-shards 0", "-shards"},
		{"-clients 0", "-clients"},
		{"-depths 1,x", `"x"`},
		{"-depths 0", `"0"`},
		{"-depths 16,16", "twice"},
		{"-references redis-lua,memcached", `"memcached"`},
		{"-references null,null", "twice"},
		{"-references redis-cell", "REDIS_CELL_SO"},
		{"stray", `"stray"`},
	} {
		_, err := parsePlan(strings.Fields(test.arguments), "")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one that names %s", test.arguments, err, test.want)
		}
	}
}

func TestContenders(t *testing.T) {
	p, err := parsePlan([]string{"-references", "redis-lua,redis-cell,null", "-shards", "2"}, "cell.so")
	if err != nil {
		t.Fatal(err)
	}
	const ours = "/bin/cellserver --bind 127.0.0.1 --shards 2 --save "
	const redis = "redis-server --bind 127.0.0.1 --save  --appendonly no"
	const throttle = "cl.throttle k 100 1000 60 1"
	for i, want := range []struct{ name, argv, request string }{
		{cellserver, ours, throttle},
		{redisLua, redis, "evalsha SHA 1 k 100 1000 60 1"},
		{redisCell, redis + " --loadmodule cell.so", throttle},
		{null, ours + " --constant-reply yes", throttle},
	} {
		c := contenders(p, "/bin/cellserver", "cell.so")[i]
		if argv := strings.Join(c.argv, " "); c.name != want.name || argv != want.argv {
			t.Errorf("contender %d: %s: %s, want %s: %s", i, c.name, argv, want.name, want.argv)
		}
		if request := strings.Join(c.request("SHA", "k"), " "); request != want.request {
			t.Errorf("%s: request %q, want %q", c.name, request, want.request)
		}
	}
}
