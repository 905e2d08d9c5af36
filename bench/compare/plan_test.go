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
	if named, err := parsePlan([]string{"throughput"}, ""); err != nil || !slices.Equal(named.loads, p.loads) {
		t.Errorf("by its name: loads %v, %v", named.loads, err)
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
		{"-keys 0", "-keys"},
		{"persistence -depths ,", `""`},
		{"persistence -seconds 0", "-seconds"},
		{"load -depths 1", "-depths"},
		{"load -seconds 1", "-seconds"},
		{"snapshot -rate 0", "-rate"},
		{"bystander -rate 0", "-rate"},
		{"bystander -attacks watch,nonsense", `"nonsense"`},
		{"-attacks watch", "-attacks"},
		{"snapshot load", `"load"`},
	} {
		_, err := parsePlan(strings.Fields(test.arguments), "")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one that names %s", test.arguments, err, test.want)
		}
	}
}

func TestPlansOfModes(t *testing.T) {
	for _, m := range modes() {
		p, err := parsePlan([]string{m.name, "-rounds", "7", "-keys", "8"}, "")
		if err != nil || p.name != m.name || p.rounds != 7 || p.keys != 8 {
			t.Errorf("%s: %+v, %v", m.name, p, err)
		}
	}
	for _, test := range []struct{ module, want string }{{"", redisLua}, {"cell.so", redisCell}} {
		p, err := parsePlan([]string{"load"}, test.module)
		if err != nil || !slices.Equal(p.references, []string{test.want}) {
			t.Errorf("module %q: references %v, %v", test.module, p.references, err)
		}
	}
}

func TestAttacksOfPlan(t *testing.T) {
	p, err := parsePlan([]string{"bystander"}, "")
	if err != nil || len(p.attacks) != len(attacks) {
		t.Errorf("%d attacks by default, %v", len(p.attacks), err)
	}
	p, err = parsePlan([]string{"bystander", "-attacks", "keys,watch"}, "")
	if err != nil || len(p.attacks) != 2 || p.attacks[0].name != "keys" || p.attacks[1].name != "watch" {
		t.Errorf("attacks %v, %v", p.attacks, err)
	}
}

func TestWithPolicy(t *testing.T) {
	c := contender{name: cellserver, argv: []string{"x"}}
	for policy, want := range map[string]string{
		logOff: "x --appendonly no",
		always: "x --appendonly yes --appendfsync always",
	} {
		got := c.withPolicy(policy)
		if argv := strings.Join(got.argv, " "); argv != want || got.log != policy || got.name != cellserver+" "+policy {
			t.Errorf("%s: %+v, want %s", policy, got, want)
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
		if request := strings.Join(c.request("SHA", "k", usualLimit), " "); request != want.request {
			t.Errorf("%s: request %q, want %q", c.name, request, want.request)
		}
	}
}
