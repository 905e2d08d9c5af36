package persistence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cellserver/cellserver/internal/vfs"
)

func TestBatchKeepsTheLastEffect(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var b Batch
	want := map[place]int64{} // 0: gone
	for i := range 20_000 {
		p := place{random.IntN(3), fmt.Sprint(random.IntN(1500))}
		switch random.IntN(10) {
		case 0:
			b.Delete(p.db, hashOf(p.key), []byte(p.key))
			want[p] = 0
		default:
			b.Set(p.db, hashOf(p.key), []byte(p.key), int64(i+1))
			want[p] = int64(i + 1)
		}
		if i%5000 == 4999 {
			b.Flush(1)
			for p := range want {
				if p.db == 1 {
					delete(want, p)
				}
			}
		}
	}
	var merged Batch
	merged.Set(0, hashOf("0"), []byte("0"), 5)
	merged.absorb(&b)
	if b.Len() != len(want) || merged.Len() != len(want) {
		t.Fatalf("%d and %d effects, want %d", b.Len(), merged.Len(), len(want))
	}
	for i := range merged.records {
		r := &merged.records[i]
		tat := r.tatNanos
		if r.gone {
			tat = 0
		}
		if p := (place{int(r.db), string(merged.key(r))}); want[p] != tat {
			t.Errorf("%v has %d, want %d", p, tat, want[p])
		}
	}
}

func TestPolicyNames(t *testing.T) {
	for _, p := range []Policy{Always, EverySecond, No} {
		if got, err := ParsePolicy(strings.ToUpper(p.String())); got != p || err != nil {
			t.Error(got, err)
		}
	}
	if _, err := ParsePolicy("sometimes"); err == nil {
		t.Error("sometimes passes")
	}
}

// TestLogFormat shows a whole log.
func TestLogFormat(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always, Timestamps: true})
	s.set(0, "k", 1900000000000000001)
	s.set(3, "k", later)
	must(t, s.pass())
	s.del(0, "k")
	s.flush(3)
	must(t, s.pass())
	got := s.file("appendonly.aof.manifest")
	if want := "file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := "#cellserver bytes=0 records=0 clock=1900000000000000000 synced=0 crc=1de198e3\r\n" +
		"#TS:1900000000\r\n" +
		"#cellserver bytes=198 records=2 clock=1900000000000000000 synced=79 crc=b66b6d70\r\n" +
		"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$19\r\n1900000000000000001\r\n$4\r\nPXAT\r\n$13\r\n1900000000001\r\n" +
		"*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$19\r\n1900000100000000000\r\n$4\r\nPXAT\r\n$13\r\n1900000100000\r\n" +
		"#cellserver bytes=83 records=2 clock=1900000000000000000 synced=375 crc=62ed1f5f\r\n" +
		"*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*1\r\n$7\r\nFLUSHDB\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n"
	if got := s.file("appendonly.aof.1.incr.aof"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	must(t, s.log.Close())
	got2, loaded := s.reload()
	sameState(t, got2, s.state)
	if loaded.ClockNanos != now || loaded.Records != 4 || loaded.Warning() != "" {
		t.Errorf("%+v", loaded)
	}
}

// TestCoalescing: a key that changes a thousand times within a second costs one record.
func TestCoalescing(t *testing.T) {
	for _, policy := range []Policy{EverySecond, No} {
		s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: policy})
		s.wait(second)
		before := s.log.Stats().Records
		for i := range 1000 {
			s.set(0, "k", later+int64(i))
			must(t, s.pass())
		}
		s.wait(3 * second)
		if records := s.log.Stats().Records - before; records != 1 {
			t.Errorf("%v: %d records", policy, records)
		}
		got, _ := s.reload()
		sameState(t, got, s.state)
	}
}

// TestEverySecondIsSoon: what is done is on disk within little more than a second.
func TestEverySecondIsSoon(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: EverySecond})
	for i := range 30 {
		s.set(0, fmt.Sprint(i), later)
		s.wait(13 * second / 10)
		s.disk.Crash()
		got, _ := s.reload()
		sameState(t, got, s.state)
		s = openShop(t, s.place, Settings{Policy: EverySecond})
	}
}

