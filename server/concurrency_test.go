package server

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cellserver/cellserver/netio"
)

// TestStepsOverShardsAreAtomic moves keys between shards while others count them: no count may ever be off.
func TestStepsOverShardsAreAtomic(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		const tokens, names = 40, 400
		all := []string{"EXISTS"}
		setup := dial(t, s)
		for i := range names {
			all = append(all, fmt.Sprint("name", i))
			if i < tokens {
				setup.do("SET", all[i+1], far)
			}
		}
		want := fmt.Sprint(tokens)
		stop := make(chan struct{})
		var moving sync.WaitGroup
		for seed := range 3 {
			c := dial(t, s)
			moving.Go(func() {
				random := rand.New(rand.NewPCG(uint64(seed), 1))
				for {
					select {
					case <-stop:
						return
					default:
					}
					from, to := all[1+random.IntN(names)], all[1+random.IntN(names)]
					if got := c.do("RENAMENX", from, to); got != "0" && got != "1" && got != "-ERR no such key" {
						t.Error(got)
						return
					}
				}
			})
		}
		counter := dial(t, s)
		for range 300 {
			if got := counter.do("DBSIZE"); got != want {
				t.Errorf("DBSIZE %s, want %s", got, want)
			}
			if got := counter.do(all...); got != want {
				t.Errorf("EXISTS %s, want %s", got, want)
			}
		}
		close(stop)
		moving.Wait()
	})
}

// TestAdmissionUnderContention: many connections on few keys, and each key lets exactly its burst and what has drained
// pass.
func TestAdmissionUnderContention(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		const keys, clients, callsEach, burst, perSecond = 8, 16, 2000, 50, 100
		var mu sync.Mutex
		admitted := make([]int, keys)
		began := time.Now()
		var calling sync.WaitGroup
		for seed := range clients {
			c := dial(t, s)
			calling.Go(func() {
				random := rand.New(rand.NewPCG(uint64(seed), 2))
				const depth = 20
				mine := make([]int, keys)
				for range callsEach / depth {
					var chosen [depth]int
					var b strings.Builder
					for i := range chosen {
						chosen[i] = random.IntN(keys)
						b.WriteString(encode("CL.THROTTLE", fmt.Sprint("key", chosen[i]), fmt.Sprint(burst-1), fmt.Sprint(perSecond), "1"))
					}
					c.send(b.String())
					for _, key := range chosen {
						switch got := c.reply(); {
						case strings.HasPrefix(got, "[0 50 "):
							mine[key]++
						case !strings.HasPrefix(got, "[1 50 0 1 1]"):
							t.Error(got)
							return
						}
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for key, n := range mine {
					admitted[key] += n
				}
			})
		}
		calling.Wait()
		most := burst + int(time.Since(began).Seconds()*perSecond) + 1
		for key, n := range admitted {
			if n < burst || n > most {
				t.Errorf("key%d let %d calls pass, which should be %d to %d", key, n, burst, most)
			}
		}
	})
}

// TestRepliesKeepOrder: a pipeline over keys of all shards and commands of all kinds is answered in its order.
func TestRepliesKeepOrder(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		var clients sync.WaitGroup
		for number := range 8 {
			c := dial(t, s)
			clients.Go(func() {
				random := rand.New(rand.NewPCG(uint64(number), 3))
				for round := range 30 {
					var b strings.Builder
					var want []string
					for i := range 200 {
						key := fmt.Sprintf("%d:%d:%d", number, round, i)
						switch random.IntN(6) {
						case 0:
							b.WriteString(encode("ECHO", key))
							want = append(want, `"`+key+`"`)
						case 1:
							b.WriteString(encode("EXISTS", key, key+"x", key+"y"))
							want = append(want, "0")
						case 2:
							b.WriteString("ECHO '" + key + " q'\r\n")
							want = append(want, `"`+key+` q"`)
						case 3:
							b.WriteString(encode("NOSUCH", key))
							want = append(want, "-ERR unknown command 'NOSUCH', with args beginning with: '"+key+"' ")
						default:
							b.WriteString(encode("CL.THROTTLE", key, fmt.Sprint(i), "1", "60"))
							want = append(want, fmt.Sprintf("[0 %d %d -1 60]", i+1, i))
						}
					}
					sent := b.String()
					cut := random.IntN(len(sent))
					c.send(sent[:cut])
					runtime.Gosched()
					c.send(sent[cut:])
					for i := range want {
						if got := c.reply(); got != want[i] {
							t.Errorf("reply %d is %s, want %s", i, got, want[i])
							return
						}
					}
				}
			})
		}
		clients.Wait()
	})
}

