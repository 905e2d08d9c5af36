package main

// bar is the most CPU time a request may cost cellserver, as a ratio to a reference under the same load.
type bar struct {
	reference string
	load      load
	cpuRatio  float64
}

// bars hold for one shard. Those of redis-lua stand in for redis-cell's where the module is not at hand; there is none
// of them for a single client.
var bars = []bar{
	{redisCell, load{depth: 1, clients: 50}, 0.80},
	{redisCell, load{depth: 16, clients: 50}, 0.30},
	{redisCell, load{depth: 128, clients: 50}, 0.09},
	{redisCell, load{depth: 1, clients: 1}, 0.90},
	{redisLua, load{depth: 1, clients: 50}, 0.53},
	{redisLua, load{depth: 16, clients: 50}, 0.125},
	{redisLua, load{depth: 128, clients: 50}, 0.033},
}

// barsFor returns the bars that count in a run: none for several shards, else those of the one reference they go by.
func barsFor(shards int, references []string) []bar {
	if shards != 1 {
		return nil
	}
	counts := redisLua
	for _, name := range references {
		if name == redisCell {
			counts = redisCell
		}
	}
	var chosen []bar
	for _, b := range bars {
		if b.reference == counts {
			chosen = append(chosen, b)
		}
	}
	return chosen
}