func TestAlwaysSharesSyncs(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always})
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			var b Batch
			for i := range 200 {
				b.Set(0, 1, fmt.Append(nil, worker), later+int64(i))
				if err := s.log.Commit(s.log.Collect(&b, now)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	got, _ := s.reload()
	for worker := range 8 {
		if got.tats[place{0, fmt.Sprint(worker)}] != later+199 {
			t.Errorf("worker %d: %v", worker, got.tats)
		}
	}
}

// TestFullDisk: writes are refused under Always and wait under EverySecond, and all is well when there is room again.
func TestFullDisk(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond, No} {
		s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: policy})
		s.set(0, "before", later)
		must(t, s.pass())
		s.wait(2 * second)
		s.disk.SetCapacity(400)
		for i := range 100 {
			s.set(0, fmt.Sprint("k", i%10), later+int64(i))
			if i == 50 {
				s.flush(1)
			}
			err := s.pass()
			if policy == Always && i > 0 && !errors.Is(err, syscall.ENOSPC) || policy != Always && err != nil {
				t.Fatalf("%v: %v", policy, err)
			}
			s.wait(second / 4)
		}
		must(t, s.log.Commit(0)) // whoever has changed nothing does not have to wait
		err := s.log.Err()
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if text := Misconfigured(err); text != "MISCONF Errors writing to the AOF file: No space left on device" {
			t.Error(text)
		}
		if queued := s.log.Stats().QueuedItems; queued > 6 {
			t.Errorf("%v: %d items are queued", policy, queued)
		}
		s.disk.SetCapacity(-1)
		s.wait(3 * second)
		must(t, s.log.Err())
		must(t, s.pass())
		if s.log.Stats().Rewrites != 1 {
			t.Error("it took a rewrite")
		}
		must(t, s.log.Close())
		got, _ := s.reload()
		sameState(t, got, s.state)
	}
}

// failOn makes one kind of operation fail, on names that contain a text, and counts.
func failOn(disk *vfs.Disk, kind vfs.Kind, name string) *int {
	failed := new(int)
	disk.FailWith(func(op vfs.Operation) error {
		if op.Kind != kind || !strings.Contains(op.Name, name) {
			return nil
		}
		*failed++
		return syscall.EIO
	})
	return failed
}

// TestFailedSync: the increment is given up at once, and a rewrite makes up for it.
func TestFailedSync(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond} {
		for seed := range uint64(20) {
			s := openShop(t, onDisk(vfs.NewDisk(seed)), Settings{Policy: policy})
			s.set(0, "before", later)
			must(t, s.pass())
			s.wait(2 * second)
			failed := failOn(s.disk, vfs.OpSync, ".1.incr.aof")
			s.set(0, "during", later)
			if err := s.pass(); policy == Always && !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
			s.wait(5 * second)
			if *failed != 1 || !errors.Is(s.log.Err(), syscall.EIO) || !s.log.RewriteDue(s.now) {
				t.Fatalf("%d syncs failed, %v", *failed, s.log.Err())
			}
			s.set(0, "after", later)
			_ = s.pass() // refused under Always
			failOn(s.disk, vfs.OpSync, "base.rdb")
			if err := s.rewrite(); !errors.Is(err, syscall.EIO) || s.log.RewriteDue(s.now) {
				t.Fatal(err)
			}
			s.disk.FailWith(nil)
			s.wait(10 * second)
			if !s.log.RewriteDue(s.now) {
				t.Fatal("no rewrite due")
			}
			must(t, s.rewrite())
			must(t, s.log.Err())
			s.set(0, "last", later)
			must(t, s.pass())
			s.wait(2 * second)
			s.disk.Crash()
			got, _ := s.reload()
			sameState(t, got, s.state)
		}
	}
}

