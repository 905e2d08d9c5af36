package engine

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/keyspace"
)

var update = flag.Bool("update", false, "write what the scenarios print into testdata")

// TestScenarios runs the scripts in testdata. A script's lines are operations; what they print stands indented below
// them, so a change of behaviour is a diff of the script. Times are relative to the script's start.
//
//	at 1.5s                                   tell the engine the time
//	db 3                                      use another database
//	throttle KEY BURST COUNT PERIOD [QUANTITY]  print the reply and what is stored
//	probe ...                                 the same for Probe
//	store KEY TIME | delete KEY | get KEY | flush | len | keys | sweep | digest
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScenario(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("the scenario now prints:\n%s", got)
			}
		})
	}
}

// start is the time 0s of every scenario.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

type scenario struct {
	t      *testing.T
	hasher keyspace.Hasher
	engine *Engine
	db     int
}

func runScenario(t *testing.T, script string) string {
	hasher := keyspace.NewHasher()
	s := &scenario{t: t, hasher: hasher, engine: New(hasher)}
	s.engine.Advance(start)
	var out strings.Builder
	for lines := bufio.NewScanner(strings.NewReader(script)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "  ") {
			continue // printed by an earlier run
		}
		out.WriteString(line + "\n")
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if printed := s.run(words[0], words[1:]); printed != "" {
			out.WriteString("  " + printed + "\n")
		}
	}
	return out.String()
}

func (s *scenario) run(operation string, args []string) string {
	e := s.engine
	switch operation {
	case "at":
		e.Advance(s.time(args[0]))
	case "db":
		s.db = int(s.integer(args[0]))
	case "throttle":
		return s.decide(e.Throttle, args)
	case "probe":
		return s.decide(e.Probe, args)
	case "store":
		e.Store(s.key(args[0]), s.time(args[1]))
	case "delete":
		return fmt.Sprint(e.Delete(s.key(args[0])))
	case "get":
		return s.stored(args[0])
	case "flush":
		e.Flush(s.db)
	case "swap":
		e.Swap(int(s.integer(args[0])), int(s.integer(args[1])))
	case "len":
		return fmt.Sprint(e.Len(s.db))
	case "keys":
		var keys []string
		e.Each(s.db, func(key []byte, _ int64) { keys = append(keys, string(key)) })
		slices.Sort(keys)
		return strings.Join(keys, " ") + "."
	case "sweep":
		for e.Sweep(true) {
		}
	case "digest":
		return fmt.Sprintf("%016x", e.Digest())
	case "stats":
		return fmt.Sprintf("%+v", e.Stats())
	default:
		s.t.Fatalf("no operation %q", operation)
	}
	return ""
}

func (s *scenario) decide(call func(*Key, *gcra.Limit, int64, *gcra.Decision) error, args []string) string {
	numbers := []int64{0, 0, 0, 1}
	for i, arg := range args[1:] {
		numbers[i] = s.integer(arg)
	}
	key, limit := s.key(args[0]), gcra.Limit{MaxBurst: numbers[0], Count: numbers[1], Period: numbers[2]}
	var d gcra.Decision
	if err := call(&key, &limit, numbers[3], &d); err != nil {
		return err.Error() + "; " + s.stored(args[0])
	}
	limited := 0
	if d.Limited {
		limited = 1
	}
	return fmt.Sprintf("%d %d %d %d %d; %s", limited, d.Limit, d.Remaining, d.RetryAfter, d.ResetAfter, s.stored(args[0]))
}

func (s *scenario) stored(key string) string {
	tatNanos, live := s.engine.peek(s.key(key))
	if !live {
		return "no key"
	}
	return "tat " + time.Duration(tatNanos-start).String()
}

func (s *scenario) key(name string) Key {
	return Key{DB: s.db, Hash: s.hasher.Sum([]byte(name)), Bytes: []byte(name)}
}

func (s *scenario) time(text string) int64 {
	after, err := time.ParseDuration(text)
	s.must(err)
	return start + int64(after)
}

func (s *scenario) integer(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	s.must(err)
	return n
}

func (s *scenario) must(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatal(errors.Unwrap(err), err)
	}
}
