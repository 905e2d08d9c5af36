package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// incrementRecords is how many records the log gets after its base.
const incrementRecords = 1_000_000

// kept is what one server showed in one round of mode load, in bytes and seconds.
type kept struct {
	filledBytes, loadedBytes            float64 // resident: with the keys stored one by one, and loaded from the snapshot
	snapshotBytes, baseBytes, incrBytes float64 // files
	save, backgroundSave, rewrite       float64
	loadSnapshot, loadLog               float64 // from the start of the process until it answers and has all keys
}

// keptMetrics are the rows of the report.
var keptMetrics = []struct {
	name   string
	format string
	of     func(kept) float64
}{
	{"snapshot, MB", "%.1f", func(k kept) float64 { return k.snapshotBytes / 1e6 }},
	{"log: base, MB", "%.1f", func(k kept) float64 { return k.baseBytes / 1e6 }},
	{"log: increment, MB", "%.1f", func(k kept) float64 { return k.incrBytes / 1e6 }},
	{"SAVE, s", "%.2f", func(k kept) float64 { return k.save }},
	{"BGSAVE, s", "%.2f", func(k kept) float64 { return k.backgroundSave }},
	{"BGREWRITEAOF, s", "%.2f", func(k kept) float64 { return k.rewrite }},
	{"start with the snapshot, s", "%.2f", func(k kept) float64 { return k.loadSnapshot }},
	{"start with the log, s", "%.2f", func(k kept) float64 { return k.loadLog }},
	{"resident after SETs, MB", "%.0f", func(k kept) float64 { return k.filledBytes / 1e6 }},
	{"resident after a load, MB", "%.0f", func(k kept) float64 { return k.loadedBytes / 1e6 }},
}

// measureLoad measures what the files cost that keep the keys: their size, and the time to write and to load them.
func measureLoad(ctx context.Context, b bench) (string, error) {
	all := contenders(b.plan, b.binary, b.cellModule)
	samples := make(map[string][]kept)
	for round := range b.rounds {
		for i := range all {
			c := all[(round+i)%len(all)]
			fmt.Fprintf(b.progress, "round %d of %d: %s\n", round+1, b.rounds, c.name)
			k, err := b.keep(ctx, c)
			if err != nil {
				return "", err
			}
			samples[c.name] = append(samples[c.name], k)
		}
	}
	return formatLoad(b.setting, samples, append([]string{cellserver}, b.references...), b.keys, b.rounds), nil
}

// keep goes through the life of one server: filled, saved, started again with its snapshot, saved to a log, and started with that.
func (b bench) keep(ctx context.Context, c contender) (kept, error) {
	c.argv = append(c.argv[:len(c.argv):len(c.argv)], "--auto-aof-rewrite-percentage", "0")
	s, err := startServer(ctx, c, b.serverCores, b.folder)
	if err != nil {
		return kept{}, err
	}
	defer os.RemoveAll(s.folder)
	defer func() { s.stop() }()

	var k kept
	for _, step := range []func(context.Context, *server, *kept) error{b.keepSnapshot, b.loadSnapshot, b.keepLog, b.loadLog} {
		if err := step(ctx, s, &k); err != nil {
			return kept{}, fmt.Errorf("%s: %w\n%s", c.name, err, s.logTail())
		}
	}
	return k, nil
}

// keepSnapshot fills the server and has it write snapshots.
func (b bench) keepSnapshot(ctx context.Context, s *server, k *kept) error {
	if err := s.fill(ctx, b.keys); err != nil {
		return err
	}
	if err := s.waitKeys(ctx, b.keys); err != nil {
		return err
	}
	if err := s.waitQuiet(ctx); err != nil {
		return err
	}
	filled, err := s.resident()
	if err != nil {
		return err
	}
	k.filledBytes = float64(filled)

	began := time.Now()
	if _, err := s.call(ctx, "SAVE"); err != nil {
		return err
	}
	k.save = time.Since(began).Seconds()
	took, err := s.save(ctx, "BGSAVE", pollInterval)
	if err != nil {
		return err
	}
	k.backgroundSave = took.Seconds()
	k.snapshotBytes, err = sizeOf(filepath.Join(s.folder, "dump.rdb"))
	return err
}

// restart starts the server again, and returns the seconds until it answers and has all keys.
func (b bench) restart(ctx context.Context, s *server) (float64, error) {
	s.stop()
	began := time.Now()
	if err := s.launch(); err != nil {
		return 0, err
	}
	err := s.waitKeys(ctx, b.keys)
	return time.Since(began).Seconds(), err
}

func (b bench) loadSnapshot(ctx context.Context, s *server, k *kept) error {
	var err error
	if k.loadSnapshot, err = b.restart(ctx, s); err != nil {
		return err
	}
	if err := s.waitQuiet(ctx); err != nil {
		return err
	}
	loaded, err := s.resident()
	k.loadedBytes = float64(loaded)
	return err
}

// keepLog turns the log on, which writes a first base, and has the server write a second, of which the time is known, and an increment.
func (b bench) keepLog(ctx context.Context, s *server, k *kept) error {
	if _, err := s.call(ctx, "CONFIG", "SET", "appendonly", "yes"); err != nil {
		return err
	}
	if err := s.waitSaved(ctx, pollInterval); err != nil {
		return err
	}
	took, err := s.save(ctx, "BGREWRITEAOF", pollInterval)
	if err != nil {
		return err
	}
	k.rewrite = took.Seconds()
	return s.fill(ctx, min(b.keys, incrementRecords))
}

func (b bench) loadLog(ctx context.Context, s *server, k *kept) error {
	s.argv = append(s.argv, "--appendonly", "yes")
	var err error
	if k.loadLog, err = b.restart(ctx, s); err != nil {
		return err
	}
	files := filepath.Join(s.folder, "appendonlydir", "*")
	if k.baseBytes, err = sizeOf(files + ".base.rdb"); err != nil {
		return err
	}
	k.incrBytes, err = sizeOf(files + ".incr.aof")
	return err
}

// sizeOf returns the size of the files that the pattern fits, of which there is one at least.
func sizeOf(pattern string) (float64, error) {
	paths, err := filepath.Glob(pattern)
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("there is no file %s", pattern)
	}
	if err != nil {
		return 0, err
	}
	size := 0.0
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		size += float64(info.Size())
	}
	return size, nil
}

// formatLoad returns the report as markdown. The first of the servers is ours.
func formatLoad(setting []fact, samples map[string][]kept, servers []string, keys, rounds int) string {
	var text strings.Builder
	writeHead(&text, setting, "Files that keep the keys")
	fmt.Fprintf(&text, "\n## %d keys, an increment of %d records, median of %d rounds; ratios %s to reference, median [range]\n\n",
		keys, min(keys, incrementRecords), rounds, servers[0])
	text.WriteString("| |")
	for _, server := range servers {
		fmt.Fprintf(&text, " %s |", server)
	}
	for _, reference := range servers[1:] {
		fmt.Fprintf(&text, " ratio to %s |", reference)
	}
	fmt.Fprintf(&text, "\n| --- |%s\n", strings.Repeat(" ---: |", 2*len(servers)-1))
	for _, m := range keptMetrics {
		fmt.Fprintf(&text, "| %s |", m.name)
		for _, server := range servers {
			fmt.Fprintf(&text, " "+m.format+" |", medianOf(samples[server], m.of))
		}
		for _, reference := range servers[1:] {
			fmt.Fprintf(&text, " %v |", ratioOf(samples[servers[0]], samples[reference], m.of))
		}
		text.WriteString("\n")
	}
	return text.String()
}