// TestFailedSyncDoomsARewrite: a rewrite under way counts on the increment that was given up.
func TestFailedSyncDoomsARewrite(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always})
	r, err := s.log.Rewrite(RDBHeader{})
	must(t, err)
	if _, err := s.log.Rewrite(RDBHeader{}); err != ErrRewriting {
		t.Error(err)
	}
	failOn(s.disk, vfs.OpSync, "incr.aof")
	s.set(0, "k", later)
	if err := s.pass(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	s.disk.FailWith(nil)
	if err := r.Finish(); !errors.Is(err, errNoIncrement) {
		t.Fatal(err)
	}
	s.wait(2 * second)
	must(t, s.rewrite())
	must(t, s.pass())
	got, _ := s.reload()
	sameState(t, got, s.state)
}

// TestRewriteFailures: whatever fails in a rewrite, the log goes on and nothing is lost.
func TestRewriteFailures(t *testing.T) {
	for _, failure := range []struct {
		kind vfs.Kind
		name string
	}{
		{vfs.OpCreate, "incr.aof"}, {vfs.OpWrite, "2.incr.aof"}, {vfs.OpSync, "2.incr.aof"}, {vfs.OpSyncDir, ""},
		{vfs.OpCreate, "manifest"}, {vfs.OpWrite, "manifest"}, {vfs.OpSync, "manifest"}, {vfs.OpRename, "manifest"},
		{vfs.OpCreate, "base"}, {vfs.OpWrite, "base"}, {vfs.OpSync, "base"}, {vfs.OpRename, "base"}, {vfs.OpRemove, ""},
	} {
		t.Run(fmt.Sprint(failure), func(t *testing.T) {
			for seed := range uint64(10) {
				s := openShop(t, onDisk(vfs.NewDisk(seed)), Settings{Policy: Always})
				s.set(0, "before", later)
				must(t, s.pass())
				failed := failOn(s.disk, failure.kind, failure.name)
				err := s.rewrite()
				if (err == nil) != (failure.kind == vfs.OpRemove) || *failed == 0 {
					t.Fatal(err, *failed)
				}
				s.disk.FailWith(nil)
				s.set(0, "after", later)
				must(t, s.pass())
				s.disk.Crash()
				got, _ := s.reload()
				sameState(t, got, s.state)
				s = openShop(t, s.place, Settings{Policy: Always})
				s.set(0, "again", later)
				must(t, s.pass())
				must(t, s.rewrite())
				s.disk.Crash()
				got, _ = s.reload()
				sameState(t, got, s.state)
				if names, _ := s.disk.List("appendonlydir"); len(names) > 3+4 {
					t.Errorf("%q", names)
				}
			}
		})
	}
}

func TestRewriteDue(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always, RewritePercentage: 100, RewriteMinBytes: 2000})
	rewrites := 0
	for i := range 100 {
		s.set(0, "k", later+int64(i))
		must(t, s.pass())
		before := s.log.Stats().CurrentBytes
		if s.log.RewriteDue(s.now) {
			if before <= 2000 {
				t.Errorf("due at %d bytes", before)
			}
			must(t, s.rewrite())
			rewrites++
		} else if before > 2000 {
			t.Errorf("not due at %d bytes", before)
		}
	}
	if want := 100 * 185 / 2000; rewrites < want-3 || rewrites > want+3 {
		t.Errorf("%d rewrites", rewrites)
	}
	s.log.Configure(Settings{Policy: Always})
	for range 100 {
		s.set(0, "k", later)
		must(t, s.pass())
	}
	if s.log.RewriteDue(s.now) {
		t.Error("due at percentage 0")
	}
}

// TestRewriteIsToldFromItsBeginning: whoever waits for the end of a rewrite must not find it ended before it has its files.
func TestRewriteIsToldFromItsBeginning(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: EverySecond})
	asked := false
	s.disk.FailWith(func(op vfs.Operation) error {
		if stats := s.log.Stats(); !stats.Rewriting {
			t.Errorf("%v: not told", op)
		}
		asked = true
		return nil
	})
	r, err := s.log.Rewrite(RDBHeader{})
	s.disk.FailWith(nil)
	must(t, err)
	if !asked {
		t.Error("a rewrite began without the disk")
	}
	r.Abort(errors.New("enough"))
	if s.log.Stats().Rewriting {
		t.Error("told after its end")
	}
}