// TestCollectorIsNotHeldUp: a loop that waits in a raw system call does not keep the garbage collector from stopping the
// world, since the collector's signal interrupts the wait.
func TestCollectorIsNotHeldUp(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c := dial(t, s)
		var took []time.Duration
		for i := range 40 {
			c.do("CL.THROTTLE", fmt.Sprint(i), "15", "30", "60") // from now the loop waits raw until netio.IdleAfter has passed
			began := time.Now()
			runtime.GC()
			took = append(took, time.Since(began))
		}
		// If collections waited for the loop, every one would take as long as it waits. On a busy machine some do anyway.
		if quickest := slices.Min(took); quickest > netio.IdleAfter/2 {
			t.Errorf("every collection takes %v or more", quickest)
		}
	})
}

// TestScanGuarantee: keys that are there all the time are found by a SCAN, whatever comes and goes meanwhile, and KEYS
// agrees.
func TestScanGuarantee(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c := dial(t, s)
		const stay = 3000
		for i := range stay {
			c.do("SET", fmt.Sprint("stay:", i), far)
		}
		stop := make(chan struct{})
		var churning sync.WaitGroup
		churn := dial(t, s)
		churning.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					churn.do("SET", fmt.Sprint("come:", i), far)
					if i%3 == 0 {
						churn.do("DEL", fmt.Sprint("come:", i/2))
					}
				}
			}
		})
		for _, count := range []string{"10", "1", "1000", "100000"} {
			if count == "1" && !heavy {
				continue
			}
			found := map[string]bool{}
			cursor := "0"
			for calls := 0; calls == 0 || cursor != "0"; calls++ {
				reply := c.do("SCAN", cursor, "MATCH", "stay:*", "COUNT", count)
				fields := strings.Fields(strings.Trim(reply, "[]"))
				cursor = strings.Trim(fields[0], `"`)
				for _, field := range fields[1:] {
					found[strings.Trim(field, `[]"`)] = true
				}
				if calls > 100_000 {
					t.Fatal("SCAN does not end")
				}
			}
			delete(found, "")
			if len(found) != stay {
				t.Errorf("COUNT %s: found %d of %d keys", count, len(found), stay)
			}
		}
		close(stop)
		churning.Wait()
		if keys := strings.Count(c.do("KEYS", "stay:*"), "stay:"); keys != stay {
			t.Errorf("KEYS finds %d of %d", keys, stay)
		}
		if got := c.do("RANDOMKEY"); !strings.Contains(got, ":") {
			t.Error("RANDOMKEY", got)
		}
	})
}

// TestShutdown: what was read is answered, connections are closed, and Serve ends though clients stay.
func TestShutdown(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		idle, busy := dial(t, s), dial(t, s)
		idle.run("PING")
		busy.send(strings.Repeat(encode("CL.THROTTLE", "k", "1000000", "1", "60"), 10_000))
		busy.reply()
		patient, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(patient); err != nil {
			t.Fatal(err)
		}
		idle.closed()
		answered := 1
		for {
			reply, err := readReply(busy.in)
			if err != nil {
				break
			}
			if !strings.HasPrefix(reply, "[0 1000001 ") {
				t.Fatal("torn reply", reply)
			}
			answered++
		}
		if answered == 10_000 {
			t.Log("all was answered before the shutdown")
		}
	})
}

// TestShutdownCutsTheDeaf: a client that doesn't read holds the end up only as long as the caller's patience.
func TestShutdownCutsTheDeaf(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		deaf := dial(t, s)
		go io.WriteString(deaf, strings.Repeat(encode("ECHO", strings.Repeat("x", 10_000)), 10_000))
		watcher, stalledFor := dial(t, s), 0
		eventually(t, "its output is stalled for good", func() bool {
			stalledFor++
			if !strings.Contains(watcher.run("CLIENT LIST"), "events=w") {
				stalledFor = 0
			}
			return stalledFor == 20
		})
		impatient, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		if err := s.Shutdown(impatient); err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

// TestStepsOverShardsKnowTheTime: a command over several shards sees a key as gone from its TAT on, however long the
// shards' loops have been idle.
func TestStepsOverShardsKnowTheTime(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for range 10 {
			tat := time.Now().Add(30 * time.Millisecond).UnixNano()
			for _, name := range names {
				c.do("SET", name, fmt.Sprint(tat))
			}
			time.Sleep(time.Until(time.Unix(0, tat)) + 5*time.Millisecond)
			if got := c.do(append([]string{"EXISTS"}, names...)...); got != "0" {
				t.Errorf("EXISTS finds %s of the keys after their TAT", got)
			}
		}
	})
}