// TestConcurrentUse has loops, the ticking goroutine, rewrites and INFO at the same time, for the race detector, and loads what comes of it.
func TestConcurrentUse(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond} {
		s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: policy})
		const loops, changes = 4, 300
		var mu sync.Mutex // of the keyspace
		var wait, ticking sync.WaitGroup
		stop := make(chan struct{})
		ticking.Go(func() {
			for at := now; ; at += 100e6 {
				select {
				case <-stop:
					return
				default:
				}
				s.log.Tick(at)
				s.log.Stats()
				if at%second != 0 {
					continue
				}
				r, err := s.log.Rewrite(RDBHeader{})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for p, tat := range s.state.tats {
					r.Write(p.db, AppendEntry(nil, []byte(p.key), tat))
				}
				mu.Unlock()
				if err := r.Finish(); err != nil {
					t.Error(err)
				}
			}
		})
		for loop := range loops {
			wait.Go(func() {
				var b Batch
				for i := range changes {
					key := fmt.Sprint(loop, ":", i%7)
					mu.Lock()
					s.state.Store(0, []byte(key), later+int64(i))
					mu.Unlock()
					b.Set(0, hashOf(key), []byte(key), later+int64(i))
					if err := s.log.Commit(s.log.Collect(&b, now)); err != nil {
						t.Error(err)
					}
				}
				s.log.Append(&b)
			})
		}
		wait.Wait()
		close(stop)
		ticking.Wait()
		must(t, s.log.Close())
		got, _ := s.reload()
		sameState(t, got, s.state)
	}
}

// TestSwap: effects before and after an exchange stay on their side, with and without a disk, and a rewrite across it is refused.
func TestSwap(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: EverySecond})
	failed := failOn(s.disk, vfs.OpWrite, "incr")
	for i := range 5 {
		s.set(0, "k", later+int64(i))
		s.set(1, fmt.Sprint(i), later)
		s.swap(0, 1)
		s.flush(2)
		s.wait(2 * second)
	}
	if *failed < 5 {
		t.Error("the disk was used well")
	}
	s.disk.FailWith(nil)
	s.wait(2 * second)
	got, _ := s.reload()
	sameState(t, got, s.state)

	r, err := s.log.Rewrite(RDBHeader{})
	must(t, err)
	s.swap(0, 1)
	if err := r.Finish(); err != ErrSwapped {
		t.Error(err)
	}
	must(t, s.rewrite())
	got, _ = s.reload()
	sameState(t, got, s.state)
}

// TestSwapDuringTheFirstRewrite stops no change: the rewrite is done again.
func TestSwapDuringTheFirstRewrite(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always})
	must(t, s.log.Close())
	s.follow(OpenLog(s.place, Settings{Policy: Always}, nil, s.now))
	for range 3 {
		r, err := s.log.Rewrite(RDBHeader{})
		must(t, err)
		s.set(0, "k", later)
		s.swap(0, 1)
		if err := r.Finish(); err != ErrSwapped {
			t.Fatal(err)
		}
		s.set(0, "k", later+1)
		must(t, s.pass())
		must(t, s.log.Err())
		if !s.log.RewriteDue(s.now) {
			t.Error("no rewrite is due")
		}
	}
	must(t, s.rewrite())
	must(t, s.log.Close())
	got, _ := s.reload()
	sameState(t, got, s.state)
}

// TestClose: what was appended is on disk, and a log that is closed says so.
func TestClose(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: EverySecond})
	s.set(0, "k", later)
	for _, shard := range s.shards {
		shard.Append()
	}
	r, err := s.log.Rewrite(RDBHeader{})
	must(t, err)
	must(t, s.log.Close())
	if err := r.Finish(); err != ErrClosed {
		t.Error(err)
	}
	if err := s.log.Close(); err != ErrClosed {
		t.Error(err)
	}
	s.disk.Crash()
	got, _ := s.reload()
	sameState(t, got, s.state)
}
